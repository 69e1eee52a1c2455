//! The XOR kernel, for every target and every plan.
//!
//! ```text
//! for each region, while its bound holds:
//!     for each vector of the turn:
//!         for each operand (the destination first if it is accumulated into):
//!             fold it into the vector's accumulator
//!         store the accumulator (or collect its bits, for a zero test)
//! ```
//!
//! 1. Pointers are moved to the buffers' ends, so that one index both addresses every buffer and counts.
//! 2. The index is biased by a turn: the loop's own `add` sets the flags that say whether another turn fits.
//! 3. Where pointers must be brought back for use, the two inner loops are exchanged: each is brought back once a turn.
//! 4. The head works at the *aligned-down* position with the leading bytes masked off, so that buffers congruent to
//!    the destination are aligned from the first vector on.

mod contract;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use super::contract::Contract;
use crate::asm::ops::{At, Ops};
use crate::asm::{AsmError, Condition, Gpr, Label, Mask, Mem, Program, Scalar, Vector};
use crate::plan::xor::{Counting, Fold, Home, Order, PlanError, Temp, XorPass, XorPlan, XorTuning, plan};
use crate::plan::{Bound, Part, Region, Role};
use crate::spec::{Destination, Store, XorSpec};
use crate::target::Tier;
pub use contract::contract;

/// The first argument: the destination.
const DEST: Gpr = Gpr::RDI;
/// The second argument: the array of source pointers.
const ARRAY: Gpr = Gpr::RSI;
/// The third argument, until the index and the end are made of it.
const OFFSET: Gpr = Gpr::RDX;
/// The fourth argument.
const LEN: Gpr = Gpr::RCX;
/// The next slot of the array, and its end, while sources are taken by a loop.
const SLOT: Gpr = Gpr::R9;
const SLOT_END: Gpr = Gpr::R11;

/// A spec's plan with a program and a contract for each pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// The plan.
    pub plan: XorPlan,
    /// One program per pass.
    pub programs: Vec<Program>,
    /// One contract per pass.
    pub contracts: Vec<Contract>,
}

/// Why a spec has no kernel on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompileError {
    /// The spec asks for what the target does not have.
    Plan(PlanError),
    /// A fault of the generator.
    Asm(AsmError),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Plan(e) => e.fmt(f),
            CompileError::Asm(e) => write!(f, "a fault of the generator: {e}"),
        }
    }
}

impl core::error::Error for CompileError {}

/// From a spec to its programs.
///
/// # Errors
/// [`CompileError::Plan`] if the spec's explicit options cannot be had on `tier`.
pub fn compile(spec: &XorSpec, tier: Tier, tuning: &XorTuning) -> Result<Lowered, CompileError> {
    let plan = plan(spec, tier.target(), tuning).map_err(CompileError::Plan)?;
    let programs = plan.passes.iter().map(lower).collect::<Result<Vec<_>, _>>().map_err(CompileError::Asm)?;
    let contracts = plan.passes.iter().zip(&programs).map(|(pass, program)| contract(pass, program)).collect();
    Ok(Lowered { plan, programs, contracts })
}

/// The program of one pass.
///
/// # Errors
/// A fault of the plan or of the lowering: an instruction that cannot be built.
pub fn lower(pass: &XorPass) -> Result<Program, AsmError> {
    let byte_temp = pass.temps.first().filter(|t| t.parked.is_none()).map(|t| t.register);
    let mut lowering = Lowering { pass, ops: Ops::new(pass.target, Some(pass.scratch), byte_temp) };
    lowering.enter();
    for region in &pass.regions {
        lowering.region(*region);
    }
    lowering.leave();
    lowering.ops.b.finish(name(pass))
}

/// The symbol of a pass: what it computes, for which tier, and what else makes its code differ.
fn name(pass: &XorPass) -> String {
    let unroll = pass.accumulators.len();
    let mut name = format!("lanesmith_xor_{}_{}_{}_x{unroll}", pass.sources, pass.destination, pass.target.name);
    let folds = pass.folds.iter().chain(pass.rolled.iter().flat_map(|r| &r.folds));
    let pairwise = pass.target.ternary && folds.clone().count() > 2 && !folds.into_iter().any(|f| *f == Fold::Ternary);
    let head = pass.regions.iter().any(|r| r.role == Role::Head);
    for (differs, suffix) in [
        (pass.order == Order::Operands, "operands"),
        (pairwise, "pairwise"),
        (pass.target.byte_masks && !head, "headless"),
        (pass.store == Store::NonTemporal, "nontemporal"),
    ] {
        if differs {
            name.push('_');
            name.push_str(suffix);
        }
    }
    for (promise, letter) in [(pass.aligned, 'a'), (pass.multiple_of, 'm')] {
        if promise > 1 {
            name.push_str(&format!("_{letter}{promise}"));
        }
    }
    name.replace('-', "_")
}

struct Lowering<'p> {
    pass: &'p XorPass,
    ops: Ops,
}

impl Lowering<'_> {
    fn scalar(&mut self, scalar: Scalar) {
        self.ops.b.scalar(scalar);
    }

    fn turn(&self) -> i32 {
        self.pass.turn_bytes() as i32
    }

    /// Saves registers, makes the index, and brings the pointers home.
    fn enter(&mut self) {
        let pass = self.pass;
        self.scalar(Scalar::Endbr64);
        for register in &pass.saved {
            self.scalar(Scalar::Push(*register));
        }
        if let Some(collected) = pass.collected {
            self.ops.zero(collected);
        }
        match pass.counting {
            Counting::Forward => {
                self.ops.b.note("count = turn - length; position = offset");
                self.scalar(Scalar::Neg(LEN));
                self.scalar(Scalar::AddImm(LEN, self.turn()));
                if let Some(rolled) = &pass.rolled {
                    let all = rolled.first + 2 * rolled.turns;
                    self.scalar(Scalar::Lea(SLOT_END, Mem::base(ARRAY, i32::from(all) * 8)));
                }
            }
            Counting::Exact => {
                self.ops.b.note("end = offset + length; index = -length");
                self.scalar(Scalar::Add(OFFSET, LEN));
                self.scalar(Scalar::Neg(LEN));
                self.pointers();
            }
            Counting::Biased => {
                self.ops.b.note("end = offset + length; index = turn - length");
                self.scalar(Scalar::Add(OFFSET, LEN));
                self.scalar(Scalar::Neg(LEN));
                self.scalar(Scalar::AddImm(LEN, self.turn()));
                self.pointers();
            }
        }
    }

    /// Moves every pointer to its buffer's end.
    fn pointers(&mut self) {
        let pass = self.pass;
        if let Some(lane) = pass.index_parked {
            self.ops.park(lane, LEN);
        }
        self.ops.b.note("pointers to the buffers' ends");
        if pass.destination != Destination::ZeroTest {
            self.scalar(Scalar::Add(DEST, pass.end));
        }
        // Lanes first: they are loaded through a register that a later pointer may need.
        let parked = |k: &usize| matches!(pass.homes[*k], Home::Lane(_));
        let all = 0..pass.homes.len();
        for k in all.clone().filter(parked).chain(all.filter(|k| !parked(k))) {
            let slot = Mem::base(ARRAY, k as i32 * 8);
            let register = match pass.homes[k] {
                Home::Gpr(register) => register,
                Home::Lane(_) => Gpr::RAX,
                Home::Slot(_) => continue,
            };
            self.scalar(Scalar::Load(register, slot));
            self.scalar(Scalar::Add(register, pass.end));
            if let Home::Lane(lane) = pass.homes[k] {
                self.ops.park(lane, register);
            }
        }
        if let Some(lane) = pass.index_parked {
            self.ops.unpark(pass.index, lane);
        }
    }

    /// One region with its bound.
    fn region(&mut self, region: Region) {
        let pass = self.pass;
        self.ops.b.note(format!("{region}"));
        let bytes = match region.part {
            Part::Full | Part::Masked(_) => region.unroll * pass.target.vector_bytes,
            Part::Bytes(n) => n,
        } as i32;
        let next = self.ops.b.label();
        match (region.role, region.bound) {
            (Role::Head, Bound::Unaligned(from)) => {
                self.scalar(Scalar::CmpImm(pass.index, self.turn() - from as i32));
                self.scalar(Scalar::Branch(Condition::Greater, next));
                let Part::Masked(mask) = region.part else { return };
                self.align(mask, next);
                self.turn_body(region, bytes);
                self.advance(bytes);
            }
            (Role::Loop, Bound::Exact) => {
                let top = self.ops.b.here();
                let start = self.ops.b.position();
                let inner = self.body(region);
                self.advance(bytes);
                self.scalar(Scalar::Branch(Condition::NotEqual, top));
                self.ops.b.span(region, start, bytes as u32, inner);
                return;
            }
            (_, Bound::AtLeast(_)) => {
                // At least `bytes` remain while index <= turn - bytes.
                let most = self.turn() - bytes;
                self.compare(most);
                self.scalar(Scalar::Branch(Condition::Greater, next));
                let top = (region.role == Role::Loop).then(|| self.ops.b.here());
                let start = self.ops.b.position();
                let inner = self.body(region);
                self.advance(bytes);
                if let Some(top) = top {
                    // A whole turn: the step of the index has set the flags.
                    if most != 0 {
                        self.compare(most);
                    }
                    self.scalar(Scalar::Branch(Condition::LessOrEqual, top));
                }
                self.ops.b.span(region, start, bytes as u32, inner);
            }
            (_, _) => {
                self.compare(self.turn());
                self.scalar(Scalar::Branch(Condition::Equal, next));
                let Part::Masked(mask) = region.part else { return };
                // `index` is minus the remainder, modulo a vector.
                let temp = pass.temps[0];
                self.borrow(temp);
                self.ops.mask_first(mask, temp.register, pass.index);
                self.give_back(temp);
                self.turn_body(region, bytes);
            }
        }
        self.ops.b.place(next);
    }

    fn compare(&mut self, value: i32) {
        let index = self.pass.index;
        self.scalar(if value == 0 { Scalar::Test(index) } else { Scalar::CmpImm(index, value) });
    }

    /// A turn outside a loop, recorded as such.
    fn turn_body(&mut self, region: Region, bytes: i32) {
        let start = self.ops.b.position();
        let inner = self.body(region);
        self.ops.b.span(region, start, bytes as u32, inner);
    }

    /// Steps back to the aligned-down position and masks the bytes before the destination; goes to `aligned` if it
    /// is aligned already.
    fn align(&mut self, mask: Mask, aligned: Label) {
        let pass = self.pass;
        let vector = pass.target.vector_bytes as i32;
        let position = self.position();
        let base = match (pass.destination, pass.homes.first()) {
            (Destination::ZeroTest, Some(Home::Gpr(first))) => *first,
            _ => DEST,
        };
        let [t, ones] = [pass.temps[0], pass.temps[1]];
        // A pointer must be brought back on every path: then the mask is made before it is known to be needed.
        let early = t.parked.is_none();
        self.borrow(t);
        self.scalar(Scalar::Lea(t.register, Mem::indexed(base, position, 0)));
        self.scalar(Scalar::AndImm(t.register, vector - 1));
        if early {
            self.scalar(Scalar::Branch(Condition::Equal, aligned));
        }
        self.borrow(ones);
        self.scalar(Scalar::Sub(pass.index, t.register));
        if pass.counting == Counting::Forward {
            self.scalar(Scalar::Sub(position, t.register));
        }
        self.ops.mask_from(mask, ones.register, t.register);
        if !early {
            self.scalar(Scalar::Test(t.register));
        }
        self.give_back(ones);
        self.give_back(t);
        if !early {
            self.scalar(Scalar::Branch(Condition::Equal, aligned));
        }
    }

    /// Makes a register free to clobber: a pointer in it is parked meanwhile.
    fn borrow(&mut self, temp: Temp) {
        if let Some(lane) = temp.parked {
            self.ops.park(lane, temp.register);
        }
    }

    /// Brings back what [`Self::borrow`] has parked. Leaves the flags alone.
    fn give_back(&mut self, temp: Temp) {
        if let Some(lane) = temp.parked {
            self.ops.unpark(temp.register, lane);
        }
    }

    /// The register that addresses: the index, or the position under forward counting.
    fn position(&self) -> Gpr {
        if self.pass.counting == Counting::Forward { self.pass.end } else { self.pass.index }
    }

    fn advance(&mut self, bytes: i32) {
        if self.pass.counting == Counting::Forward {
            self.scalar(Scalar::AddImm(self.pass.end, bytes));
        }
        self.scalar(Scalar::AddImm(self.pass.index, bytes));
    }

    /// Vector `j` of the turn in the buffer at `pointer`.
    fn at(&self, pointer: Gpr, j: u32) -> At {
        let bias = if self.pass.counting == Counting::Biased { self.turn() } else { 0 };
        let displacement = (j * self.pass.target.vector_bytes) as i32 - bias;
        At { mem: Mem::indexed(pointer, self.position(), displacement), aligned: self.pass.aligned }
    }

    /// Folds one operand into the accumulators of some of the turn's vectors.
    fn fold(&mut self, fold: Fold, pointer: Gpr, part: Part, vectors: Range<u32>) {
        let pass = self.pass;
        for j in vectors {
            let at = self.at(pointer, j);
            let acc = pass.accumulators[j as usize];
            let waiting = pass.temporaries.get(j as usize).copied().unwrap_or(acc);
            match fold {
                Fold::Load => self.ops.load(acc, at, part),
                Fold::LoadTemporary => self.ops.load(waiting, at, part),
                Fold::Xor => self.ops.xor(acc, at, part),
                Fold::Ternary => self.ops.xor3(acc, waiting, at, part),
            }
        }
    }

    /// One turn, in the plan's order. Returns the loop over sources, if there is one.
    fn body(&mut self, region: Region) -> Option<(Range<usize>, u32)> {
        match self.pass.order {
            Order::Operands => self.vectors(region.part, 0..region.unroll),
            Order::Vectors => {
                for j in 0..region.unroll {
                    self.vectors(region.part, j..j + 1);
                }
                None
            }
        }
    }

    /// Folds every operand of some of the turn's vectors, then stores or collects them.
    fn vectors(&mut self, part: Part, vectors: Range<u32>) -> Option<(Range<usize>, u32)> {
        let pass = self.pass;
        let mut folds = pass.folds.iter().copied();
        if pass.destination == Destination::Accumulate
            && let Some(fold) = folds.next()
        {
            self.fold(fold, DEST, part, vectors.clone());
        }
        let mut temps = pass.pointer_temps.into_iter().cycle();
        for (home, fold) in pass.homes.iter().zip(folds) {
            let mut temp = || temps.next().unwrap_or(Gpr::RAX);
            let pointer = match *home {
                Home::Gpr(register) => register,
                Home::Lane(lane) => {
                    let register = temp();
                    self.ops.unpark(register, lane);
                    register
                }
                Home::Slot(k) => {
                    let register = temp();
                    self.scalar(Scalar::Load(register, Mem::base(ARRAY, i32::from(k) * 8)));
                    register
                }
            };
            self.fold(fold, pointer, part, vectors.clone());
        }
        let inner = self.rolled(part, vectors.clone());
        for j in vectors {
            let acc: Vector = pass.accumulators[j as usize];
            match pass.collected {
                Some(collected) => self.ops.or(collected, acc),
                None => {
                    let at = self.at(DEST, j);
                    self.ops.store(at, acc, part, pass.store == Store::NonTemporal);
                }
            }
        }
        inner
    }

    /// The loop over the sources whose pointers are reloaded, two a turn.
    fn rolled(&mut self, part: Part, vectors: Range<u32>) -> Option<(Range<usize>, u32)> {
        let rolled = self.pass.rolled.as_ref()?;
        self.scalar(match rolled.first {
            0 => Scalar::Mov(SLOT, ARRAY),
            first => Scalar::Lea(SLOT, Mem::base(ARRAY, i32::from(first) * 8)),
        });
        let top = self.ops.b.here();
        let start = self.ops.b.position();
        let [p, q] = self.pass.pointer_temps;
        self.scalar(Scalar::Load(p, Mem::base(SLOT, 0)));
        self.scalar(Scalar::Load(q, Mem::base(SLOT, 8)));
        self.scalar(Scalar::AddImm(SLOT, 16));
        self.fold(rolled.folds[0], p, part, vectors.clone());
        self.fold(rolled.folds[1], q, part, vectors);
        self.scalar(Scalar::Cmp(SLOT, SLOT_END));
        self.scalar(Scalar::Branch(Condition::NotEqual, top));
        Some((start..self.ops.b.position(), rolled.turns.into()))
    }

    /// The result, restored registers, and the return.
    fn leave(&mut self) {
        let pass = self.pass;
        self.ops.b.note("done");
        if pass.store == Store::NonTemporal {
            self.scalar(Scalar::Sfence);
        }
        if let Some(collected) = pass.collected {
            self.ops.any_bit(collected);
        }
        self.ops.leave();
        for register in pass.saved.iter().rev() {
            self.scalar(Scalar::Pop(*register));
        }
        self.scalar(Scalar::Ret);
    }
}
