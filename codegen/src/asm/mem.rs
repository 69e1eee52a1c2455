//! Memory operands.

use super::reg::Gpr;

/// An index register and the power of two that scales it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Index {
    /// Any register but `rsp`.
    pub register: Gpr,
    /// 0..=3: the index is multiplied by 1, 2, 4 or 8.
    pub shift: u8,
}

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mem {
    /// `[base + index·2^shift + displacement]`
    Base {
        /// The base register.
        base: Gpr,
        /// The index, if any.
        index: Option<Index>,
        /// The displacement in bytes.
        displacement: i32,
    },
    /// `[rip + …]`: this byte offset of the program's constant pool.
    Pool {
        /// The offset, fixed when the constant was interned.
        offset: u32,
    },
}

impl Mem {
    /// `[base + displacement]`
    pub const fn base(base: Gpr, displacement: i32) -> Mem {
        Mem::Base { base, index: None, displacement }
    }

    /// `[base + index + displacement]`
    pub const fn indexed(base: Gpr, index: Gpr, displacement: i32) -> Mem {
        Mem::Base { base, index: Some(Index { register: index, shift: 0 }), displacement }
    }
}
