//! Kernels on this CPU, for every tier that it can run: source counts, lengths, alignments and data.
#![cfg(feature = "jit")]

mod common;

use common::{
    Block, DESTINATIONS, Random, assert_same, before, expected, make_zero, plain, slices, sources, spec, tiers_here,
};
use lanesmith::codegen::spec::{Destination, LengthClass, Merge, Store, Strategy, XorOptions, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::reference;
use lanesmith::xor::XorKernel;

/// Source counts beyond the first 64: around a count of 8 bits, not a multiple of any group, and the largest.
const LARGE: [usize; 8] = [100, 255, 256, 257, 300, 301, 1023, 1024];
/// Source counts whose lengths are tested without a gap: both sides of each change of plan.
const DENSE: [usize; 14] = [1, 2, 3, 5, 7, 11, 12, 13, 14, 23, 24, 25, 31, 64];

fn compile(spec: &XorSpec, tier: Tier) -> XorKernel {
    XorKernel::compile_for(spec, tier).unwrap_or_else(|e| panic!("{spec} on {tier}: {e}"))
}

/// Runs one kernel at many lengths of the same data.
fn lengths(kernel: &XorKernel, lengths: impl Iterator<Item = usize> + Clone) {
    let destination = kernel.spec().options().destination;
    let most = lengths.clone().max().unwrap();
    let mut data = sources(kernel.spec().sources(), most + 1);
    let what = |len: usize| format!("{} on {}, {len} bytes", kernel.spec(), kernel.tier());
    if destination == Destination::ZeroTest {
        make_zero(&mut data);
        for len in lengths {
            // Behind the end the XOR is not zero; then within it.
            data[0][len] ^= 0x10;
            let part: Vec<&[u8]> = data.iter().map(|b| &b[..len]).collect();
            assert_eq!(kernel.check(&part), Ok(true), "{}", what(len));
            data[0][len] ^= 0x10;
            if len > 0 {
                let (k, at) = ((len * 31) % data.len(), (len * 7) % len);
                for (k, at) in [(k, at), (0, 0), (data.len() - 1, len - 1)] {
                    data[k][at] ^= 1 << (len % 8);
                    let part: Vec<&[u8]> = data.iter().map(|b| &b[..len]).collect();
                    assert_eq!(kernel.check(&part), Ok(false), "{}: byte {at} of buffer {k}", what(len));
                    data[k][at] ^= 1 << (len % 8);
                }
            }
        }
        return;
    }
    let old = before(most + 1);
    let whole = expected(destination, &old, &slices(&data));
    for len in lengths {
        let part: Vec<&[u8]> = data.iter().map(|b| &b[..len]).collect();
        let mut dest = old.clone();
        kernel.run(&mut dest[..len], &part).unwrap_or_else(|e| panic!("{}: {e}", what(len)));
        assert_same(&dest[..len], &whole[..len], || what(len));
        assert_same(&dest[len..], &old[len..], || format!("{}: bytes behind the end", what(len)));
    }
}

#[test]
fn every_count_to_64() {
    let mut random = Random::new(1);
    for tier in tiers_here() {
        for n in 1..=64 {
            for destination in DESTINATIONS {
                let kernel = compile(&plain(n, destination), tier);
                let start = random.below(5);
                lengths(&kernel, (start..=1100).step_by(5).chain([0, 1, 2, 4, 8, 16, 32, 64, 4095, 4096, 4097]));
            }
        }
    }
}

#[test]
fn dense_lengths() {
    for tier in tiers_here() {
        for n in DENSE {
            for destination in DESTINATIONS {
                lengths(&compile(&plain(n, destination), tier), 0..=1100);
            }
        }
    }
}

#[test]
fn large_counts() {
    for tier in tiers_here() {
        for n in LARGE {
            for destination in DESTINATIONS {
                lengths(&compile(&plain(n, destination), tier), (0..=700).step_by(if n > 500 { 53 } else { 13 }));
            }
        }
    }
}

/// Around the lengths where the plan of a long kernel changes, and where its blocks end.
#[test]
fn long_lengths() {
    for tier in tiers_here() {
        for n in [1, 5, 14, 31, 64] {
            for destination in DESTINATIONS {
                for length in [LengthClass::Any, LengthClass::Short, LengthClass::Long] {
                    let options = XorOptions { destination, length, ..XorOptions::default() };
                    let around = [4096, 8192, 65536].into_iter().flat_map(|at: usize| [at - 1, at, at + 1, at + 65]);
                    lengths(&compile(&spec(n, options), tier), around);
                }
            }
        }
    }
}

/// Every value of every option that has a kernel of its own, at the promises that it needs.
#[test]
fn every_option() {
    let none = XorOptions::default();
    let mut variants = vec![XorOptions { head: lanesmith::codegen::spec::Head::Off, ..none }];
    variants.extend([1, 2, 4, 8].map(|unroll| XorOptions { unroll: Some(unroll), ..none }));
    variants.extend([Merge::Pairwise, Merge::Ternary].map(|merge| XorOptions { merge, ..none }));
    variants.extend((1..=12).map(|size| XorOptions { strategy: Strategy::Grouped(size), ..none }));
    variants.push(XorOptions { strategy: Strategy::Single, length: LengthClass::Long, ..none });
    for tier in tiers_here() {
        let mut compiled = 0;
        for n in [1, 2, 3, 5, 12, 13, 14, 23, 24, 31] {
            for options in &variants {
                for destination in DESTINATIONS {
                    let Ok(spec) = XorSpec::with(n, XorOptions { destination, ..*options }) else { continue };
                    match XorKernel::compile_for(&spec, tier) {
                        Ok(kernel) => lengths(&kernel, (0..=800).step_by(23).chain([4097])),
                        // Too few registers, or no three-input XOR.
                        Err(lanesmith::xor::Error::Compile(_)) => continue,
                        Err(other) => panic!("{spec} on {tier}: {other}"),
                    }
                    compiled += 1;
                }
            }
        }
        assert!(compiled > 400, "only {compiled} kernels on {tier}");
    }
}

/// Promised alignments and multiples, each at every power of two.
#[test]
fn promises_are_used() {
    for tier in tiers_here() {
        for (aligned, multiple_of) in (0..=12).map(|k| (1 << k, 1)).chain((0..=12).map(|k| (64, 1 << k))) {
            for store in [Store::Temporal, Store::NonTemporal] {
                for n in [1, 4, 13, 14, 24] {
                    for destination in DESTINATIONS {
                        let options = XorOptions { destination, store, aligned, multiple_of, ..XorOptions::default() };
                        let Ok(spec) = XorSpec::with(n, options) else { continue };
                        at_page_starts(&compile(&spec, tier), multiple_of as usize);
                    }
                }
            }
        }
    }
}

fn at_page_starts(kernel: &XorKernel, multiple: usize) {
    let (n, destination) = (kernel.spec().sources(), kernel.spec().options().destination);
    let first = if multiple == 1 { 0 } else { multiple };
    for len in (0..3).map(|k| first + k * multiple).chain([multiple.max(700).next_multiple_of(multiple)]) {
        let mut data = sources(n, len);
        if destination == Destination::ZeroTest {
            make_zero(&mut data);
        }
        let mut blocks: Vec<Block> = data.iter().map(|_| Block::new(len)).collect();
        blocks.iter_mut().zip(&data).for_each(|(block, bytes)| block.at_mut(0, len).copy_from_slice(bytes));
        let views: Vec<&[u8]> = blocks.iter().map(|b| b.at(0, len)).collect();
        let what = || format!("{} on {}, {len} bytes", kernel.spec(), kernel.tier());
        if destination == Destination::ZeroTest {
            assert_eq!(kernel.check(&views), Ok(true), "{}", what());
            continue;
        }
        let mut dest = Block::new(len);
        dest.at_mut(0, len).copy_from_slice(&before(len));
        kernel.run(dest.at_mut(0, len), &views).unwrap_or_else(|e| panic!("{}: {e}", what()));
        assert_same(dest.at(0, len), &expected(destination, &before(len), &slices(&data)), what);
    }
}

/// Every pair of misalignments of the destination and the sources, congruent ones among them; every other source is
/// somewhere else still.
#[test]
fn every_pair_of_offsets() {
    const LEN: usize = 720;
    for tier in tiers_here() {
        for n in [2, 7, 14, 24] {
            for destination in DESTINATIONS {
                let kernel = compile(&plain(n, destination), tier);
                let mut data = sources(n, LEN);
                if destination == Destination::ZeroTest {
                    make_zero(&mut data);
                }
                let want = expected(destination, &before(LEN), &slices(&data));
                let mut blocks: Vec<Block> = data.iter().map(|_| Block::new(LEN)).collect();
                let mut dest = Block::new(LEN);
                for to in 0..64usize {
                    for from in 0..64 {
                        let one_offset = to.is_multiple_of(4);
                        let at = |k: usize| if one_offset || k.is_multiple_of(2) { from } else { (from + 13 * k) % 64 };
                        for (k, block) in blocks.iter_mut().enumerate() {
                            block.at_mut(at(k), LEN).copy_from_slice(&data[k]);
                        }
                        let views: Vec<&[u8]> = blocks.iter().enumerate().map(|(k, b)| b.at(at(k), LEN)).collect();
                        // Short lengths at some offsets: head and tail then meet.
                        let len = if (to + from).is_multiple_of(3) { 512 + (to * from) % 200 } else { LEN };
                        let views: Vec<&[u8]> = views.iter().map(|v| &v[..len]).collect();
                        let what =
                            || format!("{} on {tier}, {len} bytes, dest + {to}, sources + {from}", kernel.spec());
                        if destination == Destination::ZeroTest {
                            assert_eq!(kernel.check(&views), Ok(true), "{}", what());
                            continue;
                        }
                        dest.at_mut(to, LEN).copy_from_slice(&before(LEN));
                        kernel.run(dest.at_mut(to, len), &views).unwrap();
                        assert_same(dest.at(to, len), &want[..len], what);
                    }
                }
            }
        }
    }
}

#[test]
fn all_ones() {
    for tier in tiers_here() {
        for n in (1..=32).chain([64, 255, 256]) {
            let ones = vec![0xFF; 777];
            let data = vec![&ones[..]; n];
            let parity = if n % 2 == 0 { 0 } else { 0xFF };
            let mut dest = vec![0x0F; 777];
            compile(&plain(n, Destination::Overwrite), tier).run(&mut dest, &data).unwrap();
            assert!(dest.iter().all(|b| *b == parity), "{n} sources on {tier}");
            compile(&plain(n, Destination::Accumulate), tier).run(&mut dest, &data).unwrap();
            assert!(dest.iter().all(|b| *b == 0), "{n} sources on {tier}");
            let zero = compile(&plain(n, Destination::ZeroTest), tier).check(&data);
            assert_eq!(zero, Ok(n % 2 == 0), "{n} sources on {tier}");
        }
    }
}

/// Sources may be the same buffer, or overlap each other at any distance.
#[test]
fn sources_may_alias_each_other() {
    let buffer = common::source(3, 4000);
    for tier in tiers_here() {
        for n in [2, 3, 5, 13, 14, 24, 31] {
            for step in [0, 1, 31, 64, 100] {
                let data: Vec<&[u8]> = (0..n).map(|k| &buffer[k * step..][..900]).collect();
                let mut dest = vec![0; 900];
                compile(&plain(n, Destination::Overwrite), tier).run(&mut dest, &data).unwrap();
                let mut want = vec![0; 900];
                reference::xor::parity(&mut want, &data);
                assert_same(&dest, &want, || format!("{n} sources on {tier}, {step} bytes apart"));
            }
        }
    }
}
