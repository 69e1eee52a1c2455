//! Where there are no kernels: portable code serves.

use core::convert::Infallible;
use core::fmt;

use lanesmith_codegen::spec::Destination;

use crate::xor::RawXor;

/// A static kernel, of which there is none.
#[derive(Clone, Copy)]
pub(crate) struct StaticXor(Infallible);

impl StaticXor {
    pub(crate) fn new(_: Destination, _: usize) -> Option<StaticXor> {
        None
    }

    pub(crate) fn only_program(&self) -> Option<RawXor> {
        match self.0 {}
    }

    /// # Safety
    /// Cannot be called: there is no value of this type.
    pub(crate) unsafe fn call(&self, _: *mut u8, _: &[*const u8], _: usize, _: usize) -> u64 {
        match self.0 {}
    }
}

impl fmt::Display for StaticXor {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}
