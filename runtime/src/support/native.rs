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

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry that does nothing; the number only makes it a function of its own.
    unsafe extern "sysv64" fn entry<const K: u64>(_: *mut u8, _: *const *const u8, _: usize, _: usize) -> u64 {
        K
    }

    static ALL: [(Tier, RawXor); 4] = [
        (Tier::Sse2, entry::<0>),
        (Tier::Avx2, entry::<1>),
        (Tier::Avx512Vl256, entry::<2>),
        (Tier::Avx512, entry::<3>),
    ];

    /// The tier of the entry that a kernel with these variants calls, and calls again.
    fn chosen(wanted: Option<Tier>, variants: &'static [(Tier, RawXor)]) -> Tier {
        // SAFETY: the entries touch nothing.
        let kernel: Kernel<1> = unsafe { Kernel::new(wanted, variants) };
        let call = || {
            let program = kernel.entry().expect("a program");
            // SAFETY: it touches nothing.
            Tier::XOR[unsafe { program(core::ptr::null_mut(), core::ptr::null(), 0, 0) } as usize]
        };
        let first = call();
        assert_eq!(call(), first);
        first
    }

    #[test]
    fn the_preferred_tier_or_the_one_that_is_wanted() {
        let choice = Cpu::get().choose(&XOR);
        assert_eq!(Some(chosen(None, &ALL)), choice.tier);
        for (at, tier) in Tier::XOR.into_iter().enumerate() {
            let variants = &ALL[..=at];
            assert_eq!(Some(chosen(Some(tier), variants)), choice.next_legal_at_or_below(tier));
        }
    }

    #[test]
    fn groups_run_block_by_block() {
        use core::sync::atomic::AtomicUsize;
        static BYTES: AtomicUsize = AtomicUsize::new(0);
        /// Adds up its arguments, the number of sources skipped first.
        unsafe extern "sysv64" fn count(_: *mut u8, s: *const *const u8, offset: usize, len: usize) -> u64 {
            BYTES.fetch_add((s.addr() / 8) * 1_000_000 + offset * 1000 + len, Ordering::Relaxed);
            0
        }
        let sources = core::ptr::null::<*const u8>();
        let groups: [(RawXor, usize); 2] = [(count, 0), (count, 0)];
        // SAFETY: the entries touch nothing.
        unsafe { grouped(&groups, 4, core::ptr::null_mut(), sources, 2, 10) };
        // Two groups, each at offsets 2, 6 and 10 with 4, 4 and 2 bytes.
        assert_eq!(BYTES.swap(0, Ordering::Relaxed), 2 * (18 * 1000 + 10));
        // SAFETY: as above.
        unsafe { grouped(&groups, usize::MAX, core::ptr::null_mut(), sources, 0, 0) };
        assert_eq!(BYTES.load(Ordering::Relaxed), 0);
    }
}
