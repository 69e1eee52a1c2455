use lanesmith::xor_kernel;

#[xor_kernel(srcs = 23, unroll = 8, width = 128)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 23]);

fn main() {}
