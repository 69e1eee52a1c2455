//! The Fletcher kernel, for every target and every plan.
//!
//! ```text
//! bring the sums from the state
//! for each step:
//!     w = the words of the step (two to a lane: w = low + 2^32·high)
//!     a += w; b += a; c += b; d += c, in every lane
//!     if words are two to a lane: the same with sums of their own for w >> 32
//! keep the sums in the state
//! ```
//!
//! 1. The sums of a whole lane and of its upper word give those of the lower one, for the recurrence is linear modulo
//!    2⁶⁴: no word is ever unpacked. That is nine operations for two words a lane, where unpacking takes ten.
//! 2. The state is the vectors themselves. A kernel may be called again for the next steps; the sums over all words are
//!    only made at the end, by [`fold`].
//! 3. Each sum is added to once a step and depends on the one before it: as many chains as there are sums, each one
//!    addition long a step, so that one set of sums is never waited for.

mod contract;
pub mod fold;

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::contract::Contract;
use crate::asm::ops::{At, Ops, Source};
use crate::asm::{AsmError, Condition, Gpr, Mem, Program, Scalar, Vector};
use crate::cost::Cost;
use crate::plan::fletcher::{FletcherPlan, FletcherTuning, Input, ORDERS, Swap, plan};
use crate::plan::{Part, Region};
use crate::spec::FletcherSpec;
use crate::target::Tier;
pub use contract::contract;
pub use fold::Fold;

/// The first argument: the state.
const STATE: Gpr = Gpr::RDI;
/// The second argument: the data of the next step.
const DATA: Gpr = Gpr::RSI;
/// The third argument: how many steps are left.
const STEPS: Gpr = Gpr::RDX;

/// The largest state of any plan, in 64-bit elements.
pub const MAX_STATE_LANES: usize = 64;
/// The alignment of a state.
pub const STATE_ALIGNED: u32 = 64;

/// A spec's plan with its program and contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// The plan.
    pub plan: FletcherPlan,
    /// The program.
    pub program: Program,
    /// Its contract.
    pub contract: Contract,
}

/// Why a spec has no kernel on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompileError {
    /// A fault of the generator.
    Asm(AsmError),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Asm(e) => write!(f, "a fault of the generator: {e}"),
        }
    }
}

impl core::error::Error for CompileError {}

/// From a spec to its program.
///
/// # Errors
/// [`CompileError::Asm`]: none in practice, for every spec can be had on every tier, which a test shows.
pub fn compile(spec: &FletcherSpec, tier: Tier, tuning: &FletcherTuning) -> Result<Lowered, CompileError> {
    let plan = plan(spec, tier.target(), tuning);
    let program = lower(&plan).map_err(CompileError::Asm)?;
    let contract = contract(&plan, &program);
    Ok(Lowered { plan, program, contract })
}

impl Lowered {
    /// The plan, and what 64 bytes cost in its main loop.
    pub fn asked(&self) -> String {
        let cost = self.program.spans().first().map(|span| Cost::of(&self.program, span)).unwrap_or_default();
        // Hundredths: a listing is the same on every machine.
        let per_64 = |count: u32| {
            let hundredths = count * 6400 / cost.bytes.max(1);
            format!("{}.{:02}", hundredths / 100, hundredths % 100)
        };
        let (vector, control) = (per_64(cost.instructions - cost.control), per_64(cost.control));
        format!("{}\nper 64 bytes: {vector} vector instructions, {control} of loop control", self.plan)
    }
}

/// The program of a plan.
///
/// # Errors
/// A fault of the plan or of the lowering: an instruction that cannot be built.
pub fn lower(plan: &FletcherPlan) -> Result<Program, AsmError> {
    let mut lowering = Lowering { plan, ops: Ops::new(plan.target, None, None) };
    lowering.enter();
    lowering.loops();
    lowering.leave();
    lowering.ops.b.finish(name(plan))
}

/// The symbol of a plan: what it computes, how, and for which tier.
fn name(plan: &FletcherPlan) -> String {
    let (algorithm, order) = (plan.spec.algorithm(), if plan.spec.options().byteswap { "byteswap" } else { "native" });
    let unroll = plan.regions.first().map_or(1, |region| region.unroll);
    format!("lanesmith_{algorithm}_{order}_{}_{}_x{unroll}", plan.formulation, plan.target.name).replace('-', "_")
}

struct Lowering<'p> {
    plan: &'p FletcherPlan,
    ops: Ops,
}

impl Lowering<'_> {
    fn scalar(&mut self, scalar: Scalar) {
        self.ops.b.scalar(scalar);
    }

    /// Each sum with its place in the state.
    fn sums(&self) -> impl Iterator<Item = (At, Vector)> + use<> {
        let bytes = self.plan.target.vector_bytes;
        let at = move |i: usize| At { mem: Mem::base(STATE, i as i32 * bytes as i32), aligned: bytes };
        self.plan.sums.concat().into_iter().enumerate().map(move |(i, sum)| (at(i), sum))
    }

    /// Brings constants and sums into registers.
    fn enter(&mut self) {
        self.scalar(Scalar::Endbr64);
        if let Input::Interleaved { zero } = self.plan.input {
            self.ops.zero(zero);
        }
        let bytes = self.plan.target.vector_bytes as usize;
        match self.plan.swap {
            Swap::None | Swap::Shifts => {}
            // Byte i comes from byte 3 - i of its word.
            Swap::Shuffle { control } => {
                let lane: [u8; 64] = core::array::from_fn(|i| (i % 16) as u8 ^ 3);
                self.ops.constant(control, &lane[..bytes]);
            }
            Swap::Rotations { mask } => {
                let ones: [u8; 64] = core::array::from_fn(|i| if i % 2 == 0 { 0xFF } else { 0 });
                self.ops.constant(mask, &ones[..bytes]);
            }
        }
        self.ops.b.note("sums from the state");
        for (at, sum) in self.sums() {
            self.ops.load(sum, at, Part::Full);
        }
    }

    /// Keeps the sums.
    fn leave(&mut self) {
        self.ops.b.note("sums to the state");
        for (at, sum) in self.sums() {
            self.ops.store(at, sum, Part::Full, false);
        }
        self.ops.leave();
        self.scalar(Scalar::Ret);
    }

    /// The unrolled loop counts steps beyond one turn, so that its count goes below zero when less than a turn is left;
    /// what it went below is given back to the loop of single steps.
    fn loops(&mut self) {
        let done = self.ops.b.label();
        let (last, unrolled) = match &*self.plan.regions {
            [unrolled, last] => (last, Some(unrolled)),
            [last] => (last, None),
            _ => return,
        };
        if let Some(region) = unrolled {
            let unroll = region.unroll as i32;
            self.ops.b.note(format!("{region}"));
            let next = self.ops.b.label();
            self.scalar(Scalar::AddImm(STEPS, -unroll));
            self.scalar(Scalar::Branch(Condition::Less, next));
            self.turns(region, Condition::GreaterOrEqual);
            self.ops.b.place(next);
            self.ops.b.note(format!("{last}"));
            self.scalar(Scalar::AddImm(STEPS, unroll));
        } else {
            self.ops.b.note(format!("{last}"));
            self.scalar(Scalar::Test(STEPS));
        }
        self.scalar(Scalar::Branch(Condition::Equal, done));
        self.turns(last, Condition::NotEqual);
        self.ops.b.place(done);
    }

    /// Turns of a loop while the count, less a turn, fulfils `again`.
    fn turns(&mut self, region: &Region, again: Condition) {
        let top = self.ops.b.here();
        let start = self.ops.b.position();
        let bytes = region.unroll * self.plan.step_bytes;
        for step in 0..region.unroll {
            self.step(At { mem: Mem::base(DATA, (step * self.plan.step_bytes) as i32), aligned: 1 });
        }
        self.scalar(Scalar::AddImm(DATA, bytes as i32));
        self.scalar(Scalar::AddImm(STEPS, -(region.unroll as i32)));
        self.scalar(Scalar::Branch(again, top));
        self.ops.b.span(*region, start, bytes, None);
    }

    /// One step of the recurrence, on the words at `at`.
    fn step(&mut self, at: At) {
        let FletcherPlan { words, high, .. } = *self.plan;
        match self.plan.input {
            Input::Widened => {
                self.ops.widen32(words, at);
                self.reverse(words);
                self.add(0, Source::Register(words));
            }
            Input::Interleaved { zero } => {
                self.ops.load(words, at, Part::Full);
                self.reverse(words);
                self.ops.widen32_in_place(words, high, zero);
                self.add(0, Source::Register(words));
                self.add(0, Source::Register(high));
            }
            Input::Raw { loaded } => {
                let source = match self.plan.swap {
                    _ if loaded => {
                        self.ops.load(words, at, Part::Full);
                        self.reverse(words);
                        Source::Register(words)
                    }
                    Swap::Rotations { mask } => {
                        self.ops.reverse_bytes_by_rotation(words, Source::Memory(at), high, mask);
                        Source::Register(words)
                    }
                    _ => Source::Memory(at),
                };
                self.ops.shift_right_64(high, source, 32);
                self.add(0, source);
                self.add(1, Source::Register(high));
            }
        }
    }

    /// Reverses the bytes of each word of `v`, if the plan says so.
    fn reverse(&mut self, v: Vector) {
        let temp = self.plan.high;
        match self.plan.swap {
            Swap::None => {}
            Swap::Shuffle { control } => self.ops.shuffle_bytes(v, control),
            Swap::Rotations { mask } => self.ops.reverse_bytes_by_rotation(v, Source::Register(v), temp, mask),
            Swap::Shifts => self.ops.reverse_bytes_by_shifts(v, temp),
        }
    }

    /// `a += w; b += a; c += b; d += c` of a set of sums.
    fn add(&mut self, set: usize, mut word: Source) {
        let sums: [Vector; ORDERS] = self.plan.sums[set];
        for sum in sums {
            self.ops.add64(sum, word);
            word = Source::Register(sum);
        }
    }
}
