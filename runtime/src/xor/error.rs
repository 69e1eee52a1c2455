//! What can be wrong with the arguments.

use core::fmt;

#[cfg(feature = "jit")]
use lanesmith_codegen::kernel::xor::CompileError;

/// A buffer, as the caller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operand {
    Dest,
    Source(usize),
    Buffer(usize),
    Parity,
    Old,
    New,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Dest => write!(f, "dest"),
            Operand::Source(i) => write!(f, "source {i}"),
            Operand::Buffer(i) => write!(f, "buffer {i}"),
            Operand::Parity => write!(f, "parity"),
            Operand::Old => write!(f, "old"),
            Operand::New => write!(f, "new"),
        }
    }
}

/// Why nothing was done. Nothing has been written when one of these is returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The list of sources is empty.
    #[error("no sources: at least 1 is needed")]
    NoSources,
    /// More sources than a kernel can have.
    #[error("{sources} sources are too many: at most 1024")]
    TooManySources {
        /// How many there were.
        sources: usize,
    },
    /// Buffers that must have one length have two.
    #[error("{operand} has {len} bytes, {other} has {other_len}")]
    UnequalLengths {
        /// The first buffer that differs.
        operand: Operand,
        /// Its length in bytes.
        len: usize,
        /// The buffer it was compared with.
        other: Operand,
        /// That one's length in bytes.
        other_len: usize,
    },
    /// A source to be zero-extended is longer than the destination.
    #[error("{operand} has {len} bytes, more than dest, which has {dest_len}")]
    SourceTooLong {
        /// The first such source.
        operand: Operand,
        /// Its length in bytes.
        len: usize,
        /// The destination's length in bytes.
        dest_len: usize,
    },
    /// A kernel was given another number of sources than it was compiled for.
    #[error("{sources} sources given to a kernel for {compiled}")]
    SourceCount {
        /// How many were given.
        sources: usize,
        /// How many the kernel takes.
        compiled: usize,
    },
    /// A kernel was run in a way that its destination does not allow.
    #[error("a kernel for destination={destination} cannot be used this way")]
    WrongDestination {
        /// The kernel's destination.
        destination: lanesmith_codegen::spec::Destination,
    },
    /// The destination overlaps a source without being equal to it, or equals a second one.
    #[error("dest overlaps {operand} partly, or a second time: it may be disjoint from it or equal one source exactly")]
    Overlap {
        /// The source.
        operand: Operand,
    },
    /// A buffer breaks the alignment that the kernel's spec promised.
    #[error("{operand} at offset {offset} is not aligned to the promised {promised} bytes")]
    Misaligned {
        /// The buffer.
        operand: Operand,
        /// The offset of the first byte.
        offset: usize,
        /// The alignment promised.
        promised: u32,
    },
    /// The length breaks what the kernel's spec promised.
    #[error("the length {len} is not the promised non-zero multiple of {promised}")]
    NotMultiple {
        /// The length in bytes.
        len: usize,
        /// The multiple promised.
        promised: u32,
    },
    /// The specification has no kernel on the tier asked for.
    #[cfg(feature = "jit")]
    #[error("{0}")]
    Compile(CompileError),
    /// A fault of the generator: the program could not be encoded.
    #[cfg(feature = "jit")]
    #[error("{0}")]
    Emit(crate::emit::EmitError),
    /// The tier cannot run on this machine.
    #[error("tier {tier} cannot run here")]
    IllegalTier {
        /// The tier asked for.
        tier: lanesmith_codegen::target::Tier,
    },
    /// There is no executable memory for a compiled kernel.
    #[cfg(feature = "jit")]
    #[error("no executable memory: {0}")]
    NoExecutableMemory(crate::arena::ArenaError),
}
