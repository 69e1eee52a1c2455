//! Kernels built with the library, for source counts that are common: what serves where none may be made at run time.
//!
//! Other source counts are taken in groups of these counts, and long destinations in blocks that stay in the cache while
//! group after group is added.

use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, Ordering};

use lanesmith_codegen::plan::xor::XorTuning;
use lanesmith_codegen::spec::{Destination, MAX_SOURCES};
use lanesmith_codegen::target::Tier;

use crate::cpu::{Cpu, XOR};
use crate::xor::RawXor;

#[cfg(test)]
mod tests;

/// How many source counts have a kernel.
const COUNTS: usize = 9;

/// The most sources of a kernel.
const LARGEST: usize = 16;

/// The kernels of one destination on one tier, by ascending source count.
type Row = [(u16, RawXor); COUNTS];

/// By destination, by position in [`Tier::XOR`]. None of them promises anything of alignment or length.
static KERNELS: [[Row; Tier::XOR.len()]; 3] = lanesmith_macros::static_kernels!(1, 2, 3, 4, 5, 6, 7, 8, 16);

/// Bytes of the destination that all groups finish before the next.
const BLOCK: usize = XorTuning::DEFAULT.block as usize;

/// Bytes of the sum that a zero test of many sources keeps on the stack.
const SUM: usize = 4096;

/// How the static kernels serve one source count.
#[derive(Clone, Copy)]
pub(crate) struct StaticXor {
    destination: Destination,
    sources: usize,
    row: &'static Row,
    tier: Tier,
}

impl StaticXor {
    /// What serves `sources`, at least 1.
    pub(crate) fn new(destination: Destination, sources: usize) -> Option<StaticXor> {
        Some(StaticXor::on(tier(), destination, sources))
    }

    /// The same on a given tier.
    fn on(tier: Tier, destination: Destination, sources: usize) -> StaticXor {
        StaticXor { destination, sources, row: row(destination, tier), tier }
    }

    /// The kernel for exactly this source count, if there is one.
    pub(crate) fn only_program(&self) -> Option<RawXor> {
        self.row.iter().find(|(count, _)| usize::from(*count) == self.sources).map(|(_, program)| *program)
    }

    /// Runs over bytes `offset..offset + len` of every buffer.
    ///
    /// # Safety
    /// `sources` has as many pointers as this serves, each readable at those bytes; `dest` is writable there (unless
    /// this is a zero test) and disjoint from every source.
    pub(crate) unsafe fn call(&self, dest: *mut u8, sources: &[*const u8], offset: usize, len: usize) -> u64 {
        if let Some(program) = self.only_program() {
            // SAFETY: the caller's contract is that of the program; its tier is the one preferred here.
            return unsafe { program(dest, sources.as_ptr(), offset, len) };
        }
        if self.destination == Destination::ZeroTest {
            // SAFETY: the caller's contract, without a destination.
            return unsafe { self.is_zero(sources, offset, len) };
        }
        for start in (0..len).step_by(BLOCK) {
            // SAFETY: a block is a part of the bytes that the caller vouches for.
            unsafe { self.add(self.destination, dest, sources, offset + start, BLOCK.min(len - start)) };
        }
        0
    }

    /// The kernels of another destination on the same tier.
    fn row(&self, destination: Destination) -> &'static Row {
        row(destination, self.tier)
    }

    /// Adds all sources, group by group; the first group does as `destination` says.
    ///
    /// # Safety
    /// As for [`StaticXor::call`], with a destination that is written.
    unsafe fn add(&self, destination: Destination, dest: *mut u8, sources: &[*const u8], offset: usize, len: usize) {
        let mut row = self.row(destination);
        for group in groups(sources, row) {
            if let Some((_, program)) = row.iter().find(|(count, _)| usize::from(*count) == group.len()) {
                // SAFETY: a group is a part of the sources that the caller vouches for, and as many as the program
                // takes.
                unsafe { program(dest, group.as_ptr(), offset, len) };
            }
            row = self.row(Destination::Accumulate);
        }
    }

    /// The zero test of more sources than a kernel takes: some are summed up on the stack, and the sum is one source of
    /// the kernel that tests the others.
    ///
    /// # Safety
    /// As for [`StaticXor::call`].
    unsafe fn is_zero(&self, sources: &[*const u8], offset: usize, len: usize) -> u64 {
        #[repr(C, align(64))]
        struct Sum([MaybeUninit<u8>; SUM]);
        let mut sum = Sum([const { MaybeUninit::uninit() }; SUM]);

        // The largest kernel that there are sources for, less the place that the sum takes.
        let Some((count, test)) = self.row.iter().rev().find(|(count, _)| usize::from(*count) <= self.sources) else {
            return 0;
        };
        let (summed, tested) = sources.split_at(self.sources + 1 - usize::from(*count));
        let mut pointers = [core::ptr::null::<u8>(); LARGEST];
        pointers[..tested.len()].copy_from_slice(tested);

        for start in (0..len).step_by(SUM) {
            let (offset, bytes) = (offset + start, SUM.min(len - start));
            // Programs add the offset to every pointer: the sum's is moved back by as much.
            let moved = sum.0.as_mut_ptr().cast::<u8>().wrapping_sub(offset);
            pointers[tested.len()] = moved;
            // SAFETY: `moved + offset` is `SUM` writable bytes on the stack, which no source can overlap; the caller
            // vouches for the sources.
            unsafe { self.add(Destination::Overwrite, moved, summed, offset, bytes) };
            // SAFETY: `tested` and the sum are as many as the program takes; the first `bytes` of the sum are written.
            let found = unsafe { test(core::ptr::null_mut(), pointers.as_ptr(), offset, bytes) };
            if found != 0 {
                return found;
            }
        }
        0
    }
}

/// The sources in as few groups as there can be, each of a count that has a kernel.
fn groups<'s>(mut sources: &'s [*const u8], row: &'static Row) -> impl Iterator<Item = &'s [*const u8]> {
    core::iter::from_fn(move || {
        let (count, _) = row.iter().rev().find(|(count, _)| usize::from(*count) <= sources.len())?;
        let (group, rest) = sources.split_at(usize::from(*count));
        sources = rest;
        Some(group)
    })
}

/// The kernels of a destination on a tier of the family.
fn row(destination: Destination, tier: Tier) -> &'static Row {
    let at = Tier::XOR.iter().position(|t| *t == tier).unwrap_or(0);
    &KERNELS[destination as usize][at]
}

/// The tier that is preferred on this CPU.
fn tier() -> Tier {
    const UNKNOWN: u8 = u8::MAX;
    static TIER: AtomicU8 = AtomicU8::new(UNKNOWN);
    let known = TIER.load(Ordering::Relaxed);
    if let Some(tier) = Tier::ALL.get(usize::from(known)) {
        return *tier;
    }
    let tier = Cpu::get().choose(&XOR).tier.unwrap_or(Tier::Sse2);
    TIER.store(tier as u8, Ordering::Relaxed);
    tier
}

impl fmt::Display for StaticXor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} sources, ", self.tier, self.sources)?;
        if self.only_program().is_some() {
            return write!(f, "single pass, static");
        }
        if self.destination == Destination::ZeroTest {
            return write!(f, "summed in blocks of {SUM} bytes, static");
        }
        let pointers = [core::ptr::null(); MAX_SOURCES];
        let groups = groups(&pointers[..self.sources], self.row).count();
        write!(f, "{groups} groups in blocks of {BLOCK} bytes, static")
    }
}
