use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2)]
fn a(dest: &mut [u8], srcs: [&[u8]; 2]) -> usize;

#[xor_kernel(srcs = 2)]
fn b(dest: &mut [u8], srcs: [&[u8]; 2]) -> Result<bool, lanesmith::xor::Error>;

#[xor_kernel(srcs = 2)]
fn c(dest: &mut [u8], srcs: [&[u8]; 2]) -> bool;

fn main() {}
