//! Combining at sizes that nobody can sum: against zero words, appended by squaring the matrix of one step, and against
//! the formula in integers that are wide enough.

use lanesmith::fletcher::{
    combine, combine_fletcher2, combine_fletcher16, combine_fletcher32, combine_fletcher64, combine_fletcher64_apfs,
};

/// Numbers of words around every power of two.
fn sizes() -> impl Iterator<Item = u64> {
    (0..64).flat_map(|k| [(1u64 << k) - 1, 1 << k, (1 << k) + 1]).chain([u64::MAX - 2, u64::MAX - 1, u64::MAX])
}

type Matrix<const N: usize> = [[u64; N]; N];

/// The product modulo `m`, or modulo 2^64 if there is none.
fn product<const N: usize>(x: &Matrix<N>, y: &Matrix<N>, m: Option<u64>) -> Matrix<N> {
    let reduced = |value: u128| m.map_or(value as u64, |m| (value % u128::from(m)) as u64);
    let mut out = [[0; N]; N];
    for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
        out[i][j] = (0..N).fold(0, |sum, k| {
            let term = reduced(u128::from(x[i][k]) * u128::from(y[k][j]));
            reduced(u128::from(sum) + u128::from(term))
        });
    }
    out
}

/// The state after `words` zero words. One of them adds to every sum the new value of the one before, so it is the sum of
/// all before.
fn zero_words<const N: usize>(state: [u64; N], mut words: u64, m: Option<u64>) -> [u64; N] {
    let mut step: Matrix<N> = [[0; N]; N];
    (0..N).for_each(|i| step[i][..=i].fill(1));
    let mut column: Matrix<N> = [[0; N]; N];
    (0..N).for_each(|i| column[i][0] = state[i]);
    while words > 0 {
        if words & 1 == 1 {
            column = product(&step, &column, m);
        }
        step = product(&step, &step, m);
        words >>= 1;
    }
    column.map(|row| row[0])
}

const STATE: [u64; 4] = [0x40c0_3fbf_0001, 0x0010_0743_1eeb_5003, 0x2a8f_9075_28f6_a805, 0xccba_f6a4_3854_9807];
const APPENDED: [u64; 4] = [u64::MAX, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3211, 0x8000_0000_0000_0001];

fn added<const N: usize>(x: [u64; N], y: [u64; N]) -> [u64; N] {
    core::array::from_fn(|i| x[i].wrapping_add(y[i]))
}

#[test]
fn fletcher4_is_exact_at_any_size() {
    for words in sizes() {
        assert_eq!(combine(STATE, APPENDED, words), added(zero_words(STATE, words, None), APPENDED), "{words}");
    }
}

/// 2^40 words: the product of the three factors fits 128 bits, so it can be divided by 6 at the end.
#[test]
fn fletcher4_agrees_with_wide_integers_at_4_tib() {
    let n = 1u128 << 40;
    let [n1, n2, n3] = [n, n * (n + 1) / 2, n * (n + 1) * (n + 2) / 6].map(|n| n as u64);
    let [a, b, c, d] = STATE;
    let expected = [
        a,
        n1.wrapping_mul(a).wrapping_add(b),
        n1.wrapping_mul(b).wrapping_add(n2.wrapping_mul(a)).wrapping_add(c),
        n1.wrapping_mul(c).wrapping_add(n2.wrapping_mul(b)).wrapping_add(n3.wrapping_mul(a)).wrapping_add(d),
    ];
    assert_eq!(combine(STATE, APPENDED, 1 << 40), added(expected, APPENDED));
}

#[test]
fn fletcher2_is_exact_at_any_size() {
    for pairs in sizes() {
        let [a0, b0] = zero_words([STATE[0], STATE[2]], pairs, None);
        let [a1, b1] = zero_words([STATE[1], STATE[3]], pairs, None);
        assert_eq!(combine_fletcher2(STATE, APPENDED, pairs), added([a0, a1, b0, b1], APPENDED), "{pairs}");
    }
}

#[test]
fn modular_sums_are_exact_at_any_size() {
    for words in sizes() {
        for (s1, s2, t1, t2) in [(0, 0, 0, 0), (1, 0, 0, 1), (254, 254, 254, 254), (17, 200, 254, 3)] {
            // The same numbers spread over the width, so that the largest stay the largest below the modulus.
            for width in [8, 16, 32] {
                let m = u64::MAX >> (64 - width);
                let wide = |s: u64| if s == 254 { m - 1 } else { s * (m / 255) };
                let [s1, s2, t1, t2] = [s1, s2, t1, t2].map(wide);
                let [u1, u2] = zero_words([s1, s2], words, Some(m));
                let [u1, u2] = [(u1 + t1) % m, (u2 + t2) % m];
                let (a, b, expected) = (s2 << width | s1, t2 << width | t1, u2 << width | u1);
                let combined = match width {
                    8 => combine_fletcher16(a as u16, b as u16, words).into(),
                    16 => combine_fletcher32(a as u32, b as u32, words).into(),
                    _ => combine_fletcher64(a, b, words),
                };
                assert_eq!(combined, expected, "{width} bits, {words} words");
                if width == 32 {
                    let apfs = |s1: u64, s2: u64| {
                        let c1 = m - (s1 + s2) % m;
                        (m - (s1 + c1) % m) << 32 | c1
                    };
                    assert_eq!(
                        combine_fletcher64_apfs(apfs(s1, s2), apfs(t1, t2), words),
                        apfs(u1, u2),
                        "{words} words"
                    );
                }
            }
        }
    }
}

/// Values that no input gives are taken without a panic.
#[test]
fn any_values_combine_without_overflow() {
    for words in [0, 1, u64::MAX] {
        combine(APPENDED, [u64::MAX; 4], words);
        combine_fletcher2([u64::MAX; 4], [u64::MAX; 4], words);
        combine_fletcher16(u16::MAX, u16::MAX, words);
        combine_fletcher32(u32::MAX, u32::MAX, words);
        combine_fletcher64(u64::MAX, u64::MAX, words);
        combine_fletcher64_apfs(u64::MAX, u64::MAX, words);
    }
}
