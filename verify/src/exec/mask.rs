//! Opmask instructions. An opmask is an integer; bits above an instruction's size become zero.

use crate::domain::{Domain, IntOp, Outcome};
use crate::machine::Machine;
use crate::program::{Decoded, Operand};

/// All ones in `size` bytes.
fn ones(size: u32) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

impl<D: Domain> Machine<'_, D> {
    /// Between opmasks, general-purpose registers and memory.
    pub(super) fn mask_move(&mut self, insn: &Decoded, size: u32) -> Outcome<()> {
        let value = self.read_int(insn, 1)?;
        let value = self.domain.int_low(size, &value)?;
        self.write_int(insn, 0, value)
    }

    pub(super) fn mask_op(&mut self, insn: &Decoded, op: IntOp, size: u32) -> Outcome<()> {
        // `kxor k, k, k` and `kandn k, k, k` are zero whatever the register held.
        let value = if matches!(op, IntOp::Xor | IntOp::Andn) && insn.operands[1] == insn.operands[2] {
            self.domain.int(0)
        } else {
            let a = self.read_int(insn, 1)?;
            let b = self.read_int(insn, 2)?;
            self.domain.int_op(op, size, &a, &b)?.0
        };
        self.write_int(insn, 0, value)
    }

    pub(super) fn mask_xnor(&mut self, insn: &Decoded, size: u32) -> Outcome<()> {
        let ones = self.domain.int(ones(size));
        // `kxnor k, k, k` is all ones whatever the register held.
        let value = if insn.operands[1] == insn.operands[2] {
            ones
        } else {
            let a = self.read_int(insn, 1)?;
            let b = self.read_int(insn, 2)?;
            let (different, _) = self.domain.int_op(IntOp::Xor, size, &a, &b)?;
            self.domain.int_op(IntOp::Xor, size, &different, &ones)?.0
        };
        self.write_int(insn, 0, value)
    }

    pub(super) fn mask_not(&mut self, insn: &Decoded, size: u32) -> Outcome<()> {
        let a = self.read_int(insn, 1)?;
        let ones = self.domain.int(ones(size));
        let (value, _) = self.domain.int_op(IntOp::Xor, size, &a, &ones)?;
        self.write_int(insn, 0, value)
    }

    /// Unlike a scalar's, the count is not reduced: from the mask's width on, nothing is left.
    pub(super) fn mask_shift(&mut self, insn: &Decoded, op: IntOp, size: u32) -> Outcome<()> {
        let a = self.read_int(insn, 1)?;
        let value = match insn.operands[2] {
            Operand::Imm(count) if count >= u64::from(size * 8) => self.domain.int(0),
            _ => {
                let count = self.read_int(insn, 2)?;
                self.domain.int_op(op, size, &a, &count)?.0
            }
        };
        self.write_int(insn, 0, value)
    }

    /// ZF: `a | b` is zero. CF: it is all ones.
    pub(super) fn mask_or_test(&mut self, insn: &Decoded, size: u32) -> Outcome<()> {
        let a = self.read_int(insn, 0)?;
        let b = self.read_int(insn, 1)?;
        let (union, flags) = self.domain.int_op(IntOp::Or, size, &a, &b)?;
        let ones = self.domain.int(ones(size));
        let (_, against_ones) = self.domain.int_op(IntOp::Xor, size, &union, &ones)?;
        self.set_test_flags(flags.zf, against_ones.zf);
        Ok(())
    }

    /// ZF: `a & b` is zero. CF: `!a & b` is zero.
    pub(super) fn mask_test(&mut self, insn: &Decoded, size: u32) -> Outcome<()> {
        let a = self.read_int(insn, 0)?;
        let b = self.read_int(insn, 1)?;
        let (_, both) = self.domain.int_op(IntOp::And, size, &a, &b)?;
        let (_, second_only) = self.domain.int_op(IntOp::Andn, size, &a, &b)?;
        self.set_test_flags(both.zf, second_only.zf);
        Ok(())
    }
}
