//! What the integration tests share: test data that betrays a wrong byte, and the cases that tests run over.
#![allow(dead_code)] // each test program uses a part

#[cfg(all(unix, feature = "jit"))]
pub(crate) mod guard;
#[cfg(feature = "jit")]
pub(crate) mod machine;
#[cfg(feature = "jit")]
pub(crate) mod text;

use lanesmith::codegen::spec::{Destination, XorOptions, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::cpu::{Cpu, XOR};
use lanesmith::reference;

/// Every destination.
pub(crate) const DESTINATIONS: [Destination; 3] =
    [Destination::Overwrite, Destination::Accumulate, Destination::ZeroTest];

/// The tiers that this machine can run and its environment allows; the others are named on standard error.
pub(crate) fn tiers_here() -> Vec<Tier> {
    let choice = Cpu::get().choose(&XOR);
    let (here, skipped): (Vec<_>, Vec<_>) =
        Tier::XOR.into_iter().partition(|tier| choice.next_legal_at_or_below(*tier) == Some(*tier));
    for tier in skipped {
        eprintln!("skipped: {tier} cannot run on this machine");
    }
    here
}

/// Byte `i` of source `j`.
///
/// The first term tells sources apart even when a count is cut to 8 bits (source 256 is not source 0); the second one
/// depends on the position, and differently in each source, so that it does not cancel for an even count and a swapped,
/// repeated or skipped block shows.
pub(crate) fn byte(j: usize, i: usize) -> u8 {
    let of_source = (7 * j + (j >> 8)) as u8;
    let of_position = (i as u32).wrapping_mul(0x9E37_79B1).wrapping_add((j as u32).wrapping_mul(0x85EB_CA6B));
    of_source ^ (of_position >> 24) as u8
}

/// The first `len` bytes of source `j`.
pub(crate) fn source(j: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| byte(j, i)).collect()
}

/// `n` sources of `len` bytes.
pub(crate) fn sources(n: usize, len: usize) -> Vec<Vec<u8>> {
    (0..n).map(|j| source(j, len)).collect()
}

/// What the destination holds before a call.
pub(crate) fn before(len: usize) -> Vec<u8> {
    source(5000, len)
}

/// What `dest` must hold after a call with `sources`.
pub(crate) fn expected(destination: Destination, dest: &[u8], sources: &[&[u8]]) -> Vec<u8> {
    let mut out = dest.to_vec();
    match destination {
        Destination::Overwrite => reference::xor::parity(&mut out, sources),
        Destination::Accumulate => reference::xor::accumulate(&mut out, sources),
        Destination::ZeroTest => {}
    }
    out
}

/// Makes the XOR of all `buffers` zero everywhere by changing the last one.
pub(crate) fn make_zero(buffers: &mut [Vec<u8>]) {
    if let Some((last, others)) = buffers.split_last_mut() {
        last.fill(0);
        let others: Vec<&[u8]> = others.iter().map(|b| &b[..]).collect();
        reference::xor::accumulate(last, &others);
    }
}

/// The slices of some buffers.
pub(crate) fn slices(buffers: &[Vec<u8>]) -> Vec<&[u8]> {
    buffers.iter().map(|b| &b[..]).collect()
}

/// A spec with only its destination set.
pub(crate) fn plain(n: usize, destination: Destination) -> XorSpec {
    spec(n, XorOptions { destination, ..XorOptions::default() })
}

/// A spec that is known to be legal.
pub(crate) fn spec(n: usize, options: XorOptions) -> XorSpec {
    XorSpec::with(n, options).unwrap_or_else(|e| panic!("{n} sources, {options:?}: {e}"))
}

/// A small generator of numbers, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

/// Compares two buffers; the message names the first byte that differs and shows its surroundings.
#[track_caller]
pub(crate) fn assert_same(found: &[u8], expected: &[u8], what: impl FnOnce() -> String) {
    if found == expected {
        return;
    }
    assert_eq!(found.len(), expected.len(), "{}: lengths", what());
    let at = found.iter().zip(expected).position(|(f, e)| f != e).unwrap_or(0);
    let wrong = found.iter().zip(expected).filter(|(f, e)| f != e).count();
    let window = at..(at + 16).min(found.len());
    panic!(
        "{}: {wrong} bytes differ, the first is byte {at}: found {:02x?}, expected {:02x?}",
        what(),
        &found[window.clone()],
        &expected[window]
    );
}

/// An allocation in which each buffer is placed at a chosen alignment.
///
/// ```text
/// block: [ slack .. | buffer at block + 64·k + offset .. | slack ]
/// ```
pub(crate) struct Block {
    bytes: Vec<u8>,
    base: usize,
}

impl Block {
    /// Room for `len` bytes at any offset below 4096 from an address that is a multiple of 4096.
    pub(crate) fn new(len: usize) -> Block {
        let bytes = vec![0; len + 2 * 4096 + 64];
        let base = bytes.as_ptr().addr().next_multiple_of(4096) - bytes.as_ptr().addr();
        Block { bytes, base }
    }

    /// The `len` bytes at `offset` from the page boundary.
    pub(crate) fn at(&self, offset: usize, len: usize) -> &[u8] {
        &self.bytes[self.base + offset..][..len]
    }

    pub(crate) fn at_mut(&mut self, offset: usize, len: usize) -> &mut [u8] {
        &mut self.bytes[self.base + offset..][..len]
    }
}
