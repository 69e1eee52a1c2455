//! The memory of a concrete run: declared regions, and nothing between them.

use std::fmt;
use std::ops::Range;

use crate::fault::{Direction, FaultKind, Place};
use crate::program::Program;

/// What a run may do with a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

/// A buffer at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// What messages call it: `source 3`.
    pub name: String,
    /// Address of its first byte.
    pub start: u64,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// What a run may do with it.
    pub access: Access,
}

impl Region {
    /// A region.
    pub fn new(name: impl Into<String>, start: u64, bytes: Vec<u8>, access: Access) -> Region {
        Region { name: name.into(), start, bytes, access }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn place(&self) -> Box<Place> {
        Box::new(Place { name: self.name.clone(), start: self.start, end: self.end() })
    }

    fn distance(&self, address: u64) -> u64 {
        self.start.saturating_sub(address).max(address.saturating_sub(self.end()))
    }
}

/// A region that cannot be where it is said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The region that was to be added.
    pub region: Place,
    /// What is there already.
    pub with: Place,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, b) = (&self.region, &self.with);
        write!(f, "{} at {:#x}..{:#x} overlaps {} at {:#x}..{:#x}", a.name, a.start, a.end, b.name, b.start, b.end)
    }
}

impl std::error::Error for Overlap {}

/// All regions of a run. Buffers that may alias each other are one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Sorted by address.
    regions: Vec<Region>,
}

impl Memory {
    /// Where the stack of a run is.
    pub(crate) const STACK: Range<u64> = 0x7fff_0000_0000..0x7fff_1000_0000;
    /// Where the code of a run is.
    pub(crate) const CODE: Range<u64> = Program::BASE..Program::BASE + 0x1000_0000;

    /// A memory without regions.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Declares a region. It must not overlap another one, nor the code at [`Program::BASE`] or the stack (256 MiB each, the
    /// stack at `0x7fff_0000_0000`), nor the end of the address space.
    pub fn add(&mut self, region: Region) -> Result<(), Overlap> {
        let len = region.bytes.len() as u64;
        let reserved = |name: &str, range: &Range<u64>| Place { name: name.into(), start: range.start, end: range.end };
        let beyond = reserved("the end of the address space", &(u64::MAX..u64::MAX));
        let Some(end) = region.start.checked_add(len) else {
            return Err(Overlap {
                region: Place { name: region.name, start: region.start, end: u64::MAX },
                with: beyond,
            });
        };
        let taken = [reserved("the code", &Memory::CODE), reserved("the stack", &Memory::STACK)];
        let taken = taken.into_iter().chain(self.regions.iter().map(|r| *r.place()));
        for with in taken {
            if region.start < with.end && with.start < end {
                return Err(Overlap { region: *region.place(), with });
            }
        }
        // An empty region may share its address with the next one, and must not hide it.
        let at = self.regions.partition_point(|r| (r.start, r.end()) < (region.start, end));
        self.regions.insert(at, region);
        Ok(())
    }

    /// The contents of the region of that name.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.regions.iter().find(|r| r.name == name).map(|r| &*r.bytes)
    }

    /// The contents of the region of that name, to be changed between runs.
    pub fn bytes_mut(&mut self, name: &str) -> Option<&mut [u8]> {
        self.regions.iter_mut().find(|r| r.name == name).map(|r| &mut *r.bytes)
    }

    /// The regions by address.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Bytes that one region holds and that may be accessed so; `None` if no region holds any of them.
    pub(crate) fn access(
        &mut self,
        direction: Direction,
        address: u64,
        bytes: usize,
    ) -> Option<Result<&mut [u8], FaultKind>> {
        let position = self.regions.partition_point(|r| r.start <= address).checked_sub(1)?;
        let region = &mut self.regions[position];
        let from = usize::try_from(address - region.start).ok()?;
        let to = from.checked_add(bytes)?;
        if to > region.bytes.len() {
            return None;
        }
        if matches!((direction, region.access), (Direction::Read, Access::Write) | (Direction::Write, Access::Read)) {
            let region = region.place();
            return Some(Err(FaultKind::Forbidden { direction, address, bytes: bytes as u32, region }));
        }
        Some(Ok(&mut region.bytes[from..to]))
    }

    /// The error for an access that no region holds.
    pub(crate) fn out_of_bounds(&self, direction: Direction, address: u64, bytes: usize) -> FaultKind {
        let nearest = self.regions.iter().min_by_key(|r| r.distance(address)).map(Region::place);
        FaultKind::OutOfBounds { direction, address, bytes: bytes as u32, nearest }
    }
}
