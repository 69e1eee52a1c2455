//! Kernels on this CPU with buffers flush against inaccessible pages, before them and behind them.
//!
//! The interpreter proves the same of its own reading of the instructions; here the hardware is the judge, also of
//! masked accesses, whose masked-out bytes must not fault.
#![cfg(all(feature = "jit", unix))]

mod common;

use common::guard::{Flush, Guarded};
use common::{DESTINATIONS, assert_same, plain, source, tiers_here};
use lanesmith::codegen::spec::{Destination, LengthClass, XorOptions, XorSpec};
use lanesmith::reference;
use lanesmith::xor::XorKernel;

/// Which buffers are flush against which page: all at one side, the destination at the other, and alternating.
const PLACES: [(Flush, [Flush; 2]); 6] = [
    (Flush::Front, [Flush::Front, Flush::Front]),
    (Flush::End, [Flush::End, Flush::End]),
    (Flush::Front, [Flush::End, Flush::End]),
    (Flush::End, [Flush::Front, Flush::Front]),
    (Flush::Front, [Flush::End, Flush::Front]),
    (Flush::End, [Flush::Front, Flush::End]),
];

/// Runs `kernel` at every length and place. Bytes of the destination's page outside the buffer must keep their value.
fn sweep(kernel: &XorKernel, lengths: impl Iterator<Item = usize> + Clone) {
    let (n, destination) = (kernel.spec().sources(), kernel.spec().options().destination);
    let most = lengths.clone().max().unwrap();
    let originals: Vec<Vec<u8>> = (0..n).map(|j| source(j, most)).collect();
    let mut dest = Guarded::new(most);
    let mut rooms: Vec<Guarded> = (0..n).map(|_| Guarded::new(most)).collect();
    for len in lengths {
        let mut sources: Vec<Vec<u8>> = originals.iter().map(|s| s[..len].to_vec()).collect();
        if destination == Destination::ZeroTest {
            common::make_zero(&mut sources);
        }
        for (dest_at, sources_at) in PLACES {
            for (k, room) in rooms.iter_mut().enumerate() {
                room.at_mut(sources_at[k % 2], len).copy_from_slice(&sources[k]);
            }
            let slices: Vec<&[u8]> = rooms.iter().enumerate().map(|(k, r)| r.at(sources_at[k % 2], len)).collect();
            let what = || {
                let spec = kernel.spec();
                format!("{spec} on {}, {len} bytes, dest at {dest_at:?}, sources at {sources_at:?}", kernel.tier())
            };
            if destination == Destination::ZeroTest {
                assert_eq!(kernel.check(&slices), Ok(true), "{}", what());
                continue;
            }
            dest.room().fill(0xC5);
            kernel.run(dest.at_mut(dest_at, len), &slices).unwrap_or_else(|e| panic!("{}: {e}", what()));
            let mut expected = vec![0xC5; dest.room().len()];
            let from = if dest_at == Flush::Front { 0 } else { expected.len() - len };
            let part = &mut expected[from..from + len];
            match destination {
                Destination::Accumulate => reference::xor::accumulate(part, &slices),
                _ => reference::xor::parity(part, &slices),
            }
            assert_same(dest.room(), &expected, what);
        }
    }
}

fn every_destination(n: usize, lengths: impl Iterator<Item = usize> + Clone) {
    for tier in tiers_here() {
        for destination in DESTINATIONS {
            sweep(&XorKernel::compile_for(&plain(n, destination), tier).unwrap(), lengths.clone());
        }
    }
}

#[test]
fn one_source() {
    every_destination(1, 0..=700);
}

#[test]
fn five_sources() {
    every_destination(5, 0..=700);
}

#[test]
fn pointers_in_every_register() {
    for n in [12, 13] {
        every_destination(n, 0..=700);
    }
}

#[test]
fn parked_pointers() {
    for n in [14, 23] {
        every_destination(n, 0..=700);
    }
}

#[test]
fn reloaded_pointers() {
    for n in [24, 31, 64] {
        every_destination(n, (0..=700).step_by(if n == 64 { 3 } else { 1 }));
    }
}

/// Buffers over several pages.
#[test]
fn lengths_around_a_page() {
    for n in [2, 7, 13, 14, 24] {
        every_destination(n, (4080..=4112).chain(8190..=8194));
    }
}

/// Blocks of a long kernel end inside the buffers; its last one must not.
#[test]
fn blocks_of_a_long_kernel() {
    for tier in tiers_here() {
        for destination in [Destination::Overwrite, Destination::Accumulate] {
            let options = XorOptions { destination, length: LengthClass::Long, ..XorOptions::default() };
            let kernel = XorKernel::compile_for(&XorSpec::with(31, options).unwrap(), tier).unwrap();
            sweep(&kernel, (4090..=4102).chain(8185..=8200));
        }
    }
}
