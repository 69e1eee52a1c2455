//! XOR by its definition. Buffers must have equal lengths; what is longer is ignored.

/// `dest ^= s0 ^ s1 ^ …`
pub fn accumulate(dest: &mut [u8], sources: &[&[u8]]) {
    for source in sources {
        for (d, s) in dest.iter_mut().zip(*source) {
            *d ^= s;
        }
    }
}

/// `dest = s0 ^ s1 ^ …`
pub fn parity(dest: &mut [u8], sources: &[&[u8]]) {
    dest.fill(0);
    accumulate(dest, sources);
}

/// Whether `b0 ^ b1 ^ …` is zero everywhere.
pub fn is_zero(buffers: &[&[u8]]) -> bool {
    let len = buffers.first().map_or(0, |b| b.len());
    (0..len).all(|i| buffers.iter().fold(0, |sum, buffer| sum ^ buffer[i]) == 0)
}
