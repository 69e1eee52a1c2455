use lanesmith::xor_kernel;

#[xor_kernel]
fn parity(dest: &mut [u8], srcs: [&[u8]; 2]);

fn main() {}
