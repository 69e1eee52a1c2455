//! What each row of the table does, in terms of the domain's primitives.
//!
//! Shared here: how operands are read and written, and so everything about upper bits, masks, alignment and definedness.

mod control;
mod mask;
mod scalar;
mod vector;

use crate::domain::{Domain, Lanes, Outcome, Span};
use crate::fault::FaultKind;
use crate::machine::{Flow, GPR_NAMES, Machine, RSP, Tracked};
use crate::program::{Decoded, Operand};
use crate::table::Op;

impl<D: Domain> Machine<'_, D> {
    /// One instruction.
    pub(crate) fn execute(&mut self, insn: &Decoded) -> Outcome<Flow> {
        match insn.op {
            None if insn.insn.is_invalid() => return Err(FaultKind::Invalid),
            None => return Err(FaultKind::Unsupported),
            Some(Op::Move) => self.mov(insn)?,
            Some(Op::Lea) => self.lea(insn)?,
            Some(Op::Arith { op, keeps }) => self.arith(insn, op, keeps)?,
            Some(Op::Step(op)) => self.step_by_one(insn, op)?,
            Some(Op::Neg) => self.neg(insn)?,
            Some(Op::Not) => self.not(insn)?,
            Some(Op::Shift(op)) => self.shift(insn, op)?,
            Some(Op::ShiftX(op)) => self.shift_without_flags(insn, op)?,
            Some(Op::Bits { op, first, second }) => self.bits(insn, op, first, second)?,
            Some(Op::SetCond(cond)) => self.set_cond(insn, cond)?,
            Some(Op::MoveCond(cond)) => self.move_cond(insn, cond)?,

            Some(Op::Jump) => return Ok(Flow::At(insn.target)),
            Some(Op::JumpCond(cond)) => return self.jump_cond(insn, cond),
            Some(Op::Push) => self.push(insn)?,
            Some(Op::Pop) => self.pop(insn)?,
            Some(Op::Return) => return Ok(Flow::Returned),
            Some(Op::Nothing) => {}

            Some(Op::VecMove { aligned, element }) => self.vec_move(insn, aligned, element)?,
            Some(Op::Lane(size)) => self.lane(insn, size)?,
            Some(Op::Vec2 { op, element }) => self.vec2(insn, op, element)?,
            Some(Op::ByteShift { right }) => self.byte_shift(insn, right)?,
            Some(Op::ShiftBits { shift, element }) => self.shift_bits(insn, shift, element)?,
            Some(Op::ShuffleWords { high }) => self.shuffle_words(insn, high)?,
            Some(Op::ZeroExtend { from }) => self.zero_extend(insn, from)?,
            Some(Op::Ternary { element }) => self.ternary(insn, element)?,
            Some(Op::VecTest) => self.vec_test(insn)?,
            Some(Op::Compare { op, test, element }) => self.compare(insn, op, test, element)?,
            Some(Op::MoveMask { element }) => self.move_mask(insn, element)?,
            Some(Op::ZeroUpper) => self.zero_upper()?,

            Some(Op::MaskMove(size)) => self.mask_move(insn, size)?,
            Some(Op::MaskLogic { op, size }) => self.mask_op(insn, op, size)?,
            Some(Op::MaskXnor(size)) => self.mask_xnor(insn, size)?,
            Some(Op::MaskNot(size)) => self.mask_not(insn, size)?,
            Some(Op::MaskShift { op, size }) => self.mask_shift(insn, op, size)?,
            Some(Op::MaskOrTest(size)) => self.mask_or_test(insn, size)?,
            Some(Op::MaskTest(size)) => self.mask_test(insn, size)?,
        }
        Ok(Flow::At(insn.next))
    }

    /// A general-purpose register of which at least `size` bytes are defined. The bytes above are whatever they are: an
    /// operation of that size does not look at them.
    fn read_gpr(&self, index: u8, size: u32) -> Outcome<D::Int> {
        let register = &self.gprs[index as usize];
        if register.defined < size {
            let name = GPR_NAMES[index as usize];
            let part = if size < 8 { format!("the low {size} bytes of {name}") } else { name.to_string() };
            return Err(FaultKind::UndefinedRegister(part));
        }
        Ok(register.value.clone())
    }

    /// 8 and 4 bytes define the whole register, for the upper half becomes zero; 2 and 1 leave the rest as it was.
    fn write_gpr(&mut self, index: u8, size: u32, value: D::Int) -> Outcome<()> {
        let old = &self.gprs[index as usize];
        let (value, defined) = match size {
            8 => (value, 8),
            4 => (self.domain.int_low(4, &value)?, 8),
            _ => (self.domain.int_insert(size, &old.value, &value)?, old.defined.max(size)),
        };
        if index as usize == RSP {
            self.domain.stack_moved(&value)?;
        }
        self.gprs[index as usize] = Tracked { value, defined };
        Ok(())
    }

    /// The address of the memory operand.
    fn address(&mut self, insn: &Decoded) -> Outcome<D::Int> {
        let memory = &insn.memory;
        let base = memory.base.map(|r| self.read_gpr(r, 8)).transpose()?;
        let index = memory.index.map(|r| self.read_gpr(r, 8)).transpose()?;
        self.domain.address(base.as_ref(), index.as_ref().map(|i| (i, memory.scale)), memory.disp)
    }

    /// A scalar operand's size: of the register, or of the access.
    fn operand_size(&self, insn: &Decoded, i: usize) -> u32 {
        match insn.operands[i] {
            Operand::Gpr { size, .. } => size,
            _ => insn.memory.size,
        }
    }

    /// A scalar operand. Bits above its size are unspecified.
    fn read_int(&mut self, insn: &Decoded, i: usize) -> Outcome<D::Int> {
        match insn.operands[i] {
            Operand::Gpr { index, size } => self.read_gpr(index, size),
            Operand::Imm(value) => Ok(self.domain.int(value)),
            Operand::Mask(index) => self.read_mask(index),
            Operand::Memory => {
                let at = self.address(insn)?;
                self.load_int(&at, insn.memory.size)
            }
            Operand::None | Operand::Vec { .. } => Err(FaultKind::Unsupported),
        }
    }

    /// Writes a scalar operand.
    fn write_int(&mut self, insn: &Decoded, i: usize, value: D::Int) -> Outcome<()> {
        match insn.operands[i] {
            Operand::Gpr { index, size } => self.write_gpr(index, size, value),
            Operand::Mask(index) => {
                self.masks[index as usize] = Some(value);
                Ok(())
            }
            Operand::Memory => {
                let at = self.address(insn)?;
                self.store_int(&at, insn.memory.size, &value)
            }
            _ => Err(FaultKind::Unsupported),
        }
    }

    fn load_int(&mut self, at: &D::Int, bytes: u32) -> Outcome<D::Int> {
        self.loads += 1;
        self.domain.load_int(at, Span { bytes, align: 1 })
    }

    fn store_int(&mut self, at: &D::Int, bytes: u32, value: &D::Int) -> Outcome<()> {
        self.stores += 1;
        self.domain.store_int(at, Span { bytes, align: 1 }, value)
    }

    fn load_vec(&mut self, at: &D::Int, span: Span, lanes: Option<Lanes<'_, D::Int>>) -> Outcome<D::Vec> {
        self.loads += 1;
        self.domain.load_vec(at, span, lanes)
    }

    fn store_vec(&mut self, at: &D::Int, span: Span, lanes: Option<Lanes<'_, D::Int>>, value: &D::Vec) -> Outcome<()> {
        self.stores += 1;
        self.domain.store_vec(at, span, lanes, value)
    }

    fn read_mask(&self, index: u8) -> Outcome<D::Int> {
        self.masks[index as usize].clone().ok_or_else(|| FaultKind::UndefinedRegister(format!("k{index}")))
    }

    /// The opmask of an EVEX instruction, if it has one.
    fn opmask(&self, insn: &Decoded) -> Outcome<Option<D::Int>> {
        insn.mask.map(|k| self.read_mask(k)).transpose()
    }
}
