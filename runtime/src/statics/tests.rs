use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::reference::xor as reference;

const DESTINATIONS: [Destination; 3] = [Destination::Overwrite, Destination::Accumulate, Destination::ZeroTest];

fn counts() -> impl Iterator<Item = usize> {
    (1..=64).chain([100, 300, MAX_SOURCES])
}

fn tiers_here() -> impl Iterator<Item = Tier> {
    let choice = Cpu::get().choose(&XOR);
    Tier::XOR.into_iter().filter(move |tier| choice.next_legal_at_or_below(*tier) == Some(*tier))
}

/// `sources` buffers that are all different, with a different byte at every place.
fn data(sources: usize, len: usize) -> Vec<Vec<u8>> {
    let byte = |j: usize, i: usize| (((i + 1) * (2 * j + 1) * 40_503) >> 7) as u8;
    (0..sources).map(|j| (0..len).map(|i| byte(j, i)).collect()).collect()
}

/// Runs over all but `offset` bytes at the beginning and `left` at the end.
fn run(kernel: StaticXor, dest: &mut [u8], sources: &[Vec<u8>], offset: usize, left: usize) -> u64 {
    let len = dest.len() - offset - left;
    assert!(sources.iter().all(|s| s.len() == dest.len()) && sources.len() == kernel.sources);
    let pointers: Vec<*const u8> = sources.iter().map(|s| s.as_ptr()).collect();
    // SAFETY: as many pointers as the kernel serves, each to at least `offset + len` bytes, as `dest` has; all are
    // allocations of their own. Only tiers that run here are tested.
    unsafe { kernel.call(dest.as_mut_ptr(), &pointers, offset, len) }
}

/// Lengths on both sides of a turn, and for few sources of the blocks.
fn lengths(sources: usize) -> Vec<usize> {
    match sources {
        0..=20 => vec![0, 1, 63, 300, SUM, SUM + 1, BLOCK + 77],
        21..=64 => vec![0, 1, 300, SUM + 65],
        _ => vec![1, SUM + 3],
    }
}

#[test]
fn the_table_is_what_it_says() {
    for destination in DESTINATIONS {
        for tier in Tier::XOR {
            let counts = row(destination, tier).map(|(count, _)| count);
            assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8, 16]);
            assert_eq!(usize::from(counts[COUNTS - 1]), LARGEST);
        }
    }
}

#[test]
fn every_count_equals_the_reference_on_every_tier() {
    for tier in tiers_here() {
        for n in counts() {
            for len in lengths(n) {
                let sources = data(n, len + 7);
                let slices: Vec<&[u8]> = sources.iter().map(|s| &s[3..len + 3]).collect();
                for destination in [Destination::Overwrite, Destination::Accumulate] {
                    let before: Vec<u8> = (0..len + 7).map(|i| i as u8 ^ 0x5A).collect();
                    let (mut found, mut want) = (before.clone(), before);
                    match destination {
                        Destination::Overwrite => reference::parity(&mut want[3..len + 3], &slices),
                        _ => reference::accumulate(&mut want[3..len + 3], &slices),
                    }
                    run(StaticXor::on(tier, destination, n), &mut found, &sources, 3, 4);
                    assert!(found == want, "{destination} of {n} sources, {len} bytes, {tier}");
                }
            }
        }
    }
}

#[test]
fn zero_tests_see_every_block_and_every_source() {
    for tier in tiers_here() {
        for n in counts() {
            for len in lengths(n) {
                let mut sources = data(n, len);
                let (last, others) = sources.split_last_mut().expect("at least one");
                let slices: Vec<&[u8]> = others.iter().map(|s| &s[..]).collect();
                reference::parity(last, &slices);
                let kernel = StaticXor::on(tier, Destination::ZeroTest, n);
                let mut nothing = vec![0; len];
                let mut result = |sources: &[Vec<u8>]| run(kernel, &mut nothing, sources, 0, 0);
                assert_eq!(result(&sources), 0, "{n} sources, {len} bytes, {tier}");
                for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|_| len > 0) {
                    for k in [0, n / 2, n - 1] {
                        sources[k][at] ^= 4;
                        assert_ne!(result(&sources), 0, "byte {at} of source {k} of {n}, {len} bytes, {tier}");
                        sources[k][at] ^= 4;
                    }
                }
            }
        }
    }
}

#[test]
fn groups_are_few_and_take_every_source_once() {
    let pointers: Vec<*const u8> = (0..MAX_SOURCES).map(core::ptr::without_provenance).collect();
    let row = &KERNELS[0][0];
    for n in 1..=MAX_SOURCES {
        let all: Vec<&[*const u8]> = groups(&pointers[..n], row).collect();
        assert_eq!(all.concat(), &pointers[..n]);
        assert!(all.len() <= n.div_ceil(LARGEST) + 1, "{n} sources in {} groups", all.len());
    }
}

#[test]
fn a_description_says_static() {
    let tier = tier();
    let text = |destination, n| StaticXor::on(tier, destination, n).to_string();
    assert_eq!(text(Destination::Overwrite, 5), format!("{tier}, 5 sources, single pass, static"));
    let groups = format!("{tier}, 25 sources, 3 groups in blocks of {BLOCK} bytes, static");
    assert_eq!(text(Destination::Accumulate, 25), groups);
    let summed = format!("{tier}, 9 sources, summed in blocks of {SUM} bytes, static");
    assert_eq!(text(Destination::ZeroTest, 9), summed);
}
