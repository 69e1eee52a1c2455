//! The kernels of one function, of which the first call chooses one.

use core::sync::atomic::{AtomicPtr, Ordering};

use lanesmith_codegen::target::Tier;

use crate::cpu::{Cpu, XOR};
use crate::xor::RawXor;

/// The kernels of a function with `N` sources.
#[derive(Debug)]
pub struct Kernel<const N: usize> {
    wanted: Option<Tier>,
    variants: &'static [(Tier, RawXor)],
    /// The entry that runs here, once it is chosen.
    chosen: AtomicPtr<()>,
}

impl<const N: usize> Kernel<N> {
    /// One entry for each tier that may be needed, and the tier that is wanted if not the preferred one.
    ///
    /// # Safety
    /// Each entry obeys the contract of a XOR program for `N` sources on its tier, for the one destination and the
    /// promises that the function names when it calls. The first runs on every CPU of the target.
    pub const unsafe fn new(wanted: Option<Tier>, variants: &'static [(Tier, RawXor)]) -> Kernel<N> {
        Kernel { wanted, variants, chosen: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// The entry that runs here.
    #[inline]
    pub(super) fn entry(&self) -> Option<RawXor> {
        let known = self.chosen.load(Ordering::Acquire);
        // SAFETY: a null pointer is `None`; the only others stored are entries of that type, see `choose`.
        match unsafe { core::mem::transmute::<*mut (), Option<RawXor>>(known) } {
            None => self.choose(),
            program => program,
        }
    }

    /// Chooses by CPU and policy. Racing first calls choose the same.
    #[cold]
    #[inline(never)]
    fn choose(&self) -> Option<RawXor> {
        let choice = Cpu::get().choose(&XOR);
        let tier = match self.wanted {
            Some(wanted) => choice.next_legal_at_or_below(wanted),
            None => choice.tier,
        };
        let chosen = self.variants.iter().find(|(of, _)| Some(*of) == tier).or(self.variants.first());
        let (_, program) = *chosen?;
        self.chosen.store(program as *mut (), Ordering::Release);
        Some(program)
    }
}

/// Calls several programs: for each block of `block` bytes each group, whose sources start where it says.
///
/// # Safety
/// Together the groups obey the contract of a XOR program: the caller vouches for the buffers as one program would need
/// them, and each program's sources are within the array.
pub unsafe fn grouped(
    groups: &[(RawXor, usize)],
    block: usize,
    dest: *mut u8,
    sources: *const *const u8,
    offset: usize,
    len: usize,
) -> u64 {
    for start in (0..len).step_by(block) {
        let bytes = block.min(len - start);
        for (program, first) in groups {
            // SAFETY: the group's sources are within the array, and a block is a part of the bytes that the caller
            // vouches for.
            unsafe { program(dest, sources.add(*first), offset + start, bytes) };
        }
    }
    0
}
