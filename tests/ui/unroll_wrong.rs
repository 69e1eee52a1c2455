use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2, unroll = 3)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2, unroll = 300)]
fn parity_300(dest: &mut [u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2, unroll = -1)]
fn parity_minus(dest: &mut [u8], srcs: [&[u8]; 2]);

fn main() {}
