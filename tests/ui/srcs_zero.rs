use lanesmith::xor_kernel;

#[xor_kernel(srcs = 0)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 0]);

fn main() {}
