use lanesmith::xor_kernel;

#[xor_kernel(srcs = 3, width = 99, unroll = 5, aligned = 3, color = red)]
const fn parity(dest: &[u8], srcs: [&[u8]; 4]) -> u8;

fn main() {}
