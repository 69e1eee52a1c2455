use lanesmith::xor_kernel;

#[xor_kernel(srcs = 1025)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 1025]);

fn main() {}
