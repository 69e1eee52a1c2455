//! The plan of a XOR kernel: passes over the destination, where each pointer lives, how each operand is folded, and
//! the regions that cover a length.

mod pass;
mod tuning;

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::Region;
use crate::asm::{Gpr, Vector};
use crate::spec::{Destination, LengthClass, Store, Strategy, XorSpec};
use crate::target::{Target, Tier};
use pass::pass;
pub use tuning::XorTuning;

/// Where a source's pointer is when its vectors are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Home {
    /// In a register, moved to the buffer's end.
    Gpr(Gpr),
    /// In the low lane of a vector register, moved to the buffer's end; brought back for each turn.
    Lane(Vector),
    /// In the caller's array; reloaded for each turn.
    Slot(u16),
}

/// How one operand enters the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The first operand: loaded into the accumulator.
    Load,
    /// Loaded into a temporary, to wait for the next ternary.
    LoadTemporary,
    /// Merged into the accumulator alone.
    Xor,
    /// Merged together with the waiting temporary.
    Ternary,
}

/// How the position in the buffers is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counting {
    /// Pointers at the ends; the index runs from −length to 0 and ends the only loop.
    Exact,
    /// Pointers at the ends; the index runs from (bytes of the unrolled turn) − length upwards.
    Biased,
    /// Pointers at the beginnings; a position runs forward beside a biased count.
    Forward,
}

/// The order of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Vector by vector: every operand of the first, its store, then the next.
    Vectors,
    /// Operand by operand: the first of every vector, then the next; stores last.
    Operands,
}

/// A general-purpose register that a head or tail may clobber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Temp {
    /// The register.
    pub register: Gpr,
    /// Where its value is kept meanwhile, if it holds a pointer.
    pub parked: Option<Vector>,
}

/// A loop over source pairs whose pointers are reloaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rolled {
    /// The first source that the loop takes.
    pub first: u16,
    /// How often it runs: two sources a turn.
    pub turns: u16,
    /// How its two sources are folded.
    pub folds: [Fold; 2],
}

/// One program: one pass over the destination.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct XorPass {
    /// The target.
    pub target: &'static Target,
    /// Number of sources.
    pub sources: u16,
    /// What becomes of the XOR.
    pub destination: Destination,
    /// Temporal or not.
    pub store: Store,
    /// The alignment promised for every buffer.
    pub aligned: u32,
    /// The multiple that the length is promised to be.
    pub multiple_of: u32,
    /// One fold per operand that is unrolled: the destination first if it is accumulated into, then the sources.
    pub folds: Vec<Fold>,
    /// The sources beyond those folds, if they are taken by a loop.
    pub rolled: Option<Rolled>,
    /// Where each unrolled source's pointer lives.
    pub homes: Vec<Home>,
    /// How the position is kept.
    pub counting: Counting,
    /// The order of a turn.
    pub order: Order,
    /// The index, or the biased count.
    pub index: Gpr,
    /// Where the index waits while pointers are loaded through its register.
    pub index_parked: Option<Vector>,
    /// offset + length while pointers are loaded; the position under forward counting.
    pub end: Gpr,
    /// Registers that receive pointers parked in lanes or reloaded, used in turn.
    pub pointer_temps: [Gpr; 2],
    /// Registers for masks and for parts of 1 and 2 bytes.
    pub temps: Vec<Temp>,
    /// Callee-saved registers in use.
    pub saved: Vec<Gpr>,
    /// One accumulator per unrolled vector.
    pub accumulators: Vec<Vector>,
    /// One temporary per unrolled vector if a fold needs it.
    pub temporaries: Vec<Vector>,
    /// Where operands go that cannot be folded.
    pub scratch: Vector,
    /// Collects all bits of a zero test.
    pub collected: Option<Vector>,
    /// What covers a length, in order.
    pub regions: Vec<Region>,
}

impl XorPass {
    /// Bytes of the widest region's turn.
    pub fn turn_bytes(&self) -> u32 {
        self.accumulators.len() as u32 * self.target.vector_bytes
    }
}

/// One call of a program by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Which pass.
    pub pass: usize,
    /// The first source it takes; it takes as many as the pass has.
    pub first: u16,
}

/// How the passes are called: block by block, and within a block group by group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Driver {
    /// Bytes of the destination to finish before the next; `None`: the whole length.
    pub block: Option<u32>,
    /// The calls, in order.
    pub groups: Vec<Group>,
}

/// The plan of a XOR kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct XorPlan {
    /// What was asked.
    pub spec: XorSpec,
    /// For what.
    pub target: &'static Target,
    /// The programs.
    pub passes: Vec<XorPass>,
    /// How they are called.
    pub driver: Driver,
}

/// A spec that a target cannot serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// There are no XOR kernels for this target.
    NoKernels {
        /// The target.
        target: &'static str,
    },
    /// `merge = ternary` where there is no three-input XOR.
    NoTernary {
        /// The target.
        target: &'static str,
    },
    /// The unrolled accumulators, temporaries and pointers exceed the registers.
    TooFewRegisters {
        /// What ran out.
        of: &'static str,
        /// The target.
        target: &'static str,
    },
    /// A grouped kernel reads the destination again: it must not bypass the caches.
    NonTemporalGrouped,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::NoKernels { target } => {
                write!(f, "there are no XOR kernels for {target}: expected one of")?;
                let mut tiers = Tier::XOR.iter().enumerate();
                tiers.try_for_each(|(i, tier)| write!(f, "{} {tier}", if i == 0 { "" } else { "," }))
            }
            PlanError::NoTernary { target } => {
                write!(f, "{target} has no three-input XOR: merge=ternary is impossible")
            }
            PlanError::TooFewRegisters { of, target } => {
                write!(f, "{target} has too few {of} registers for this unroll factor and source count")
            }
            PlanError::NonTemporalGrouped => {
                write!(f, "more than one group reads the destination again: non-temporal stores need a single pass")
            }
        }
    }
}

impl core::error::Error for PlanError {}

/// The plan of `spec` on `target`.
///
/// # Errors
/// When the spec's explicit options cannot be had on the target.
pub fn plan(spec: &XorSpec, target: &'static Target, tuning: &XorTuning) -> Result<XorPlan, PlanError> {
    if !Tier::XOR.contains(&target.tier) {
        return Err(PlanError::NoKernels { target: target.name });
    }
    let options = spec.options();
    let sources = spec.sources() as u16;
    let (sizes, block) = match options.strategy {
        Strategy::Single => (vec![sources], None),
        Strategy::Grouped(size) => (greedy(sources, u16::from(size)), None),
        Strategy::Auto => {
            let one_pass = options.destination == Destination::ZeroTest || options.store == Store::NonTemporal;
            let long = options.length == LengthClass::Long && sources > tuning.single_pass_sources;
            // A turn of narrow vectors covers few lines of each source: many sources then evict each other's.
            let narrow = u32::from(tuning.unroll_operands) * target.vector_bytes < tuning.turn_from;
            match () {
                () if one_pass => (vec![sources], None),
                () if narrow && sources > tuning.vectors_sources => {
                    (balanced(sources, tuning.vectors_sources - 1), long.then_some(tuning.block))
                }
                () if long => (balanced(sources, tuning.group), Some(tuning.block)),
                () => (vec![sources], None),
            }
        }
    };
    if sizes.len() > 1 && options.store == Store::NonTemporal {
        return Err(PlanError::NonTemporalGrouped);
    }
    let mut passes: Vec<XorPass> = Vec::new();
    let mut groups = Vec::new();
    let mut first = 0;
    for size in sizes {
        let destination = if first == 0 { options.destination } else { Destination::Accumulate };
        let known = passes.iter().position(|p| p.sources == size && p.destination == destination);
        let index = match known {
            Some(index) => index,
            None => {
                let small = matches!(options.strategy, Strategy::Grouped(_));
                passes.push(pass(&spec.part(size.into(), destination), small, target, tuning)?);
                passes.len() - 1
            }
        };
        groups.push(Group { pass: index, first });
        first += size;
    }
    Ok(XorPlan { spec: *spec, target, passes, driver: Driver { block, groups } })
}

/// Full groups of `size`, then the rest: what the Linux kernel does.
fn greedy(sources: u16, size: u16) -> Vec<u16> {
    let mut sizes = vec![size; (sources / size).into()];
    if !sources.is_multiple_of(size) {
        sizes.push(sources % size);
    }
    sizes
}

/// As few groups of at most `most` as possible, whose sizes differ by at most one.
fn balanced(sources: u16, most: u16) -> Vec<u16> {
    let count = sources.div_ceil(most);
    (0..count).map(|i| sources / count + u16::from(i < sources % count)).collect()
}

impl fmt::Display for XorPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pass srcs={} destination={} counting={:?} order={:?} unroll={}",
            self.sources,
            self.destination,
            self.counting,
            self.order,
            self.accumulators.len()
        )?;
        let count = |is: fn(&Home) -> bool| self.homes.iter().filter(|h| is(h)).count();
        let gprs = count(|h| matches!(h, Home::Gpr(_)));
        let lanes = count(|h| matches!(h, Home::Lane(_)));
        let reloaded = usize::from(self.sources) - gprs - lanes;
        write!(f, " pointers: {gprs} in registers, {lanes} parked, {reloaded} reloaded")?;
        for region in &self.regions {
            write!(f, "\n  {region}")?;
        }
        Ok(())
    }
}

impl fmt::Display for XorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.spec, self.target.name)?;
        if self.driver.groups.len() > 1 {
            write!(f, "\ndriver: {} groups", self.driver.groups.len())?;
            match self.driver.block {
                Some(block) => write!(f, ", blocks of {block} bytes")?,
                None => write!(f, ", each over the whole length")?,
            }
        }
        for pass in &self.passes {
            write!(f, "\n{pass}")?;
        }
        Ok(())
    }
}
