//! What functions made by the attribute `xor_kernel` call. Not for use by hand, and no part of the stable API.

#[cfg_attr(not(all(target_arch = "x86_64", target_feature = "sse2")), path = "support/portable.rs")]
mod native;

use lanesmith_codegen::spec::Destination;
pub use lanesmith_codegen::target::Tier;

use crate::reference::xor as reference;
use crate::xor::{Error, Operand, check_promises, equal};
pub use native::Kernel;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub use native::grouped;

/// What a kernel relies on; checked at every call.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// Every buffer starts at a multiple of this.
    pub aligned: u32,
    /// The length is a non-zero multiple of this; 1 promises nothing.
    pub multiple_of: u32,
}

impl Promises {
    const fn nothing(self) -> bool {
        self.aligned == 1 && self.multiple_of == 1
    }
}

impl<const N: usize> Kernel<N> {
    /// `dest = s0 ^ s1 ^ …`
    ///
    /// # Errors
    /// [`Error::UnequalLengths`], [`Error::Misaligned`], [`Error::NotMultiple`].
    #[inline]
    pub fn overwrite(&'static self, promises: Promises, dest: &mut [u8], sources: &[&[u8]; N]) -> Result<(), Error> {
        self.into(promises, dest, sources, Destination::Overwrite)
    }

    /// `dest ^= s0 ^ s1 ^ …`
    ///
    /// # Errors
    /// As for [`Kernel::overwrite`].
    #[inline]
    pub fn accumulate(&'static self, promises: Promises, dest: &mut [u8], sources: &[&[u8]; N]) -> Result<(), Error> {
        self.into(promises, dest, sources, Destination::Accumulate)
    }

    /// Whether `s0 ^ s1 ^ …` is zero everywhere.
    ///
    /// # Errors
    /// As for [`Kernel::overwrite`], with the lengths compared to that of source 0.
    #[inline]
    pub fn is_zero(&'static self, promises: Promises, sources: &[&[u8]; N]) -> Result<bool, Error> {
        let len = sources.first().map_or(0, |s| s.len());
        let (pointers, equal) = pointers(sources, len);
        if !equal || !promises.nothing() {
            refuse(promises, None, sources, &pointers)?;
        }
        match self.entry() {
            // SAFETY: the entry is a zero test of `N` sources (the contract of `Kernel::new`), each of which has `len`
            // readable bytes borrowed for this call; the promises are checked. A zero test writes nothing.
            Some(program) => Ok(unsafe { program(core::ptr::null_mut(), pointers.as_ptr(), 0, len) } == 0),
            None => Ok(reference::is_zero(sources)),
        }
    }

    #[inline]
    fn into(
        &'static self,
        promises: Promises,
        dest: &mut [u8],
        sources: &[&[u8]; N],
        destination: Destination,
    ) -> Result<(), Error> {
        let len = dest.len();
        let (pointers, equal) = pointers(sources, len);
        if !equal || !promises.nothing() {
            refuse(promises, Some(dest), sources, &pointers)?;
        }
        match self.entry() {
            Some(program) => {
                // SAFETY: the entry takes `N` sources (the contract of `Kernel::new`), each of which has `len` readable
                // bytes borrowed for this call; `dest` has `len` bytes, borrowed mutably and so disjoint from every
                // source; the promises are checked.
                unsafe { program(dest.as_mut_ptr(), pointers.as_ptr(), 0, len) };
            }
            None if destination == Destination::Accumulate => reference::accumulate(dest, sources),
            None => reference::parity(dest, sources),
        }
        Ok(())
    }
}

/// The value, or a panic with the error's text.
///
/// # Panics
/// If there is an error.
#[inline]
#[track_caller]
pub fn or_panic<T>(result: Result<T, Error>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic_with(&error),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn panic_with(error: &Error) -> ! {
    panic!("{error}")
}

/// The pointers of the sources, and whether each source has `len` bytes.
#[inline(always)]
fn pointers<const N: usize>(sources: &[&[u8]; N], len: usize) -> ([*const u8; N], bool) {
    let mut equal = true;
    let pointers = sources.each_ref().map(|source| {
        equal &= source.len() == len;
        source.as_ptr()
    });
    (pointers, equal)
}

/// Every error that a call can have, one after the other.
#[inline(never)]
fn refuse(promises: Promises, dest: Option<&[u8]>, sources: &[&[u8]], pointers: &[*const u8]) -> Result<(), Error> {
    let name = if dest.is_some() { Operand::Source } else { Operand::Buffer };
    let (first, len) = match dest {
        Some(dest) => (Operand::Dest, dest.len()),
        None => (Operand::Buffer(0), sources.first().map_or(0, |s| s.len())),
    };
    for (i, source) in sources.iter().enumerate() {
        equal(name(i), source.len(), first, len)?;
    }
    check_promises(promises.aligned, promises.multiple_of, dest.map(<[u8]>::as_ptr), pointers, 0, len)
}
