//! The plan of one pass: folds, registers, counting, regions.

use alloc::vec;
use alloc::vec::Vec;

use super::{Counting, Fold, Home, Order, PlanError, Rolled, Temp, XorPass, XorTuning};
use crate::asm::{Gpr, Mask, Vector};
use crate::plan::{Bound, Part, Region, Role};
use crate::spec::{Destination, Head, Merge, XorSpec};
use crate::target::Target;

/// Pointers that need no saving, then those that do.
const POINTERS: [Gpr; 11] =
    [Gpr::RAX, Gpr::R8, Gpr::R9, Gpr::R10, Gpr::R11, Gpr::RBX, Gpr::RBP, Gpr::R12, Gpr::R13, Gpr::R14, Gpr::R15];
/// The first of [`POINTERS`] that are free to clobber.
const UNSAVED: usize = 5;

/// Where most pointers live.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Residence {
    /// All in general-purpose registers.
    Gprs,
    /// Those that do not fit in lanes of vector registers.
    Lanes,
    /// In the caller's array.
    Array,
}

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

/// What the choices of a pass depend on.
struct Asked<'a> {
    spec: &'a XorSpec,
    /// Whether the turns of the Linux loops are asked for.
    small: bool,
    target: &'static Target,
    tuning: &'a XorTuning,
    ternary: bool,
    residence: Residence,
}

/// The plan of one pass. `small` asks for the turns of the Linux loops.
pub(super) fn pass(
    spec: &XorSpec,
    small: bool,
    target: &'static Target,
    tuning: &XorTuning,
) -> Result<XorPass, PlanError> {
    let options = spec.options();
    let ternary = match options.merge {
        Merge::Auto => target.ternary,
        Merge::Pairwise => false,
        Merge::Ternary if target.ternary => true,
        Merge::Ternary => return Err(PlanError::NoTernary { target: target.name }),
    };
    // One register more holds a pointer where byte masks make the register for parts of 1 and 2 bytes unnecessary.
    let in_gprs = POINTERS.len() + 1 + usize::from(target.byte_masks);
    // Lanes are worth it only beside a full turn's accumulators, the scratch register and the bits of a zero test.
    let turn = usize::from(tuning.unroll_operands) * (1 + usize::from(ternary)) + 2;
    let residence = match spec.sources() {
        n if n <= in_gprs => Residence::Gprs,
        n if n > tuning.resident_sources.into() => Residence::Array,
        n if n - POINTERS.len() + turn > target.vectors.into() => Residence::Array,
        _ => Residence::Lanes,
    };
    let asked = Asked { spec, small, target, tuning, ternary, residence };

    let order = asked.order();
    let unroll = asked.unroll(order);
    let (folds, rolled) = asked.folds();
    let waits = ternary && (rolled.is_some() || folds.contains(&Fold::LoadTemporary));

    let mut vectors = Vectors { next: 0, target };
    let accumulators = vectors.many(unroll)?;
    let temporaries = if waits { vectors.many(unroll)? } else { Vec::new() };
    let scratch = vectors.take()?;
    let zero_test = options.destination == Destination::ZeroTest;
    let collected = if zero_test { Some(vectors.take()?) } else { None };

    let turn = unroll as u32 * target.vector_bytes;
    let counting = match residence {
        Residence::Array => Counting::Forward,
        _ if options.multiple_of >= turn => Counting::Exact,
        _ => Counting::Biased,
    };
    let reloaded = rolled.as_ref().map_or(0, |r| 2 * usize::from(r.turns));
    let pointers = asked.pointers(spec.sources() - reloaded, &mut vectors)?;
    let first_is_known = !zero_test || matches!(pointers.homes.first(), Some(Home::Gpr(_)));
    let regions = asked.regions(unroll as u32, counting, first_is_known);

    Ok(XorPass {
        target,
        sources: spec.sources() as u16,
        destination: options.destination,
        store: options.store,
        aligned: options.aligned,
        multiple_of: options.multiple_of,
        folds,
        rolled,
        homes: pointers.homes,
        counting,
        order,
        index: if pointers.index_moves { Gpr::RDX } else { Gpr::RCX },
        index_parked: pointers.index_moves.then_some(accumulators[0]),
        end: Gpr::RDX,
        pointer_temps: if residence == Residence::Array { [Gpr::RAX, Gpr::R8] } else { [Gpr::RDX, Gpr::RSI] },
        temps: pointers.temps,
        saved: pointers.saved,
        accumulators,
        temporaries,
        scratch,
        collected,
        regions,
    })
}

/// Where pointers live, and what registers that leaves.
struct Pointers {
    homes: Vec<Home>,
    temps: Vec<Temp>,
    saved: Vec<Gpr>,
    /// Whether the index's register is needed for a pointer: it then waits in a lane while pointers are loaded.
    index_moves: bool,
}

impl Asked<'_> {
    fn operands(&self) -> usize {
        self.spec.sources() + usize::from(self.spec.options().destination == Destination::Accumulate)
    }

    /// Pointers that are not in registers are brought back once a turn; the Linux loops go by operands, too.
    fn order(&self) -> Order {
        if self.small || self.residence != Residence::Gprs {
            Order::Operands
        } else {
            self.tuning.order(self.spec.sources(), self.spec.options().length)
        }
    }

    /// Vectors a turn.
    fn unroll(&self, order: Order) -> usize {
        let chosen = self.spec.options().unroll.unwrap_or_else(|| match order {
            Order::Operands if self.small && self.ternary => 1 + u8::from(self.operands() <= 3),
            Order::Operands if !self.small => {
                // Fewer where the registers do not suffice beside the scratch register and the bits of a zero test.
                let each = 1 + usize::from(self.ternary);
                let fits = |n: &u8| usize::from(*n) * each + 2 <= usize::from(self.target.vectors);
                [8, 4, 2, 1].into_iter().filter(|n| *n <= self.tuning.unroll_operands).find(fits).unwrap_or(1)
            }
            Order::Operands | Order::Vectors => self.tuning.unroll_vectors,
        });
        chosen.into()
    }

    /// How the operands are folded, and the loop over those whose pointers are reloaded.
    fn folds(&self) -> (Vec<Fold>, Option<Rolled>) {
        let operands = self.operands();
        if self.residence != Residence::Array {
            return (straight(operands, self.ternary), None);
        }
        // One or two operands begin; the others come in pairs.
        let turns = (operands - 1) / 2;
        let begin = operands - 2 * turns;
        let rolled = Rolled {
            first: (begin - (operands - self.spec.sources())) as u16,
            turns: turns as u16,
            folds: if self.ternary { [Fold::LoadTemporary, Fold::Ternary] } else { [Fold::Xor, Fold::Xor] },
        };
        (straight(begin, self.ternary), Some(rolled))
    }

    /// Homes for `count` pointers. Heads and tails take free registers first, then pointers that are parked meanwhile.
    fn pointers(&self, count: usize, vectors: &mut Vectors) -> Result<Pointers, PlanError> {
        let free = |register: &Gpr| Temp { register: *register, parked: None };
        let gprs = |n: usize| POINTERS[..n].iter().copied().map(Home::Gpr);
        let saved = |n: usize| POINTERS[..n].iter().copied().filter(|r| r.is_callee_saved()).collect();
        match self.residence {
            Residence::Array => Ok(Pointers {
                homes: (0..count).map(|k| Home::Slot(k as u16)).collect(),
                temps: [Gpr::R10, Gpr::R9].iter().map(free).collect(),
                saved: Vec::new(),
                index_moves: false,
            }),
            Residence::Lanes => {
                let lanes = vectors.many(count - POINTERS.len())?.into_iter().map(Home::Lane);
                Ok(Pointers {
                    homes: gprs(POINTERS.len()).chain(lanes).collect(),
                    temps: [Gpr::RDX, Gpr::RSI].iter().map(free).collect(),
                    saved: saved(POINTERS.len()),
                    index_moves: false,
                })
            }
            Residence::Gprs => {
                // The last pointer is loaded through the array's own register, which becomes its home.
                let used = (count - 1).min(POINTERS.len());
                let index_moves = count - 1 > used;
                let index = index_moves.then_some(Home::Gpr(Gpr::RCX));
                let homes = gprs(used).chain(index).chain([Home::Gpr(Gpr::RSI)]).collect();
                let end = if index_moves { None } else { Some(free(&Gpr::RDX)) };
                let mut temps: Vec<Temp> =
                    end.into_iter().chain(POINTERS[used.min(UNSAVED)..UNSAVED].iter().map(free)).take(2).collect();
                for register in [Gpr::RAX, Gpr::R8].into_iter().take(2 - temps.len()) {
                    temps.push(Temp { register, parked: Some(vectors.take()?) });
                }
                Ok(Pointers { homes, temps, saved: saved(used), index_moves })
            }
        }
    }

    /// What covers a length, in order.
    fn regions(&self, unroll: u32, counting: Counting, first_is_known: bool) -> Vec<Region> {
        let options = self.spec.options();
        let vector = self.target.vector_bytes;
        let region = |role, unroll, part, bound| Region { role, unroll, part, bound };
        if counting == Counting::Exact {
            return vec![region(Role::Loop, unroll, Part::Full, Bound::Exact)];
        }
        let mut regions = Vec::new();
        let masked = Part::Masked(Mask::K1);
        let masks = self.target.byte_masks;
        let head = options.head == Head::Auto && masks && options.aligned < vector && first_is_known;
        if head {
            // Behind the head a whole turn must be left.
            let from = self.tuning.head_from.max((unroll + 1) * vector);
            regions.push(region(Role::Head, 1, masked, Bound::Unaligned(from)));
        }
        if unroll > 1 {
            regions.push(region(Role::Loop, unroll, Part::Full, Bound::AtLeast(unroll * vector)));
        }
        regions.push(region(Role::Loop, 1, Part::Full, Bound::AtLeast(vector)));
        // A head takes a part of a vector: even of a whole number of vectors it leaves a remainder.
        if masks && (head || options.multiple_of < vector) {
            regions.push(region(Role::Once, 1, masked, Bound::Remainder));
        } else if options.multiple_of < vector {
            let mut bytes = vector / 2;
            while bytes >= options.multiple_of {
                regions.push(region(Role::Once, 1, Part::Bytes(bytes), Bound::AtLeast(bytes)));
                bytes /= 2;
            }
        }
        regions
    }
}

/// One fold per operand: the first is loaded, an even count takes one two-input XOR, the rest go in pairs.
fn straight(operands: usize, ternary: bool) -> Vec<Fold> {
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
