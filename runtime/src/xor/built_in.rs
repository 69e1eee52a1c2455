//! The kernels that are built with the library, called on purpose.

use core::fmt;

use lanesmith_codegen::spec::Destination;
use lanesmith_codegen::target::Tier;

use super::count;
use super::error::Error;
use crate::statics::StaticXor;

/// A static kernel for one source count: what serves the functions of this module where no code may be made at run time.
///
/// For measuring and comparing; the functions choose by themselves. 1 to 8 and 16 sources are single programs, other
/// counts are taken in groups of these.
#[derive(Clone, Copy)]
pub struct StaticKernel {
    kernel: StaticXor,
    sources: usize,
}

impl StaticKernel {
    /// What serves `sources` buffers on the tier that is preferred on this CPU.
    ///
    /// # Errors
    /// [`Error::NoSources`], [`Error::TooManySources`], and [`Error::IllegalTier`] on targets without kernels.
    pub fn new(destination: Destination, sources: usize) -> Result<StaticKernel, Error> {
        count(sources)?;
        let kernel = StaticXor::new(destination, sources).ok_or(Error::IllegalTier { tier: Tier::Sse2 })?;
        Ok(StaticKernel { kernel, sources })
    }

    /// Runs the kernel on bytes `offset..offset + len` of raw buffers. The result is that of a zero test: 0 if the XOR is
    /// zero everywhere; otherwise it means nothing.
    ///
    /// # Errors
    /// [`Error::SourceCount`]; nothing is written then.
    ///
    /// # Safety
    /// Bytes `offset..offset + len` of every source must be readable, and of `dest` writable (ignored by a zero test),
    /// each within one allocation, and not accessed otherwise during the call. Sources may alias each other; `dest` must
    /// be disjoint from all of them.
    pub unsafe fn run_raw(
        &self,
        dest: *mut u8,
        sources: &[*const u8],
        offset: usize,
        len: usize,
    ) -> Result<u64, Error> {
        if sources.len() != self.sources {
            return Err(Error::SourceCount { sources: sources.len(), compiled: self.sources });
        }
        // SAFETY: the caller's contract, and the count is right.
        Ok(unsafe { self.kernel.call(dest, sources, offset, len) })
    }
}

impl fmt::Display for StaticKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kernel.fmt(f)
    }
}

impl fmt::Debug for StaticKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StaticKernel({self})")
    }
}
