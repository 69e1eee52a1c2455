use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2, merge = ternary, width = 128)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2, merge = ternary)]
fn parity_auto(dest: &mut [u8], srcs: [&[u8]; 2]);

fn main() {}
