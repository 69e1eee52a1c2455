use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2, destination = zero_test, strategy = grouped2)]
fn consistent(srcs: [&[u8]; 2]) -> bool;

fn main() {}
