//! What to compute: the whole input of the compiler and the whole key of the run-time cache.
//!
//! A specification names no pointer, no CPU and no architecture. Constructors check everything and return every
//! error at once.

mod fletcher;
mod xor;

use alloc::vec::Vec;
use core::fmt;

pub use fletcher::{Algorithm, FletcherOptions, FletcherSpec, Formulation};
pub use xor::{Destination, Head, LengthClass, MAX_SOURCES, Merge, Store, Strategy, XorOptions, XorSpec};

/// A kernel's specification, of any family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KernelSpec {
    /// XOR parity.
    Xor(XorSpec),
    /// A Fletcher checksum.
    Fletcher(FletcherSpec),
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelSpec::Xor(spec) => spec.fmt(f),
            KernelSpec::Fletcher(spec) => spec.fmt(f),
        }
    }
}

/// One rule that a specification breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// There must be a source.
    NoSources,
    /// More than [`MAX_SOURCES`].
    TooManySources {
        /// The count asked for.
        sources: usize,
    },
    /// A group must have 1 to 12 sources.
    GroupSize {
        /// The size asked for.
        size: u8,
    },
    /// A zero test has no destination to carry the sum from group to group.
    GroupedZeroTest,
    /// The unroll factor must be 1, 2, 4 or 8.
    Unroll {
        /// The factor asked for.
        unroll: u8,
    },
    /// The promised alignment must be a power of two up to 4096.
    Aligned {
        /// The alignment asked for.
        aligned: u32,
    },
    /// The promised length multiple must be a power of two up to 65536.
    MultipleOf {
        /// The multiple asked for.
        multiple_of: u32,
    },
    /// A zero test stores nothing.
    NonTemporalZeroTest,
    /// Non-temporal stores fault on unaligned addresses.
    NonTemporalUnaligned {
        /// The alignment promised.
        aligned: u32,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::NoSources => write!(f, "a XOR kernel needs at least 1 source"),
            SpecError::TooManySources { sources } => {
                write!(f, "{sources} sources are too many: at most {MAX_SOURCES}")
            }
            SpecError::GroupSize { size } => write!(f, "a group of {size} sources: expected 1 to 12"),
            SpecError::GroupedZeroTest => write!(f, "a zero test makes a single pass: it cannot be grouped"),
            SpecError::Unroll { unroll } => write!(f, "unroll {unroll}: expected 1, 2, 4 or 8"),
            SpecError::Aligned { aligned } => {
                write!(f, "promised alignment {aligned}: expected a power of two from 1 to 4096")
            }
            SpecError::MultipleOf { multiple_of } => {
                write!(f, "promised length multiple {multiple_of}: expected a power of two from 1 to 65536")
            }
            SpecError::NonTemporalZeroTest => write!(f, "a zero test stores nothing: non-temporal has no meaning"),
            SpecError::NonTemporalUnaligned { aligned } => {
                write!(f, "non-temporal stores need buffers aligned to 64 bytes, promised are {aligned}")
            }
        }
    }
}

impl core::error::Error for SpecError {}

/// Every rule that a specification breaks, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecErrors(Vec<SpecError>);

impl SpecErrors {
    /// The errors, in the order of the arguments.
    pub fn errors(&self) -> &[SpecError] {
        &self.0
    }
}

impl fmt::Display for SpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for SpecErrors {}

/// A word that names no value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    expected: &'static str,
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for UnknownWord {}

/// Gives an option's enum its words, the same in text and on the command line.
macro_rules! words {
    ($type:ident, $expected:literal, $($word:literal => $value:ident),+) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($type::$value => $word),+ })
            }
        }
        impl FromStr for $type {
            type Err = UnknownWord;
            fn from_str(s: &str) -> Result<$type, UnknownWord> {
                match s { $($word => Ok($type::$value),)+ _ => Err(UnknownWord { expected: $expected }) }
            }
        }
    };
}

use words;
