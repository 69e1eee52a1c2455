use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2)]
struct Parity;

#[xor_kernel(srcs = 2)]
static PARITY: u8 = 0;

fn main() {}
