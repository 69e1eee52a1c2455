use lanesmith::xor_kernel;

#[xor_kernel(
    srcs = 2,
    destination = overwrite,
    width = auto,
    strategy = single,
    unroll = 4,
    merge = auto,
    store = temporal,
    head = auto,
    aligned = 1,
    multiple_of = 1,
    length = any,
    crate = lanesmith,
)]
pub(crate) fn parity(dest: &mut [u8], srcs: [&[u8]; 2]);

fn main() {
    let mut dest = [0; 2];
    parity(&mut dest, [&[1, 2], &[4, 4]]);
    assert_eq!(dest, [5, 6]);
}
