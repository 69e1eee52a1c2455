//! Fletcher's checksums: published values, the definitions on every length, pieces, and what is refused.

mod common;

use common::source;
use lanesmith::fletcher::*;
use lanesmith::reference::fletcher as reference;
use proptest::prelude::*;

/// The largest length that is tried in full.
const LONGEST: usize = 8 << 10;

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| i as u8).collect()
}

fn le32(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn le64(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// The bytes of every word of `N` bytes in the other order.
fn swapped<const N: usize>(data: &[u8]) -> Vec<u8> {
    data.chunks_exact(N).flat_map(|word| word.iter().rev().copied()).collect()
}

/// The definitions, judged by values that others have published; everything else is judged by the definitions.
#[test]
fn the_references_give_the_published_values() {
    assert_eq!(reference::fletcher4(&le32(&[1, 2]), false), [3, 4, 5, 6]);
    assert_eq!(reference::fletcher4(&swapped::<4>(&le32(&[1, 2])), true), [3, 4, 5, 6]);
    assert_eq!(reference::fletcher2(&le64(&[1, 2, 3, 4]), false), [4, 6, 5, 8]);
    assert_eq!(reference::fletcher2(&swapped::<8>(&le64(&[1, 2, 3, 4])), true), [4, 6, 5, 8]);
    assert_eq!(
        reference::fletcher4(&pattern(8192), false),
        [0x40c03fbf000, 0x1007431eeb5000, 0x2a8f907528f6a800, 0xccbaf6a438549800]
    );
    for (text, f16, f32, f64) in [
        ("abcde", 0xC8F0, 0xF04F_C729, 0xC8C6_C527_6463_62C6),
        ("abcdef", 0x2057, 0x5650_2D2A, 0xC8C7_2B27_6463_C8C6),
        ("abcdefgh", 0x0627, 0xEBE1_9591, 0x312E_2B28_CCCA_C8C6),
        ("", 0, 0, 0),
    ] {
        assert_eq!(reference::fletcher16(text.as_bytes()), f16, "{text}");
        assert_eq!(reference::fletcher32(text.as_bytes()), f32, "{text}");
        assert_eq!(reference::fletcher64(text.as_bytes()), f64, "{text}");
    }
    for byte in [0, 0xFF] {
        assert_eq!(reference::fletcher64_apfs(&[byte; 4088]), u64::MAX);
    }
}

/// What APFS stores makes the sums of the payload followed by it zero.
#[test]
fn the_apfs_checksum_cancels_the_sums() {
    let mut block = source(1, 4088);
    let [c1, c2] = {
        let c = fletcher64_apfs(&block).unwrap();
        [c as u32, (c >> 32) as u32]
    };
    block.extend(le32(&[c1, c2]));
    assert_eq!(fletcher64(&block), 0);
    block[17] ^= 1;
    assert_ne!(fletcher64(&block), 0);
}

#[test]
fn nothing_sums_to_zero() {
    for sum in [fletcher4(&[]), fletcher4_byteswap(&[]), fletcher2(&[]), fletcher2_byteswap(&[])] {
        assert_eq!(sum, Ok([0; 4]));
    }
    assert_eq!((fletcher16(&[]), fletcher32(&[]), fletcher64(&[])), (0, 0, 0));
    assert_eq!(fletcher64_apfs(&[]), Ok(u64::MAX));
}

/// At every length up to 8 KiB, each at another alignment. A length that is refused names itself and the word.
#[test]
fn every_length_gives_what_the_definition_does_or_is_refused() {
    let memory = source(2, LONGEST + 64);
    for len in 0..=LONGEST {
        let data = &memory[len % 61..][..len];
        let four = [(fletcher4 as fn(&[u8]) -> _, false), (fletcher4_byteswap, true)];
        for (fletcher4, byteswap) in four {
            let expected = reference::fletcher4(data, byteswap);
            if len.is_multiple_of(4) {
                assert_eq!(fletcher4(data), Ok(expected), "{len}");
            } else {
                let algorithm = if byteswap { Algorithm::Fletcher4Byteswap } else { Algorithm::Fletcher4 };
                assert_eq!(fletcher4(data), Err(Error::PartialWord { algorithm, total: len as u64, word: 4 }));
            }
            assert_eq!(reference::fletcher4_superscalar(data, byteswap), expected, "{len}");
            assert_eq!(reference::fletcher4_superscalar4(data, byteswap), expected, "{len}");
        }
        for (fletcher2, byteswap) in [(fletcher2 as fn(&[u8]) -> _, false), (fletcher2_byteswap, true)] {
            if len.is_multiple_of(16) {
                assert_eq!(fletcher2(data), Ok(reference::fletcher2(data, byteswap)), "{len}");
            } else {
                let algorithm = if byteswap { Algorithm::Fletcher2Byteswap } else { Algorithm::Fletcher2 };
                assert_eq!(fletcher2(data), Err(Error::PartialWord { algorithm, total: len as u64, word: 16 }));
            }
        }
        if len.is_multiple_of(4) {
            assert_eq!(fletcher64_apfs(data), Ok(reference::fletcher64_apfs(data)), "{len}");
        } else {
            let algorithm = Algorithm::Fletcher64Apfs;
            assert_eq!(fletcher64_apfs(data), Err(Error::PartialWord { algorithm, total: len as u64, word: 4 }));
        }
        assert_eq!(fletcher16(data), reference::fletcher16(data), "{len}");
        assert_eq!(fletcher32(data), reference::fletcher32(data), "{len}");
        assert_eq!(fletcher64(data), reference::fletcher64(data), "{len}");
    }
}

#[test]
fn an_error_names_the_checksum_the_length_and_the_word() {
    let mut sum = Fletcher2::byteswap();
    sum.update(&[1; 16]);
    sum.update(&[1; 8]);
    let said = sum.finish().unwrap_err().to_string();
    assert_eq!(said, "fletcher2-byteswap: 24 bytes are not a whole number of words of 16 bytes");
}

#[test]
fn names_are_read_back() {
    for algorithm in Algorithm::ALL {
        assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
    }
    assert_eq!("fletcher8".parse::<Algorithm>(), Err(UnknownAlgorithm));
}

/// 64 MiB of the largest words, and of the next smaller: s1 is n v and s2 is v n (n + 1) / 2. Tests are compiled with
/// checks for overflow.
#[test]
fn deferred_reduction_does_not_overflow() {
    const LEN: usize = 64 << 20;
    for byte in [0xFF, 0xFE] {
        let data = vec![byte; LEN];
        let expected = |width: usize| {
            let m = (1u128 << (8 * width)) - 1;
            let n = (LEN / width) as u128;
            let v = u128::from(byte) * (m / 255);
            [n * v % m, n * (n + 1) / 2 % m * v % m].map(|s| s as u64)
        };
        let [s1, s2] = expected(1);
        assert_eq!(u64::from(fletcher16(&data)), s2 << 8 | s1);
        let [s1, s2] = expected(2);
        assert_eq!(u64::from(fletcher32(&data)), s2 << 16 | s1);
        let [s1, s2] = expected(4);
        assert_eq!(fletcher64(&data), s2 << 32 | s1);
        const M: u64 = 0xFFFF_FFFF;
        let c1 = M - (s1 + s2) % M;
        assert_eq!(fletcher64_apfs(&data), Ok((M - (s1 + c1) % M) << 32 | c1));
        // A Fletcher-4 beyond the 16 MiB at which the weights overflow in 64 bits.
        assert_eq!(fletcher4(&data), Ok(reference::fletcher4(&data, false)));
    }
}

/// All checksums of the same pieces.
fn by_pieces(pieces: &[&[u8]]) -> [Result<Vec<u64>, Error>; 8] {
    let (mut f4, mut f4b, mut f2, mut f2b) =
        (Fletcher4::new(), Fletcher4::byteswap(), Fletcher2::new(), Fletcher2::byteswap());
    let (mut apfs, mut f16, mut f32, mut f64) =
        (Fletcher64Apfs::new(), Fletcher16::new(), Fletcher32::new(), Fletcher64::new());
    for piece in pieces {
        f4.update(piece);
        f4b.update(piece);
        f2.update(piece);
        f2b.update(piece);
        apfs.update(piece);
        f16.update(piece);
        f32.update(piece);
        f64.update(piece);
    }
    [
        f4.finish().map(Vec::from),
        f4b.finish().map(Vec::from),
        f2.finish().map(Vec::from),
        f2b.finish().map(Vec::from),
        apfs.finish().map(|sum| vec![sum]),
        Ok(vec![f16.finish().into()]),
        Ok(vec![f32.finish().into()]),
        Ok(vec![f64.finish()]),
    ]
}

/// `data` cut at the places that are within it.
fn cut<'a>(data: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|at| at % (data.len() + 1)).collect();
    cuts.extend([0, data.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|ends| &data[ends[0]..ends[1]]).collect()
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_does(
        data in prop::collection::vec(any::<u8>(), 0..3000),
        cuts in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        prop_assert_eq!(by_pieces(&cut(&data, &cuts)), by_pieces(&[&data]));
    }

    #[test]
    fn two_pieces_combine(a in prop::collection::vec(any::<u8>(), 0..2000), b in prop::collection::vec(any::<u8>(), 0..2000)) {
        let whole = |data: &[u8], word: usize| data[..data.len() / word * word].to_vec();
        let (a, b4) = (whole(&a, 16), whole(&b, 4));
        let words = b4.len() as u64 / 4;
        let all = [&a[..], &b4].concat();
        for sum in [fletcher4, fletcher4_byteswap] {
            prop_assert_eq!(Ok(combine(sum(&a)?, sum(&b4)?, words)), sum(&all));
        }
        prop_assert_eq!(
            Ok(combine_fletcher64_apfs(fletcher64_apfs(&a)?, fletcher64_apfs(&b4)?, words)),
            fletcher64_apfs(&all)
        );
        let b16 = whole(&b, 16);
        for sum in [fletcher2, fletcher2_byteswap] {
            let all = [&a[..], &b16].concat();
            prop_assert_eq!(Ok(combine_fletcher2(sum(&a)?, sum(&b16)?, b16.len() as u64 / 16)), sum(&all));
        }
        let (all, len) = ([&a[..], &b].concat(), b.len() as u64);
        prop_assert_eq!(combine_fletcher16(fletcher16(&a), fletcher16(&b), len), fletcher16(&all));
        prop_assert_eq!(combine_fletcher32(fletcher32(&a), fletcher32(&b), len.div_ceil(2)), fletcher32(&all));
        prop_assert_eq!(combine_fletcher64(fletcher64(&a), fletcher64(&b), len.div_ceil(4)), fletcher64(&all));
    }
}

#[cfg(feature = "rayon")]
#[test]
fn all_cores_give_what_one_does() {
    for len in [0, 4, 256 << 10, (256 << 10) + 4, (5 << 20) + 12] {
        let data = source(3, len);
        assert_eq!(fletcher4_parallel(&data), fletcher4(&data), "{len}");
        assert_eq!(fletcher4_byteswap_parallel(&data), fletcher4_byteswap(&data), "{len}");
    }
    let (data, algorithm) = (source(3, (1 << 20) + 3), Algorithm::Fletcher4);
    assert_eq!(fletcher4_parallel(&data), Err(Error::PartialWord { algorithm, total: (1 << 20) + 3, word: 4 }));
}
