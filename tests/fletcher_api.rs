//! Fletcher's checksums through the safe functions: published values, pieces, combination, errors.

use lanesmith::fletcher::{
    Fletcher2, Fletcher4, combine, fletcher2, fletcher2_byteswap, fletcher4, fletcher4_byteswap, fletcher16,
    fletcher32, fletcher64, fletcher64_apfs,
};
use lanesmith::reference::fletcher as reference;

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i & 255) as u8).collect()
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| ((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// The values that OpenZFS's own tests and documentation give.
#[test]
fn zfs_values() {
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let doubles = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(fletcher4(&words(&[1, 2])).unwrap(), [3, 4, 5, 6]);
    assert_eq!(fletcher2(&doubles(&[1, 2, 3, 4])).unwrap(), [4, 6, 5, 8]);
    assert_eq!(fletcher4(&[]).unwrap(), [0; 4]);
    assert_eq!(fletcher2(&[]).unwrap(), [0; 4]);
    let expected = [0x40c_03fb_f000, 0x0010_0743_1eeb_5000, 0x2a8f_9075_28f6_a800, 0xccba_f6a4_3854_9800];
    assert_eq!(fletcher4(&pattern(8192)).unwrap(), expected);
}

/// The payload is a block of 4096 bytes without its first 8.
#[test]
fn apfs_values() {
    assert_eq!(fletcher64_apfs(&[0; 4088]).unwrap(), u64::MAX);
    assert_eq!(fletcher64_apfs(&[0xFF; 4088]).unwrap(), u64::MAX);
}

#[test]
fn textbook_values() {
    for (text, f16, f32, f64) in [
        ("abcde", 0xC8F0, 0xF04F_C729, 0xC8C6_C527_6463_62C6),
        ("abcdef", 0x2057, 0x5650_2D2A, 0xC8C7_2B27_6463_C8C6),
        ("abcdefgh", 0x0627, 0xEBE1_9591, 0x312E_2B28_CCCA_C8C6),
    ] {
        assert_eq!(fletcher16(text.as_bytes()), f16, "{text}");
        assert_eq!(fletcher32(text.as_bytes()), f32, "{text}");
        assert_eq!(fletcher64(text.as_bytes()), f64, "{text}");
    }
}

#[test]
fn every_length_and_alignment_is_as_the_reference() {
    let data = noise(8192 + 64);
    for len in (0..=8192).step_by(4) {
        let at = (len / 4) % 64;
        let part = &data[at..at + len];
        assert_eq!(fletcher4(part).unwrap(), reference::fletcher4_from([0; 4], part, false), "{len} at {at}");
        assert_eq!(fletcher4_byteswap(part).unwrap(), reference::fletcher4_from([0; 4], part, true), "{len} at {at}");
        if len % 16 == 0 {
            assert_eq!(fletcher2(part).unwrap(), reference::fletcher2_from([0; 4], part, false), "{len} at {at}");
            assert_eq!(fletcher2_byteswap(part).unwrap(), reference::fletcher2_from([0; 4], part, true), "{len}");
        }
    }
}

#[test]
fn pieces_are_the_whole() {
    let data = noise(70_000);
    let whole = fletcher4(&data).unwrap();
    for step in [1, 3, 4, 7, 64, 1000, 4096, 4099, 69_999] {
        let mut sum = Fletcher4::new();
        data.chunks(step).for_each(|piece| sum.update(piece));
        assert_eq!(sum.finish().unwrap(), whole, "pieces of {step}");
    }
    let mut two = Fletcher2::new();
    data[..69_984].chunks(33).for_each(|piece| two.update(piece));
    assert_eq!(two.finish().unwrap(), fletcher2(&data[..69_984]).unwrap());
}

#[test]
fn long_data_of_all_ones() {
    let data = vec![0xFF; 16 << 20];
    assert_eq!(fletcher4(&data).unwrap(), reference::fletcher4_from([0; 4], &data, false));
    assert_eq!(fletcher4_byteswap(&data).unwrap(), reference::fletcher4_from([0; 4], &data, true));
}

/// Powers of the step matrix, by repeated squaring: what so many zero words make of a state.
#[test]
fn combination_is_exact_at_any_size() {
    type Matrix = [[u64; 4]; 4];
    let product = |x: &Matrix, y: &Matrix| -> Matrix {
        core::array::from_fn(|i| {
            core::array::from_fn(|j| (0..4).fold(0u64, |sum, k| sum.wrapping_add(x[i][k].wrapping_mul(y[k][j]))))
        })
    };
    // A zero word: a; b += a; c += b; d += c.
    let step: Matrix = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]];
    let a: [u64; 4] = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0x1111_2222_3333_4444, 0x9999_aaaa_bbbb_cccc];
    let b: [u64; 4] = [7, 0xffff_ffff_ffff_ffff, 3, 0x8000_0000_0000_0001];
    for words in [0, 1, 2, 3, 1 << 20, (1 << 22) + 1, 1 << 31, 1 << 40, (1 << 40) + 12345, u64::MAX / 4] {
        let (mut power, mut square, mut left) =
            (core::array::from_fn(|i| core::array::from_fn(|j| u64::from(i == j))), step, words);
        while left > 0 {
            if left & 1 == 1 {
                power = product(&power, &square);
            }
            square = product(&square, &square);
            left >>= 1;
        }
        let moved: [u64; 4] =
            core::array::from_fn(|i| (0..4).fold(b[i], |s: u64, k| s.wrapping_add(power[i][k].wrapping_mul(a[k]))));
        assert_eq!(combine(a, b, words), moved, "{words} words");
    }
}

#[test]
fn a_partial_word_is_named() {
    assert_eq!(
        fletcher4(&[0; 7]).unwrap_err().to_string(),
        "fletcher4: 7 bytes are not a whole number of words of 4 bytes"
    );
    assert!(fletcher2(&[0; 24]).is_err(), "half a pair");
    let mut sum = Fletcher4::new();
    sum.update(&[0; 5]);
    assert!(sum.finish().is_err());
}
