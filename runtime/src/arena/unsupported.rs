//! Where there is no executable memory: no chunk can exist.

use core::convert::Infallible;
use core::ptr::NonNull;

use super::{ArenaError, Backing};

/// A chunk, of which there is none.
pub(super) struct Chunk(Infallible);

/// Reserved slots, of which there are none.
pub(super) struct Slots(Infallible);

/// No chunks.
pub(super) struct List;

/// No newest chunk.
#[derive(Clone, Copy)]
pub(super) struct Head;

impl List {
    pub(super) const fn new() -> List {
        List
    }

    pub(super) fn head(&self) -> Head {
        Head
    }

    /// Refuses.
    pub(super) fn add(&self, _backings: &[Backing], _head: Head) -> Result<(), ArenaError> {
        Err(ArenaError::Unsupported)
    }
}

impl Head {
    pub(super) fn own(self) -> impl Iterator<Item = &'static Chunk> {
        core::iter::empty()
    }
}

impl Chunk {
    pub(super) fn backing(&self) -> Backing {
        match self.0 {}
    }

    pub(super) fn reserve(&self, _bytes: usize) -> Option<Slots> {
        match self.0 {}
    }

    pub(super) fn used(&self) -> usize {
        match self.0 {}
    }
}

impl Slots {
    pub(super) fn fill(self, _bytes: &[u8]) -> Result<NonNull<u8>, ArenaError> {
        match self.0 {}
    }
}
