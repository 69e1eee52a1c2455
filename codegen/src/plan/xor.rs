//! The plan of a XOR kernel: passes over the destination, where each pointer lives, how each operand is folded, and
//! the regions that cover a length.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::{Bound, Part, Region, Role};
use crate::asm::{Gpr, Mask, Vector};
use crate::spec::{Destination, Head, LengthClass, Merge, Store, Strategy, XorSpec};
use crate::target::Target;

/// Thresholds of the XOR plan. The defaults are measured; `docs/design.md` says what each one gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct XorTuning {
    /// Vectors a turn in the order of [`Order::Vectors`].
    pub unroll_vectors: u8,
    /// Vectors a turn in the order of [`Order::Operands`]; fewer where the registers do not suffice.
    pub unroll_operands: u8,
    /// The most sources whose pointers are kept in registers, those parked in vector registers included.
    pub resident_sources: u16,
    /// The most sources for which one plan serves every length: with the destination they are few enough for the
    /// first-level cache to hold a line of each, wherever the buffers start.
    pub any_length_sources: u16,
    /// The most sources that go vector by vector while all of them fit the first-level cache.
    pub vectors_sources: u16,
    /// Total bytes of the sources up to which that many go vector by vector.
    pub vectors_bytes: usize,
    /// Total bytes of the sources up to which more sources do.
    pub vectors_bytes_many: usize,
    /// The most sources whose pointers fit general-purpose registers: no more than that are ever grouped.
    pub single_pass_sources: u16,
    /// The length from which more sources than that are taken in groups.
    pub grouped_from: usize,
    /// The most sources of a group.
    pub group: u16,
    /// Bytes of the destination that all groups finish before the next block: it stays in the second-level cache.
    pub block: u32,
    /// The length from which an unaligned destination is worth a masked head.
    pub head_from: u32,
}

impl XorTuning {
    /// The tuning in use when nothing else is said.
    pub const DEFAULT: XorTuning = XorTuning {
        unroll_vectors: 4,
        unroll_operands: 8,
        resident_sources: 23,
        any_length_sources: 5,
        vectors_sources: 8,
        vectors_bytes: 32 * 1024,
        vectors_bytes_many: 8 * 1024,
        single_pass_sources: 13,
        grouped_from: 256 * 1024,
        group: 12,
        block: 64 * 1024,
        head_from: 512,
    };

    /// The length class whose plan is best for `sources` (at most 1024) buffers of `len` bytes.
    pub const fn length_class(&self, sources: usize, len: usize) -> LengthClass {
        let short = if sources <= self.any_length_sources as usize {
            return LengthClass::Any;
        } else if sources <= self.vectors_sources as usize {
            len.saturating_mul(sources) <= self.vectors_bytes
        } else if sources <= self.single_pass_sources as usize {
            len.saturating_mul(sources) <= self.vectors_bytes_many
        } else {
            len < self.grouped_from
        };
        if short { LengthClass::Short } else { LengthClass::Long }
    }

    /// The order of a turn when every pointer is in a general-purpose register.
    const fn order(&self, sources: usize, length: LengthClass) -> Order {
        match length {
            LengthClass::Short => Order::Vectors,
            LengthClass::Any if sources <= self.any_length_sources as usize => Order::Vectors,
            LengthClass::Any | LengthClass::Long => Order::Operands,
        }
    }
}

impl Default for XorTuning {
    fn default() -> XorTuning {
        XorTuning::DEFAULT
    }
}

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
    let options = spec.options();
    let sources = spec.sources() as u16;
    let (sizes, block) = match options.strategy {
        Strategy::Single => (vec![sources], None),
        Strategy::Grouped(size) => (greedy(sources, u16::from(size)), None),
        Strategy::Auto => {
            let long = options.length == LengthClass::Long && sources > tuning.single_pass_sources;
            let one_pass = options.destination == Destination::ZeroTest || options.store == Store::NonTemporal;
            if long && !one_pass {
                (balanced(sources, tuning.group), Some(tuning.block))
            } else {
                (vec![sources], None)
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

/// Pointers that need no saving, then those that do.
const POINTERS: [Gpr; 11] =
    [Gpr::RAX, Gpr::R8, Gpr::R9, Gpr::R10, Gpr::R11, Gpr::RBX, Gpr::RBP, Gpr::R12, Gpr::R13, Gpr::R14, Gpr::R15];
/// The first of [`POINTERS`] that are free to clobber.
const UNSAVED: usize = 5;

/// A small pool of vector registers, handed out in order.
struct Vectors {
    next: u8,
    target: &'static Target,
}

impl Vectors {
    fn take(&mut self) -> Result<Vector, PlanError> {
        let free = if self.next < self.target.vectors { Vector::new(self.next) } else { None };
        self.next += 1;
        free.ok_or(PlanError::TooFewRegisters { of: "vector", target: self.target.name })
    }

    fn many(&mut self, count: usize) -> Result<Vec<Vector>, PlanError> {
        (0..count).map(|_| self.take()).collect()
    }
}

/// The plan of one pass. `small` asks for the turns of the Linux loops.
fn pass(spec: &XorSpec, small: bool, target: &'static Target, tuning: &XorTuning) -> Result<XorPass, PlanError> {
    let options = spec.options();
    let sources = spec.sources();
    let accumulate = options.destination == Destination::Accumulate;
    let zero_test = options.destination == Destination::ZeroTest;
    let ternary = match options.merge {
        Merge::Auto => target.ternary,
        Merge::Pairwise => false,
        Merge::Ternary if target.ternary => true,
        Merge::Ternary => return Err(PlanError::NoTernary { target: target.name }),
    };

    // One register more holds a pointer where byte masks make the register for parts of 1 and 2 bytes unnecessary.
    let in_gprs = POINTERS.len() + 1 + usize::from(target.byte_masks);
    let reload = sources > usize::from(tuning.resident_sources).max(in_gprs);
    let parked = !reload && sources > in_gprs;
    let operands = sources + usize::from(accumulate);

    // Pointers that are not in registers are brought back once a turn; the Linux loops go by operands, too.
    let order = if small || parked || reload { Order::Operands } else { tuning.order(sources, options.length) };
    let unroll = usize::from(options.unroll.unwrap_or_else(|| match order {
        Order::Operands if small && ternary => {
            if operands <= 3 {
                2
            } else {
                1
            }
        }
        Order::Operands if small => tuning.unroll_vectors,
        Order::Operands => {
            // As many as fit beside the parked pointers, the scratch register and the bits of a zero test.
            let lanes = if parked { sources - POINTERS.len() } else { 0 };
            let each = if ternary { 2 } else { 1 };
            let fitting = |n: &u8| usize::from(*n) * each + lanes + 2 <= usize::from(target.vectors);
            [8, 4, 2, 1].into_iter().filter(|n| *n <= tuning.unroll_operands).find(fitting).unwrap_or(1)
        }
        Order::Vectors => tuning.unroll_vectors,
    }));
    let turn = unroll as u32 * target.vector_bytes;

    let unrolled = if reload { operands - (operands - 1) / 2 * 2 } else { operands };
    let folds = folds(unrolled, ternary);
    let rolled = reload.then(|| Rolled {
        first: (unrolled - usize::from(accumulate)) as u16,
        turns: ((operands - unrolled) / 2) as u16,
        folds: if ternary { [Fold::LoadTemporary, Fold::Ternary] } else { [Fold::Xor, Fold::Xor] },
    });

    let mut vectors = Vectors { next: 0, target };
    let accumulators = vectors.many(unroll)?;
    let waits = folds.contains(&Fold::LoadTemporary) || (reload && ternary);
    let temporaries = if waits { vectors.many(unroll)? } else { Vec::new() };
    let scratch = vectors.take()?;
    let collected = if zero_test { Some(vectors.take()?) } else { None };

    let exact = !reload && options.multiple_of >= turn;
    let counting = match () {
        () if reload => Counting::Forward,
        () if exact => Counting::Exact,
        () => Counting::Biased,
    };

    // Pointers: everything but the last in order, the last through the array's own register.
    let mut index = Gpr::RCX;
    let mut end = Gpr::RDX;
    let mut index_parked = None;
    let mut homes = Vec::new();
    let mut used = 0;
    if reload {
        homes.extend(
            (0..sources - 2 * usize::from(rolled.as_ref().map_or(0, |r| r.turns))).map(|k| Home::Slot(k as u16)),
        );
    } else if parked {
        used = POINTERS.len();
        homes.extend(POINTERS.map(Home::Gpr));
        homes.extend(vectors.many(sources - used)?.into_iter().map(Home::Lane));
    } else {
        used = (sources - 1).min(POINTERS.len());
        homes.extend(POINTERS[..used].iter().copied().map(Home::Gpr));
        if sources - 1 > used {
            // The last register but one is the index's own: the index waits in a lane and moves to `end`.
            homes.push(Home::Gpr(Gpr::RCX));
            index_parked = Some(accumulators[0]);
            index = Gpr::RDX;
            end = Gpr::RDX;
        }
        homes.push(Home::Gpr(Gpr::RSI));
    }

    // Registers for heads and tails: free ones first, then pointers parked meanwhile.
    let mut temps: Vec<Temp> = Vec::new();
    let free = |register| Temp { register, parked: None };
    if reload {
        temps.extend([Gpr::R10, Gpr::R9].map(free));
    } else {
        if index_parked.is_none() {
            temps.push(free(Gpr::RDX));
        }
        if parked {
            temps.push(free(Gpr::RSI));
        }
        temps.extend(POINTERS[used.min(UNSAVED)..UNSAVED].iter().copied().map(free));
        for register in [Gpr::RAX, Gpr::R8] {
            if temps.len() < 2 {
                temps.push(Temp { register, parked: Some(vectors.take()?) });
            }
        }
    }
    temps.truncate(2);

    let mut regions = Vec::new();
    let vector = target.vector_bytes;
    if counting == Counting::Exact {
        regions.push(Region { role: Role::Loop, unroll: unroll as u32, part: Part::Full, bound: Bound::Exact });
    } else {
        let unaligned = options.aligned < vector;
        let first_is_known = !zero_test || matches!(homes.first(), Some(Home::Gpr(_)));
        if options.head == Head::Auto && target.byte_masks && unaligned && first_is_known {
            let (part, bound) = (Part::Masked(Mask::K1), Bound::Unaligned(tuning.head_from.max(turn + vector)));
            regions.push(Region { role: Role::Head, unroll: 1, part, bound });
        }
        for count in if unroll > 1 { vec![unroll as u32, 1] } else { vec![1] } {
            let bound = Bound::AtLeast(count * vector);
            regions.push(Region { role: Role::Loop, unroll: count, part: Part::Full, bound });
        }
        if options.multiple_of < vector {
            if target.byte_masks {
                let part = Part::Masked(Mask::K1);
                regions.push(Region { role: Role::Once, unroll: 1, part, bound: Bound::Remainder });
            } else {
                let mut bytes = vector / 2;
                while bytes >= options.multiple_of {
                    let (part, bound) = (Part::Bytes(bytes), Bound::AtLeast(bytes));
                    regions.push(Region { role: Role::Once, unroll: 1, part, bound });
                    bytes /= 2;
                }
            }
        }
    }

    Ok(XorPass {
        target,
        sources: sources as u16,
        destination: options.destination,
        store: options.store,
        aligned: options.aligned,
        multiple_of: options.multiple_of,
        folds,
        rolled,
        homes,
        counting,
        order,
        index,
        index_parked,
        end,
        pointer_temps: if reload { [Gpr::RAX, Gpr::R8] } else { [Gpr::RDX, Gpr::RSI] },
        temps,
        saved: POINTERS[..used].iter().copied().filter(|r| r.is_callee_saved()).collect(),
        accumulators,
        temporaries,
        scratch,
        collected,
        regions,
    })
}

/// One fold per operand: the first is loaded, an even count takes one two-input XOR, the rest go in pairs.
fn folds(operands: usize, ternary: bool) -> Vec<Fold> {
    let mut folds = vec![Fold::Load];
    if !ternary {
        folds.resize(operands, Fold::Xor);
        return folds;
    }
    if operands.is_multiple_of(2) {
        // The temporary of the first pair is loaded before it, so that two loads start at once.
        if operands == 2 {
            folds.push(Fold::Xor);
        } else {
            folds.extend([Fold::LoadTemporary, Fold::Xor, Fold::Ternary]);
        }
    }
    while folds.len() < operands {
        folds.extend([Fold::LoadTemporary, Fold::Ternary]);
    }
    folds
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
