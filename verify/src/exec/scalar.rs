//! Scalar instructions and the flags.

use crate::domain::{BoolOp, Domain, Flags, IntOp, Outcome};
use crate::fault::FaultKind;
use crate::machine::Machine;
use crate::program::{Decoded, Operand};
use crate::table::{Cond, CondKind};

impl<D: Domain> Machine<'_, D> {
    /// `mov` and `movzx`. A narrow source must be cut to its size before it is written to a wider register.
    pub(super) fn mov(&mut self, insn: &Decoded) -> Outcome<()> {
        let mut value = self.read_int(insn, 1)?;
        if !matches!(insn.operands[1], Operand::Imm(_)) {
            let size = self.operand_size(insn, 1);
            if size < 8 {
                value = self.domain.int_low(size, &value)?;
            }
        }
        self.write_int(insn, 0, value)
    }

    pub(super) fn lea(&mut self, insn: &Decoded) -> Outcome<()> {
        let address = self.address(insn)?;
        self.write_int(insn, 0, address)
    }

    pub(super) fn arith(&mut self, insn: &Decoded, op: IntOp, keeps: bool) -> Outcome<()> {
        let size = self.operand_size(insn, 0);
        // `xor r, r` and `sub r, r` are zero whatever the register held.
        let idiom = keeps
            && matches!(op, IntOp::Xor | IntOp::Sub)
            && matches!(insn.operands[0], Operand::Gpr { .. })
            && insn.operands[0] == insn.operands[1];
        let (a, b) = if idiom {
            (self.domain.int(0), self.domain.int(0))
        } else {
            (self.read_int(insn, 0)?, self.read_int(insn, 1)?)
        };
        let (result, flags) = self.domain.int_op(op, size, &a, &b)?;
        if keeps {
            self.write_int(insn, 0, result)?;
        }
        self.set_flags(flags);
        Ok(())
    }

    pub(super) fn step_by_one(&mut self, insn: &Decoded, op: IntOp) -> Outcome<()> {
        let size = self.operand_size(insn, 0);
        let a = self.read_int(insn, 0)?;
        let one = self.domain.int(1);
        let (result, flags) = self.domain.int_op(op, size, &a, &one)?;
        self.write_int(insn, 0, result)?;
        let carry = self.flags.cf.clone();
        self.set_flags(flags);
        self.flags.cf = carry;
        Ok(())
    }

    pub(super) fn neg(&mut self, insn: &Decoded) -> Outcome<()> {
        let size = self.operand_size(insn, 0);
        let a = self.read_int(insn, 0)?;
        let zero = self.domain.int(0);
        let (result, flags) = self.domain.int_op(IntOp::Sub, size, &zero, &a)?;
        self.write_int(insn, 0, result)?;
        self.set_flags(flags);
        Ok(())
    }

    pub(super) fn not(&mut self, insn: &Decoded) -> Outcome<()> {
        let size = self.operand_size(insn, 0);
        let a = self.read_int(insn, 0)?;
        let ones = self.domain.int(u64::MAX);
        let (result, _) = self.domain.int_op(IntOp::Xor, size, &a, &ones)?;
        self.write_int(insn, 0, result)
    }

    /// A count of zero leaves the flags alone; OF is defined for a count of one only; CF is not where `shl` or `shr` move
    /// out as many bits as there are, or more. A count that the domain does not know leaves all flags undefined.
    pub(super) fn shift(&mut self, insn: &Decoded, op: IntOp) -> Outcome<()> {
        let size = self.operand_size(insn, 0);
        let a = self.read_int(insn, 0)?;
        let b = self.read_int(insn, 1)?;
        let count = self.domain.known(&b).map(|count| count & if size == 8 { 63 } else { 31 });
        if count == Some(0) {
            // A 32-bit destination still loses its upper half.
            return self.write_int(insn, 0, a);
        }
        let (result, flags) = self.domain.int_op(op, size, &a, &b)?;
        self.write_int(insn, 0, result)?;
        self.set_flags(flags);
        if count != Some(1) {
            self.flags.of = None;
        }
        if count.is_none_or(|count| op != IntOp::Sar && count >= u64::from(size * 8)) {
            self.flags.cf = None;
        }
        if count.is_none() {
            (self.flags.pf, self.flags.zf, self.flags.sf) = (None, None, None);
        }
        Ok(())
    }

    pub(super) fn shift_without_flags(&mut self, insn: &Decoded, op: IntOp) -> Outcome<()> {
        let size = self.operand_size(insn, 0);
        let a = self.read_int(insn, 1)?;
        let b = self.read_int(insn, 2)?;
        let (result, _) = self.domain.int_op(op, size, &a, &b)?;
        self.write_int(insn, 0, result)
    }

    /// `andn`, `bzhi`, `blsr`: PF is undefined.
    pub(super) fn bits(&mut self, insn: &Decoded, op: IntOp, first: usize, second: usize) -> Outcome<()> {
        let size = self.operand_size(insn, 0);
        let a = self.read_int(insn, first)?;
        let b = if second == first { a.clone() } else { self.read_int(insn, second)? };
        let (result, flags) = self.domain.int_op(op, size, &a, &b)?;
        self.write_int(insn, 0, result)?;
        self.set_flags(flags);
        self.flags.pf = None;
        Ok(())
    }

    pub(super) fn set_cond(&mut self, insn: &Decoded, cond: Cond) -> Outcome<()> {
        let condition = self.condition(cond)?;
        let (one, zero) = (self.domain.int(1), self.domain.int(0));
        let value = self.domain.select(&condition, &one, &zero)?;
        self.write_int(insn, 0, value)
    }

    /// The source is read whatever the condition, and a 32-bit destination always loses its upper half.
    pub(super) fn move_cond(&mut self, insn: &Decoded, cond: Cond) -> Outcome<()> {
        let condition = self.condition(cond)?;
        let no = self.read_int(insn, 0)?;
        let yes = self.read_int(insn, 1)?;
        let value = self.domain.select(&condition, &yes, &no)?;
        self.write_int(insn, 0, value)
    }

    pub(super) fn set_flags(&mut self, flags: Flags<D::Bool>) {
        let Flags { cf, pf, zf, sf, of } = flags;
        self.flags = Flags { cf: Some(cf), pf: Some(pf), zf: Some(zf), sf: Some(sf), of: Some(of) };
    }

    /// Sets ZF and CF and clears the others, as instructions that test vectors and opmasks do.
    pub(super) fn set_test_flags(&mut self, zf: D::Bool, cf: D::Bool) {
        let no = self.domain.bool(false);
        self.set_flags(Flags { cf, pf: no.clone(), zf, sf: no.clone(), of: no });
    }

    /// A condition on the flags; an error where a flag that it depends on is undefined.
    pub(super) fn condition(&mut self, cond: Cond) -> Outcome<D::Bool> {
        fn defined<B: Clone>(flag: &Option<B>, name: &'static str) -> Outcome<B> {
            flag.clone().ok_or(FaultKind::UndefinedFlag(name))
        }
        let flags = &self.flags;
        let cf = || defined(&flags.cf, "CF");
        let zf = || defined(&flags.zf, "ZF");
        let sf = || defined(&flags.sf, "SF");
        let of = || defined(&flags.of, "OF");
        let condition = match cond.kind {
            CondKind::Overflow => of()?,
            CondKind::Below => cf()?,
            CondKind::Equal => zf()?,
            CondKind::Sign => sf()?,
            CondKind::Parity => defined(&flags.pf, "PF")?,
            CondKind::BelowOrEqual => self.domain.bool_op(BoolOp::Or, &cf()?, &zf()?)?,
            CondKind::Less => self.domain.bool_op(BoolOp::Xor, &sf()?, &of()?)?,
            CondKind::LessOrEqual => {
                let less = self.domain.bool_op(BoolOp::Xor, &sf()?, &of()?)?;
                self.domain.bool_op(BoolOp::Or, &less, &zf()?)?
            }
        };
        if cond.negated { self.domain.bool_not(&condition) } else { Ok(condition) }
    }
}
