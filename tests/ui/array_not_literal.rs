use lanesmith::xor_kernel;

const N: usize = 2;

#[xor_kernel(srcs = 2)]
fn parity(dest: &mut [u8], srcs: [&[u8]; N]);

fn main() {}
