use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2)]
fn a(dest: &mut [u8]);

#[xor_kernel(srcs = 2)]
fn b();

#[xor_kernel(srcs = 2)]
fn c(dest: &mut [u8], srcs: [&[u8]; 2], len: usize);

#[xor_kernel(srcs = 2)]
fn d(_: &mut [u8], [x, y]: [&[u8]; 2]);

#[xor_kernel(srcs = 2)]
fn e(mut dest: &mut [u8], #[cfg(any())] srcs: [&[u8]; 2]);

fn main() {}
