use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2)]
fn a(dest: &[u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2)]
fn b(dest: &mut [u8], srcs: &[&[u8]]);

#[xor_kernel(srcs = 2)]
fn c(dest: &mut [u16], srcs: [&[u16]; 2]);

#[xor_kernel(srcs = 2)]
fn d(dest: &mut [u8], srcs: [&mut [u8]; 2]);

#[xor_kernel(srcs = 2)]
fn e(srcs: [&[u8]; 2], dest: &mut [u8]);

fn main() {}
