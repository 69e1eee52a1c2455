//! The target table: one row per instruction-set tier, with the facts that plans read.
//!
//! A plan asks a target for facts (`ternary`, `byte_masks`, the number of vector registers …) and never which
//! instruction set it is; a new tier is one row of [`TARGETS`].

use core::fmt;
use core::str::FromStr;

/// One CPU feature that an instruction of the table may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // the names are the vendors' own
pub enum Feature {
    Sse2,
    Ssse3,
    Sse41,
    Avx,
    Avx2,
    Bmi1,
    Bmi2,
    Avx512F,
    Avx512Vl,
    Avx512Bw,
    Avx512Dq,
    Avx512Vbmi,
    Avx512Vnni,
    Aes,
    Pclmulqdq,
    Vaes,
    Vpclmulqdq,
    Gfni,
}

impl Feature {
    /// Every feature, in declaration order.
    pub const ALL: [Feature; 18] = [
        Feature::Sse2,
        Feature::Ssse3,
        Feature::Sse41,
        Feature::Avx,
        Feature::Avx2,
        Feature::Bmi1,
        Feature::Bmi2,
        Feature::Avx512F,
        Feature::Avx512Vl,
        Feature::Avx512Bw,
        Feature::Avx512Dq,
        Feature::Avx512Vbmi,
        Feature::Avx512Vnni,
        Feature::Aes,
        Feature::Pclmulqdq,
        Feature::Vaes,
        Feature::Vpclmulqdq,
        Feature::Gfni,
    ];

    /// The name as rustc's `target_feature` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::Sse2 => "sse2",
            Feature::Ssse3 => "ssse3",
            Feature::Sse41 => "sse4.1",
            Feature::Avx => "avx",
            Feature::Avx2 => "avx2",
            Feature::Bmi1 => "bmi1",
            Feature::Bmi2 => "bmi2",
            Feature::Avx512F => "avx512f",
            Feature::Avx512Vl => "avx512vl",
            Feature::Avx512Bw => "avx512bw",
            Feature::Avx512Dq => "avx512dq",
            Feature::Avx512Vbmi => "avx512vbmi",
            Feature::Avx512Vnni => "avx512vnni",
            Feature::Aes => "aes",
            Feature::Pclmulqdq => "pclmulqdq",
            Feature::Vaes => "vaes",
            Feature::Vpclmulqdq => "vpclmulqdq",
            Feature::Gfni => "gfni",
        }
    }
}

/// A set of [`Feature`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FeatureSet(u32);

impl FeatureSet {
    /// The empty set.
    pub const EMPTY: FeatureSet = FeatureSet(0);

    /// The set of the given features.
    pub const fn of(features: &[Feature]) -> FeatureSet {
        let mut bits = 0;
        let mut i = 0;
        while i < features.len() {
            bits |= 1 << features[i] as u32;
            i += 1;
        }
        FeatureSet(bits)
    }

    /// This set and `feature`.
    pub const fn with(self, feature: Feature) -> FeatureSet {
        FeatureSet(self.0 | 1 << feature as u32)
    }

    /// The union of two sets.
    pub const fn union(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 | other.0)
    }

    /// What this set has and `other` lacks.
    pub const fn minus(self, other: FeatureSet) -> FeatureSet {
        FeatureSet(self.0 & !other.0)
    }

    /// Whether `feature` is in the set.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u32 & 1 != 0
    }

    /// Whether every feature of `other` is in this set.
    pub const fn contains(self, other: FeatureSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether the set has no feature.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The features in declaration order.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |f| self.has(*f))
    }
}

impl fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, feature) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(feature.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// The name of a target. The same names are used in code, on the command line, in JSON, in snapshots and in the docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// 128-bit vectors, legacy SSE encoding.
    Sse2,
    /// The same with byte shuffles.
    Ssse3,
    /// 256-bit vectors, VEX encoding.
    Avx2,
    /// 256-bit vectors, EVEX encoding: 32 registers, byte masks, ternary logic.
    Avx512Vl256,
    /// 512-bit vectors, EVEX encoding, without operations on bytes.
    Avx512F,
    /// 512-bit vectors, EVEX encoding.
    Avx512,
}

impl Tier {
    /// Every tier from the narrowest to the widest.
    pub const ALL: [Tier; 6] = [Tier::Sse2, Tier::Ssse3, Tier::Avx2, Tier::Avx512Vl256, Tier::Avx512F, Tier::Avx512];

    /// The tiers that XOR kernels exist for: it has no use for shuffles, and takes byte masks wherever there are 32 registers.
    pub const XOR: [Tier; 4] = [Tier::Sse2, Tier::Avx2, Tier::Avx512Vl256, Tier::Avx512];

    /// The tiers that Fletcher kernels exist for.
    pub const FLETCHER: [Tier; 6] = Tier::ALL;

    /// The tier's name: `sse2`, `ssse3`, `avx2`, `avx512-256`, `avx512f` or `avx512`.
    pub const fn name(self) -> &'static str {
        self.target().name
    }

    /// The row of the target table.
    pub const fn target(self) -> &'static Target {
        &TARGETS[self as usize]
    }

    /// The tier that an explicit vector width in bits means: 128 is `sse2`, 256 is `avx2`, 512 is `avx512`.
    pub const fn of_width(bits: u32) -> Option<Tier> {
        match bits {
            128 => Some(Tier::Sse2),
            256 => Some(Tier::Avx2),
            512 => Some(Tier::Avx512),
            _ => None,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A tier name that is not in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTier;

impl fmt::Display for UnknownTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown tier: expected one of")?;
        for (i, tier) in Tier::ALL.iter().enumerate() {
            write!(f, "{} {tier}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownTier {}

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(s: &str) -> Result<Tier, UnknownTier> {
        Tier::ALL.into_iter().find(|t| t.name() == s).ok_or(UnknownTier)
    }
}

/// How a target's vector instructions are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// Two-operand legacy SSE.
    Legacy,
    /// Three-operand VEX.
    Vex,
    /// Three-operand EVEX with opmasks and 32 registers.
    Evex,
}

/// A row of the target table: what a plan may rely on.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The row's key.
    pub tier: Tier,
    /// The tier's name.
    pub name: &'static str,
    /// How vector instructions are encoded. Read by `Ops`, not by plans.
    pub isa: Isa,
    /// Bytes of one vector.
    pub vector_bytes: u32,
    /// Number of vector registers.
    pub vectors: u8,
    /// Whether a three-input XOR is one instruction.
    pub ternary: bool,
    /// Whether loads and stores can be masked by the byte.
    pub byte_masks: bool,
    /// Whether bytes can be shuffled within 16-byte lanes.
    pub byte_shuffles: bool,
    /// Whether 32-bit elements in memory are widened to 64 bits by one instruction.
    pub widens: bool,
    /// Whether a shift or rotation by a constant can take its source from memory.
    pub shifts_memory: bool,
    /// Whether an unaligned memory operand can be folded into an operation.
    pub folds_unaligned: bool,
    /// Whether the upper halves of vector registers must be cleared before returning.
    pub clears_upper: bool,
    /// What a CPU must have for this tier to be legal.
    pub features: FeatureSet,
}

use Feature::{Avx, Avx2, Avx512Bw, Avx512F, Avx512Vl, Bmi2, Sse2, Ssse3};

/// Every target, in the order of [`Tier::ALL`].
pub static TARGETS: [Target; 6] = [
    Target {
        tier: Tier::Sse2,
        name: "sse2",
        isa: Isa::Legacy,
        vector_bytes: 16,
        vectors: 16,
        ternary: false,
        byte_masks: false,
        byte_shuffles: false,
        widens: false,
        shifts_memory: false,
        folds_unaligned: false,
        clears_upper: false,
        features: FeatureSet::of(&[Sse2]),
    },
    Target {
        tier: Tier::Ssse3,
        name: "ssse3",
        isa: Isa::Legacy,
        vector_bytes: 16,
        vectors: 16,
        ternary: false,
        byte_masks: false,
        byte_shuffles: true,
        widens: false,
        shifts_memory: false,
        folds_unaligned: false,
        clears_upper: false,
        features: FeatureSet::of(&[Sse2, Ssse3]),
    },
    Target {
        tier: Tier::Avx2,
        name: "avx2",
        isa: Isa::Vex,
        vector_bytes: 32,
        vectors: 16,
        ternary: false,
        byte_masks: false,
        byte_shuffles: true,
        widens: true,
        shifts_memory: false,
        folds_unaligned: true,
        clears_upper: true,
        features: FeatureSet::of(&[Sse2, Avx, Avx2]),
    },
    Target {
        tier: Tier::Avx512Vl256,
        name: "avx512-256",
        isa: Isa::Evex,
        vector_bytes: 32,
        vectors: 32,
        ternary: true,
        byte_masks: true,
        byte_shuffles: true,
        widens: true,
        shifts_memory: true,
        folds_unaligned: true,
        clears_upper: true,
        features: FeatureSet::of(&[Sse2, Avx, Avx2, Bmi2, Avx512F, Avx512Vl, Avx512Bw]),
    },
    Target {
        tier: Tier::Avx512F,
        name: "avx512f",
        isa: Isa::Evex,
        vector_bytes: 64,
        vectors: 32,
        ternary: true,
        byte_masks: false,
        byte_shuffles: false,
        widens: true,
        shifts_memory: true,
        folds_unaligned: true,
        clears_upper: true,
        features: FeatureSet::of(&[Sse2, Avx, Avx2, Avx512F]),
    },
    Target {
        tier: Tier::Avx512,
        name: "avx512",
        isa: Isa::Evex,
        vector_bytes: 64,
        vectors: 32,
        ternary: true,
        byte_masks: true,
        byte_shuffles: true,
        widens: true,
        shifts_memory: true,
        folds_unaligned: true,
        clears_upper: true,
        features: FeatureSet::of(&[Sse2, Avx, Avx2, Bmi2, Avx512F, Avx512Bw]),
    },
];
