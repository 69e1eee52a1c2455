use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2, length = 4096)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 2]);

fn main() {}
