//! Fletcher's checksums by their definitions. Bytes after the last whole word (of Fletcher-2: the last whole pair of
//! words) are ignored, except where a definition pads them.
//!
//! *Native* means little-endian words, as ZFS has them on a little-endian machine, and *byteswap* big-endian ones.

/// The first `W` bytes of a buffer, the second, and so on.
fn whole_words<const W: usize>(data: &[u8]) -> impl Iterator<Item = [u8; W]> {
    data.as_chunks::<W>().0.iter().copied()
}

fn word32(bytes: [u8; 4], byteswap: bool) -> u64 {
    u64::from(if byteswap { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
}

fn word64(bytes: [u8; 8], byteswap: bool) -> u64 {
    if byteswap { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
}

/// ZFS's Fletcher-4: for every 32-bit word w, `a += w; b += a; c += b; d += c`, all modulo 2^64. Returns a, b, c, d.
pub fn fletcher4(data: &[u8], byteswap: bool) -> [u64; 4] {
    fletcher4_from([0; 4], data, byteswap)
}

/// As [`fletcher4`], begun with the a, b, c, d of what came before.
pub fn fletcher4_from([mut a, mut b, mut c, mut d]: [u64; 4], data: &[u8], byteswap: bool) -> [u64; 4] {
    for w in whole_words(data) {
        a = a.wrapping_add(word32(w, byteswap));
        b = b.wrapping_add(a);
        c = c.wrapping_add(b);
        d = d.wrapping_add(c);
    }
    [a, b, c, d]
}

/// The recurrence of Fletcher-4 in each of `N` lanes: lane g takes the words g, g + N, g + 2N, … of whole steps of `N`
/// words. Returns the lanes' a, b, c, d and the bytes that are left.
fn lanes<const N: usize>(data: &[u8], byteswap: bool) -> ([[u64; N]; 4], &[u8]) {
    let (whole, left) = data.split_at(data.len() - data.len() % (4 * N));
    let [mut a, mut b, mut c, mut d] = [[0u64; N]; 4];
    for step in whole.as_chunks::<4>().0.chunks_exact(N) {
        for g in 0..N {
            a[g] = a[g].wrapping_add(word32(step[g], byteswap));
            b[g] = b[g].wrapping_add(a[g]);
            c[g] = c[g].wrapping_add(b[g]);
            d[g] = d[g].wrapping_add(c[g]);
        }
    }
    ([a, b, c, d], left)
}

/// The sum of `factors[g] * lanes[g]` modulo 2^64.
fn dot<const N: usize>(factors: [i64; N], lanes: [u64; N]) -> u64 {
    factors.iter().zip(lanes).fold(0, |sum, (f, lane)| sum.wrapping_add((*f as u64).wrapping_mul(lane)))
}

fn sum<const N: usize>(terms: [u64; N]) -> u64 {
    terms.into_iter().fold(0, u64::wrapping_add)
}

/// [`fletcher4`] in two lanes, as OpenZFS's `superscalar`.
///
/// A word of lane g that is the σ-th of its lane, counted from the end, is the (2σ − g)-th of all. It counts 1, σ,
/// C(σ+1, 2) and C(σ+2, 3) times in its lane's a, b, c, d, and should count 1, n, C(n+1, 2) and C(n+2, 3) times with
/// n = 2σ − g: the factors express the latter in terms of the former.
pub fn fletcher4_superscalar(data: &[u8], byteswap: bool) -> [u64; 4] {
    let ([a, b, c, d], left) = lanes::<2>(data, byteswap);
    let state = [
        dot([1, 1], a),
        sum([dot([2, 2], b), dot([0, -1], a)]),
        sum([dot([4, 4], c), dot([-1, -3], b)]),
        sum([dot([8, 8], d), dot([-4, -8], c), dot([0, 1], b)]),
    ];
    fletcher4_from(state, left, byteswap)
}

/// [`fletcher4`] in four lanes, as OpenZFS's `superscalar4`. The factors are those of [`fletcher4_superscalar`] for
/// n = 4σ − g.
pub fn fletcher4_superscalar4(data: &[u8], byteswap: bool) -> [u64; 4] {
    let ([a, b, c, d], left) = lanes::<4>(data, byteswap);
    let state = [
        dot([1, 1, 1, 1], a),
        sum([dot([4, 4, 4, 4], b), dot([0, -1, -2, -3], a)]),
        sum([dot([16, 16, 16, 16], c), dot([-6, -10, -14, -18], b), dot([0, 0, 1, 3], a)]),
        sum([dot([64, 64, 64, 64], d), dot([-48, -64, -80, -96], c), dot([4, 10, 20, 34], b), dot([0, 0, 0, -1], a)]),
    ];
    fletcher4_from(state, left, byteswap)
}

/// ZFS's Fletcher-2: for every pair of 64-bit words, `a0 += w0; a1 += w1; b0 += a0; b1 += a1`, all modulo 2^64. Returns
/// a0, a1, b0, b1, in ZFS's order.
pub fn fletcher2(data: &[u8], byteswap: bool) -> [u64; 4] {
    fletcher2_from([0; 4], data, byteswap)
}

/// As [`fletcher2`], begun with the a0, a1, b0, b1 of what came before.
pub fn fletcher2_from([mut a0, mut a1, mut b0, mut b1]: [u64; 4], data: &[u8], byteswap: bool) -> [u64; 4] {
    for pair in data.as_chunks::<8>().0.chunks_exact(2) {
        a0 = a0.wrapping_add(word64(pair[0], byteswap));
        a1 = a1.wrapping_add(word64(pair[1], byteswap));
        b0 = b0.wrapping_add(a0);
        b1 = b1.wrapping_add(a1);
    }
    [a0, a1, b0, b1]
}

/// The checksum of an APFS object: `payload` is its block without the first 8 bytes, which hold the checksum.
///
/// `s1 += w; s2 += s1` for every little-endian 32-bit word, modulo M = 2^32 − 1; then `c1 = M − (s1 + s2) % M` and
/// `c2 = M − (s1 + c1) % M`, each 1 to M, and the result is `c2 << 32 | c1`. (Apple File System Reference, Objects.)
pub fn fletcher64_apfs(payload: &[u8]) -> u64 {
    const M: u64 = u32::MAX as u64;
    let (mut s1, mut s2) = (0, 0);
    for w in whole_words(payload) {
        s1 = (s1 + word32(w, false)) % M;
        s2 = (s2 + s1) % M;
    }
    let c1 = M - (s1 + s2) % M;
    let c2 = M - (s1 + c1) % M;
    c2 << 32 | c1
}

/// Fletcher-16 (J. G. Fletcher, *An Arithmetic Checksum for Serial Transmissions*, 1982): sums of bytes modulo 255, both
/// 0 at the start; the result is `s2 << 8 | s1`.
pub fn fletcher16(data: &[u8]) -> u16 {
    let (mut s1, mut s2) = (0, 0);
    for byte in data {
        s1 = (s1 + u16::from(*byte)) % 255;
        s2 = (s2 + s1) % 255;
    }
    s2 << 8 | s1
}

/// Fletcher-32: sums of little-endian 16-bit words modulo 65535, both 0 at the start, an odd last byte followed by a
/// zero; the result is `s2 << 16 | s1`.
pub fn fletcher32(data: &[u8]) -> u32 {
    let (mut s1, mut s2) = (0, 0);
    for bytes in data.chunks(2) {
        let mut word = [0; 2];
        word[..bytes.len()].copy_from_slice(bytes);
        s1 = (s1 + u32::from(u16::from_le_bytes(word))) % 65535;
        s2 = (s2 + s1) % 65535;
    }
    s2 << 16 | s1
}

/// Fletcher-64: sums of little-endian 32-bit words modulo 2^32 − 1, both 0 at the start, an incomplete last word filled
/// up with zeros; the result is `s2 << 32 | s1`.
pub fn fletcher64(data: &[u8]) -> u64 {
    let (mut s1, mut s2) = (0, 0);
    for bytes in data.chunks(4) {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        s1 = (s1 + u64::from(u32::from_le_bytes(word))) % 0xFFFF_FFFF;
        s2 = (s2 + s1) % 0xFFFF_FFFF;
    }
    s2 << 32 | s1
}
