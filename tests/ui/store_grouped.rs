use lanesmith::xor_kernel;

#[xor_kernel(srcs = 5, store = non_temporal, aligned = 64, strategy = grouped4)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 5]);

fn main() {}
