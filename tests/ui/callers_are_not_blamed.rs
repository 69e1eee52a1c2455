use lanesmith::xor_kernel;

#[xor_kernel(srcs = 2, unroll = 5)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 2]);

fn main() {
    parity(&mut [0], [&[1], &[2]]);
}
