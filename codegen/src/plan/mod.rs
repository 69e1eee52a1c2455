//! Every choice as data. A plan holds no instruction; a lowering makes no choice.

pub mod fletcher;
pub mod xor;

use core::fmt;

use crate::asm::Mask;

/// What a region is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Brings the destination to vector alignment.
    Head,
    /// Repeated while its bound holds.
    Loop,
    /// At most once.
    Once,
}

/// How much of a vector an access covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The whole vector.
    Full,
    /// The bytes that an opmask selects.
    Masked(Mask),
    /// The first 1, 2, 4, 8 or 16 bytes.
    Bytes(u32),
}

/// When a region runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// While or if at least this many bytes remain.
    AtLeast(u32),
    /// Always; the promises on the length make the loop end exactly.
    Exact,
    /// If any byte remains.
    Remainder,
    /// If the length is at least this and the destination is unaligned.
    Unaligned(u32),
}

/// A region: one stretch of a kernel that treats every vector alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// What it is for.
    pub role: Role,
    /// Vectors of the destination a turn.
    pub unroll: u32,
    /// How much of a vector an access covers.
    pub part: Part,
    /// When it runs.
    pub bound: Bound,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Head => f.write_str("head")?,
            Role::Loop => write!(f, "loop x{}", self.unroll)?,
            Role::Once => f.write_str("once")?,
        }
        match self.part {
            Part::Full => f.write_str(" full")?,
            Part::Masked(mask) => write!(f, " masked({mask:?})")?,
            Part::Bytes(n) => write!(f, " bytes({n})")?,
        }
        match self.bound {
            Bound::AtLeast(n) if self.role == Role::Loop => write!(f, " while >= {n} bytes remain"),
            Bound::AtLeast(n) => write!(f, " if >= {n} bytes remain"),
            Bound::Exact => f.write_str(" until the end, exactly"),
            Bound::Remainder => f.write_str(" if bytes remain"),
            Bound::Unaligned(n) => write!(f, " if length >= {n} and unaligned"),
        }
    }
}
