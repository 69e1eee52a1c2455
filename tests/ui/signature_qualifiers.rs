use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2)]
const fn a(dest: &mut [u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2)]
async fn b(dest: &mut [u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2)]
unsafe fn c(dest: &mut [u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2)]
extern "C" fn d(dest: &mut [u8], srcs: [&[u8]; 2]);

#[xor_kernel(srcs = 2)]
fn e<'a, T>(dest: &'a mut [u8], srcs: [&'a [u8]; 2])
where
    T: Copy;

fn main() {}
