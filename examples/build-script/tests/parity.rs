//! Every kernel that this CPU can run against the definition, at every length and many alignments.

use lanesmith_example_build_script::{SOURCES, UnequalLengths, parity, parity_by, tiers};

/// Bytes that a kernel cannot guess, the same in every run.
fn noise(seed: usize, len: usize) -> Vec<u8> {
    let mut x = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn naive(sources: [&[u8]; SOURCES], i: usize) -> u8 {
    sources.iter().map(|source| source[i]).fold(0, |sum, byte| sum ^ byte)
}

#[test]
fn every_tier_equals_the_definition() {
    const GUARD: usize = 64;
    let buffers: Vec<Vec<u8>> = (0..SOURCES).map(|k| noise(k, 4096)).collect();
    let all: Vec<Option<&str>> = tiers().map(Some).chain([None]).collect();
    for tier in all {
        for len in (0..700).chain([1024, 2000, 4000]) {
            for offset in [0, 1, 8, 32, 63] {
                // Sources at different alignments, and guards on both sides of the destination.
                let sources: [&[u8]; SOURCES] = std::array::from_fn(|k| {
                    let start = (offset * (k + 1)) % 90;
                    &buffers[k][start..start + len]
                });
                let mut memory = vec![0xA5; GUARD + offset + len + GUARD];
                let (before, rest) = memory.split_at_mut(GUARD + offset);
                let (dest, after) = rest.split_at_mut(len);
                parity_by(tier, dest, sources).unwrap();
                let wrong = (0..len).find(|&i| dest[i] != naive(sources, i));
                assert_eq!(wrong, None, "{tier:?}, {len} bytes, offset {offset}");
                assert!(before.iter().chain(&*after).all(|b| *b == 0xA5), "{tier:?}, {len} bytes, offset {offset}");
            }
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_narrowest_tier_runs_everywhere() {
    assert_eq!(tiers().last(), Some("sse2"));
}

#[test]
fn the_error_names_the_source_and_nothing_is_written() {
    let (long, short) = ([1; 100], [1; 99]);
    let mut dest = [7; 100];
    let error = parity(&mut dest, [&long, &long, &long, &short, &long]).unwrap_err();
    assert_eq!(error, UnequalLengths { source: 3, len: 99, dest_len: 100 });
    assert_eq!(error.to_string(), "source 3 has 99 bytes, dest has 100");
    assert_eq!(dest, [7; 100]);
}
