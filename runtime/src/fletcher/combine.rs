//! The checksum of two pieces, from the checksums of each.
//!
//! Every state is linear in the words, and a piece that follows moves each earlier word away from the end by its own
//! number of words. So the state of the first piece is continued over that many zero words, and the second one is added.

use super::words::modulus;

/// The Fletcher-4 of `a`'s input followed by `b`'s, which has `words_in_b` 32-bit words, of any number.
///
/// With n1 = `words_in_b`, n2 = n1 (n1 + 1) / 2 and n3 = n1 (n1 + 1)(n1 + 2) / 6: `d += n1 c + n2 b + n3 a + d′`,
/// `c += n1 b + n2 a + c′`, `b += n1 a + b′`, `a += a′`, modulo 2^64, where `a` has the letters without a prime. OpenZFS's
/// own function of this purpose is limited to pieces of 8 MiB because n3 overflows in it; here it cannot.
pub fn combine(a: [u64; 4], b: [u64; 4], words_in_b: u64) -> [u64; 4] {
    let [n1, n2, n3] = weights(words_in_b);
    let [a, b, c, d, a_, b_, c_, d_] = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
    let sum = |terms: &[u64]| terms.iter().fold(0u64, |sum, term| sum.wrapping_add(*term));
    [
        sum(&[a, a_]),
        sum(&[b, n1.wrapping_mul(a), b_]),
        sum(&[c, n1.wrapping_mul(b), n2.wrapping_mul(a), c_]),
        sum(&[d, n1.wrapping_mul(c), n2.wrapping_mul(b), n3.wrapping_mul(a), d_]),
    ]
}

/// n, n (n + 1) / 2 and n (n + 1)(n + 2) / 6, modulo 2^64.
fn weights(n: u64) -> [u64; 3] {
    let n = u128::from(n);
    let (n2, after_next) = (n * (n + 1) / 2, n + 2); // below 2^127 and 2^65
    // Of three successive numbers one is a multiple of 3, so 3 divides one of the factors; only then is the product taken.
    let n3 = match n2 % 3 {
        0 => (n2 / 3).wrapping_mul(after_next),
        _ => n2.wrapping_mul(after_next / 3),
    };
    [n as u64, n2 as u64, n3 as u64]
}

/// The Fletcher-2 of `a`'s input followed by `b`'s, which has `pairs_in_b` pairs of 64-bit words.
pub fn combine_fletcher2(a: [u64; 4], b: [u64; 4], pairs_in_b: u64) -> [u64; 4] {
    let after = |sum: u64, b: u64| sum.wrapping_add(b);
    let moved = |b0: u64, a0: u64| b0.wrapping_add(pairs_in_b.wrapping_mul(a0));
    [after(a[0], b[0]), after(a[1], b[1]), after(moved(a[2], a[0]), b[2]), after(moved(a[3], a[1]), b[3])]
}

/// The Fletcher-16 of `a`'s input followed by `b`'s, which has `bytes_in_b` bytes.
pub fn combine_fletcher16(a: u16, b: u16, bytes_in_b: u64) -> u16 {
    let [s1, s2] = sums::<1>([a & 0xFF, a >> 8].map(u64::from), [b & 0xFF, b >> 8].map(u64::from), bytes_in_b);
    (s2 << 8 | s1) as u16
}

/// The Fletcher-32 of `a`'s input followed by `b`'s, which has `words_in_b` 16-bit words. `a`'s input must have been
/// whole words; the last word of `b`'s may have been padded.
pub fn combine_fletcher32(a: u32, b: u32, words_in_b: u64) -> u32 {
    let [s1, s2] = sums::<2>([a & 0xFFFF, a >> 16].map(u64::from), [b & 0xFFFF, b >> 16].map(u64::from), words_in_b);
    (s2 << 16 | s1) as u32
}

/// The Fletcher-64 of `a`'s input followed by `b`'s, which has `words_in_b` 32-bit words. `a`'s input must have been
/// whole words; the last word of `b`'s may have been padded.
pub fn combine_fletcher64(a: u64, b: u64, words_in_b: u64) -> u64 {
    let halves = |x: u64| [x & 0xFFFF_FFFF, x >> 32];
    let [s1, s2] = sums::<4>(halves(a), halves(b), words_in_b);
    s2 << 32 | s1
}

/// The APFS checksum of `a`'s payload followed by `b`'s, which has `words_in_b` 32-bit words.
pub fn combine_fletcher64_apfs(a: u64, b: u64, words_in_b: u64) -> u64 {
    const M: u64 = modulus::<4>();
    // c1 ≡ −(s1 + s2) and c2 ≡ −(s1 + c1) ≡ s2, so s1 ≡ −(c1 + c2).
    let state = |x: u64| {
        let [c1, c2] = [x & 0xFFFF_FFFF, x >> 32];
        [(2 * M - (c1 + c2)) % M, c2 % M]
    };
    finish_apfs(sums::<4>(state(a), state(b), words_in_b))
}

/// From s1 and s2, both below the modulus, to what APFS stores.
pub(super) fn finish_apfs([s1, s2]: [u64; 2]) -> u64 {
    const M: u64 = modulus::<4>();
    let c1 = M - (s1 + s2) % M;
    let c2 = M - (s1 + c1) % M;
    c2 << 32 | c1
}

/// s1 and s2 of two pieces of `W`-byte words, reduced. None of the four is above the modulus.
fn sums<const W: usize>([s1, s2]: [u64; 2], [s1_, s2_]: [u64; 2], words: u64) -> [u64; 2] {
    let m = modulus::<W>();
    // At most (m − 1) m + 2 m, which is below 2^64 for m below 2^32.
    [(s1 + s1_) % m, (words % m * s1 + s2 + s2_) % m]
}
