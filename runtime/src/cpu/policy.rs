//! What a user may say about the choice of a tier.

use core::fmt;

use lanesmith_codegen::target::Tier;

/// The environment variable that caps the tier: `sse2`, `ssse3`, `avx2`, `avx512-256` or `avx512`.
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
    /// `ssse3` is accepted for every family. It means the highest tier at or below it that the target table has, which
    /// for XOR is `sse2`: SSSE3 adds nothing that XOR could use.
    pub fn parse_max_isa(value: &str) -> Result<Tier, UnknownMaxIsa> {
        match value.parse() {
            Ok(tier) => Ok(tier),
            Err(_) if value == "ssse3" => Ok(Tier::Sse2),
            Err(_) => Err(UnknownMaxIsa),
        }
    }
}

/// A value of [`MAX_ISA_VARIABLE`] that names no tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMaxIsa;

impl fmt::Display for UnknownMaxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown tier: expected one of ssse3")?;
        Tier::ALL.iter().filter(|t| t.name() != "ssse3").try_for_each(|tier| write!(f, ", {tier}"))
    }
}

impl core::error::Error for UnknownMaxIsa {}
