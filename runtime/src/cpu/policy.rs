//! What a user may say about the choice of a tier.

use core::fmt;

use lanesmith_codegen::target::{Tier, UnknownTier};

/// The environment variable that caps the tier: `sse2`, `ssse3`, `avx2`, `avx512-256`, `avx512f` or
/// `avx512`.
pub const MAX_ISA_VARIABLE: &str = "LANESMITH_MAX_ISA";

/// Limits on the choice of a tier. The default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Policy {
    /// The highest tier that may be used. It can only lower: naming a tier that is not legal does not make it so.
    ///
    /// It binds explicit requests for a tier as well, because it speaks for whoever runs the program, and a width
    /// written in the source speaks only for its author.
    pub max_isa: Option<Tier>,
}

impl Policy {
    /// This policy with a highest tier.
    pub const fn with_max_isa(mut self, max: Tier) -> Policy {
        self.max_isa = Some(max);
        self
    }

    /// Reads a value of [`MAX_ISA_VARIABLE`].
    ///
    /// Every tier is accepted for every family: it allows what the family has at or below it. Under `ssse3` XOR uses
    /// `sse2`, for SSSE3 adds nothing that XOR could use.
    pub fn parse_max_isa(value: &str) -> Result<Tier, UnknownMaxIsa> {
        value.parse().map_err(|_| UnknownMaxIsa)
    }
}

/// A value of [`MAX_ISA_VARIABLE`] that names no tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMaxIsa;

impl fmt::Display for UnknownMaxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        UnknownTier.fmt(f)
    }
}

impl core::error::Error for UnknownMaxIsa {}
