//! One vector instruction: a table row with its operands, checked when it is built.

use super::builder::AsmError;
use super::mem::Mem;
use super::reg::{Gpr, Mask, Vector, Width};
use super::table::{Class, Encoding, Field, MemRule, Role, Row};
use crate::target::{Feature, FeatureSet};

/// An operand, in the order of Intel syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A vector register.
    Vector(Vector),
    /// A general-purpose register.
    Gpr(Gpr),
    /// An opmask register as an ordinary operand.
    Mask(Mask),
    /// Memory.
    Mem(Mem),
    /// An 8-bit immediate.
    Imm(u8),
}

impl From<Vector> for Operand {
    fn from(v: Vector) -> Operand {
        Operand::Vector(v)
    }
}
impl From<Gpr> for Operand {
    fn from(r: Gpr) -> Operand {
        Operand::Gpr(r)
    }
}
impl From<Mask> for Operand {
    fn from(k: Mask) -> Operand {
        Operand::Mask(k)
    }
}
impl From<Mem> for Operand {
    fn from(m: Mem) -> Operand {
        Operand::Mem(m)
    }
}

/// A writemask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Masking {
    /// k1..=k7.
    pub mask: Mask,
    /// Whether masked-out elements of a register destination become zero; otherwise they keep their value.
    pub zeroing: bool,
}

/// No row has more operands.
const MAX_OPERANDS: usize = 4;

/// A vector instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    row: &'static Row,
    width: Width,
    /// The first `row.slots.len()` count; the others are always the same.
    operands: [Operand; MAX_OPERANDS],
    masking: Option<Masking>,
}

impl Inst {
    /// The instruction of `row` at `width` with `operands` in Intel order.
    ///
    /// # Errors
    /// When an operand does not fit the row's slot, or the row has no form of that width.
    pub fn new(row: &'static Row, width: Width, operands: &[Operand]) -> Result<Inst, AsmError> {
        Inst::masked(row, width, operands, None)
    }

    /// Like [`Inst::new`], with a writemask.
    ///
    /// # Errors
    /// Also when the row cannot be masked that way.
    pub fn masked(
        row: &'static Row,
        width: Width,
        operands: &[Operand],
        masking: Option<Masking>,
    ) -> Result<Inst, AsmError> {
        check(row, width, operands)?;
        if let Some(Masking { mask, zeroing }) = masking
            && (row.element == 0 || mask.number() == 0 || (zeroing && !row.zeroing))
        {
            return Err(AsmError::Masking { mnemonic: row.mnemonic });
        }
        let mut inst = Inst { row, width, operands: [Operand::Imm(0); MAX_OPERANDS], masking };
        inst.operands[..operands.len()].copy_from_slice(operands);
        inst.canonicalise();
        Ok(inst)
    }

    /// The choices an assembler makes: VEX where the operands allow it, and the sources of a commutative VEX
    /// instruction swapped where that allows the two-byte prefix.
    fn canonicalise(&mut self) {
        if let Some(vex) = self.row.vex_form
            && self.masking.is_none()
            && check(vex, self.width, self.operands()).is_ok()
        {
            self.row = vex;
        }
        let row = self.row;
        if row.encoding != Encoding::Vex || !row.commutative || !row.two_byte_vex() {
            return;
        }
        if let [_, Operand::Vector(vvvv), Operand::Vector(rm)] = *self.operands()
            && rm.number() >= 8
            && vvvv.number() < 8
        {
            self.operands.swap(1, 2);
        }
    }

    /// The table row.
    pub fn row(&self) -> &'static Row {
        self.row
    }

    /// The vector width.
    pub fn width(&self) -> Width {
        self.width
    }

    /// The operands in Intel order.
    pub fn operands(&self) -> &[Operand] {
        &self.operands[..self.row.slots.len()]
    }

    /// The writemask, if any.
    pub fn masking(&self) -> Option<Masking> {
        self.masking
    }

    /// The operand encoded in `field`, if the row has that field.
    pub fn operand(&self, field: Field) -> Option<Operand> {
        self.row.slots.iter().position(|s| s.field == field).map(|i| self.operands[i])
    }

    /// The memory operand and what becomes of it.
    pub fn memory(&self) -> Option<(Mem, Role)> {
        self.operands().iter().zip(self.row.slots).find_map(|(o, s)| match o {
            Operand::Mem(m) => Some((*m, s.role)),
            _ => None,
        })
    }

    /// What a CPU must have to run it.
    pub fn features(&self) -> FeatureSet {
        let shorter = self.row.encoding == Encoding::Evex && self.width != Width::W512 && !self.row.scalar;
        if shorter { self.row.features.with(Feature::Avx512Vl) } else { self.row.features }
    }
}

/// Whether `row` has a form of `width` whose slots take `operands`.
fn check(row: &Row, width: Width, operands: &[Operand]) -> Result<(), AsmError> {
    let misfit = |slot: usize| AsmError::Operand { mnemonic: row.mnemonic, slot };
    if !row.widths.contains(width) {
        return Err(AsmError::Width { mnemonic: row.mnemonic, width });
    }
    if operands.len() != row.slots.len() {
        return Err(misfit(operands.len().min(row.slots.len())));
    }
    let registers = if row.encoding == Encoding::Evex { 32 } else { 16 };
    for (i, (operand, slot)) in operands.iter().zip(row.slots).enumerate() {
        let fits = match (operand, slot.class) {
            (Operand::Mem(mem), _) => {
                slot.field == Field::Rm && row.memory != MemRule::RegisterOnly && legal_address(mem)
            }
            (_, _) if slot.field == Field::Rm && row.memory == MemRule::MemoryOnly => false,
            (Operand::Vector(v), Class::Vector | Class::Half | Class::Xmm) => v.number() < registers,
            (Operand::Gpr(r), Class::Gpr32 | Class::Gpr64) => *r != Gpr::RSP,
            (Operand::Mask(_), Class::Mask) | (Operand::Imm(_), Class::Imm8) => true,
            _ => false,
        };
        if !fits {
            return Err(misfit(i));
        }
    }
    Ok(())
}

fn legal_address(mem: &Mem) -> bool {
    match mem {
        Mem::Base { index: Some(index), .. } => index.register != Gpr::RSP && index.shift < 4,
        Mem::Base { index: None, .. } | Mem::Pool { .. } => true,
    }
}
