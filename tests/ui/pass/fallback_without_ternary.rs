use lanesmith::xor_kernel;

// What sse2 and avx2 run does without the three-input XOR that only the named tier has.
#[xor_kernel(srcs = 4, tier = "avx512", merge = ternary, unroll = 8)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 4]) -> Result<(), lanesmith::xor::Error>;

fn main() -> Result<(), lanesmith::xor::Error> {
    let mut dest = [0; 1000];
    parity(&mut dest, [&[1; 1000], &[2; 1000], &[4; 1000], &[8; 1000]])?;
    assert_eq!(dest, [15; 1000]);
    Ok(())
}
