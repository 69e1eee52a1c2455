//! From what a machine has to the tier that a family of kernels uses on it, with the reasons.

use alloc::vec::Vec;
use core::fmt;

use lanesmith_codegen::target::{FeatureSet, Isa, Tier};

use super::{MAX_ISA_VARIABLE, Policy, Snapshot};

/// A family of kernels and the tiers that it exists for. A new family is one more of these.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Family {
    /// The family's name.
    pub name: &'static str,
    /// The tiers, from the slowest to the one that is expected to be the fastest. The first is the last resort.
    pub tiers: &'static [Tier],
}

/// XOR parity.
pub static XOR: Family = Family { name: "xor", tiers: &Tier::XOR };

/// Fletcher checksums.
pub static FLETCHER: Family = Family { name: "fletcher", tiers: &Tier::FLETCHER };

/// Why a tier was or was not chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is the preferred tier.
    Preferred,
    /// Legal, but a later tier of the family is preferred.
    Narrower,
    /// Legal, but this CPU model prefers 256-bit vectors.
    ExcludedModel,
    /// Legal, but above the highest tier that the policy allows.
    AboveMax(Tier),
    /// Not legal.
    Missing {
        /// What the CPU does not announce.
        cpu: FeatureSet,
        /// What the CPU announces and the operating system has not enabled in XCR0.
        os: FeatureSet,
    },
}

impl Verdict {
    /// Whether the CPU and the operating system can run the tier, whatever is preferred or allowed.
    pub const fn is_legal(self) -> bool {
        !matches!(self, Verdict::Missing { .. })
    }

    /// Whether the tier may be used: legal, and not above the policy's highest tier.
    const fn is_usable(self) -> bool {
        self.is_legal() && !matches!(self, Verdict::AboveMax(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Preferred => f.write_str("preferred"),
            Verdict::Narrower => f.write_str("legal, but a wider tier is preferred"),
            Verdict::ExcludedModel => f.write_str("legal, but this CPU model prefers 256-bit vectors"),
            Verdict::AboveMax(max) => write!(f, "legal, but above the allowed {max} ({MAX_ISA_VARIABLE})"),
            Verdict::Missing { cpu, os } => {
                f.write_str("not legal:")?;
                if !cpu.is_empty() {
                    write!(f, " the CPU lacks {cpu}")?;
                }
                if !os.is_empty() {
                    let and = if cpu.is_empty() { "" } else { ", and" };
                    write!(f, "{and} the operating system has not enabled {os}")?;
                }
                Ok(())
            }
        }
    }
}

/// One tier of a family on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The tier.
    pub tier: Tier,
    /// Why it was or was not chosen.
    pub verdict: Verdict,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<10}  {}", self.tier, self.verdict)
    }
}

/// The tier of a family on a machine, and what was said about each of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The family that was chosen for.
    pub family: &'static Family,
    /// The preferred tier. `None` when no tier may be used and portable code has to serve: on x86-64 only for a family
    /// that needs more than SSE2.
    pub tier: Option<Tier>,
    /// Every tier of the family, in the family's order.
    pub rows: Vec<Row>,
}

impl Choice {
    /// The tiers that the CPU and the operating system can run, in the family's order.
    pub fn legal(&self) -> impl Iterator<Item = Tier> {
        self.rows.iter().filter(|row| row.verdict.is_legal()).map(|row| row.tier)
    }

    /// The tier that serves an explicit request for `tier`: that one, or else the next one down that may be used.
    ///
    /// A request overrides the preference by CPU model, but neither what is legal nor the policy's highest tier.
    pub fn next_legal_at_or_below(&self, tier: Tier) -> Option<Tier> {
        self.rows.iter().rev().find(|row| row.verdict.is_usable() && is_at_or_below(row.tier, tier)).map(|row| row.tier)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tier {
            Some(tier) => writeln!(f, "{}: {tier}", self.family.name)?,
            None => writeln!(f, "{}: portable code", self.family.name)?,
        }
        self.rows.iter().try_for_each(|row| writeln!(f, "  {row}"))
    }
}

/// The tier of `family` for a machine under a policy.
pub fn choose(family: &'static Family, machine: &Snapshot, policy: &Policy) -> Choice {
    let (enabled, announced) = (machine.features(), machine.announced());
    let mut rows: Vec<Row> = family
        .tiers
        .iter()
        .map(|&tier| {
            let missing = tier.target().features.minus(enabled);
            let verdict = match policy.max_isa {
                _ if !missing.is_empty() => {
                    let cpu = missing.minus(announced);
                    Verdict::Missing { cpu, os: missing.minus(cpu) }
                }
                Some(max) if !is_at_or_below(tier, max) => Verdict::AboveMax(max),
                _ => Verdict::Narrower,
            };
            Row { tier, verdict }
        })
        .collect();

    // 256-bit vectors are only worth preferring with EVEX: it keeps 32 registers, byte masks and ternary logic.
    let narrow = |row: &Row| row.tier.target().isa == Isa::Evex && row.tier.target().vector_bytes == 32;
    if machine.excluded_from_512() && rows.iter().any(|row| row.verdict.is_usable() && narrow(row)) {
        for row in rows.iter_mut().filter(|row| row.verdict.is_usable() && row.tier.target().vector_bytes > 32) {
            row.verdict = Verdict::ExcludedModel;
        }
    }
    let mut tier = None;
    if let Some(row) = rows.iter_mut().rfind(|row| row.verdict == Verdict::Narrower) {
        row.verdict = Verdict::Preferred;
        tier = Some(row.tier);
    }
    Choice { family, tier, rows }
}

/// Whether `tier` asks no more of a machine than `max`: neither a later encoding nor wider vectors, nor, where both are
/// the same, more features. Unlike the order of the enumeration this also compares tiers of different families.
fn is_at_or_below(tier: Tier, max: Tier) -> bool {
    const fn encoding(isa: Isa) -> u8 {
        match isa {
            Isa::Legacy => 0,
            Isa::Vex => 1,
            Isa::Evex => 2,
        }
    }
    let (tier, max) = (tier.target(), max.target());
    let alike = tier.isa == max.isa && tier.vector_bytes == max.vector_bytes;
    encoding(tier.isa) <= encoding(max.isa)
        && tier.vector_bytes <= max.vector_bytes
        && (!alike || max.features.contains(tier.features))
}
