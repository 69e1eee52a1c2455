use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2, destination = zero_test)]
fn with_dest(dest: &mut [u8], srcs: [&[u8]; 2]) -> bool;

#[xor_kernel(srcs = 2, destination = zero_test)]
fn returns_nothing(srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2, destination = zero_test)]
fn returns_unit(srcs: [&[u8]; 2]) -> Result<(), lanesmith::xor::Error>;

#[xor_kernel(srcs = 2, destination = zero_test)]
fn takes_nothing() -> bool;

fn main() {}
