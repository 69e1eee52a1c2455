//! Vector instructions of all three encodings.

use crate::domain::{Domain, IntOp, Lanes, Outcome, Shift, Span, Test, VecOp};
use crate::fault::FaultKind;
use crate::machine::{Machine, Tracked};
use crate::program::{Decoded, Operand};

/// Bytes of an xmm register, which legacy instructions write and `vzeroupper` keeps.
const XMM: u32 = 16;

impl<D: Domain> Machine<'_, D> {
    /// A vector register of which at least `width` bytes are defined.
    fn read_vec_register(&self, index: u8, width: u32) -> Outcome<D::Vec> {
        let register = &self.vecs[index as usize];
        if register.defined < width {
            let letter = match width {
                0..=16 => 'x',
                17..=32 => 'y',
                _ => 'z',
            };
            return Err(FaultKind::UndefinedRegister(format!("{letter}mm{index}")));
        }
        Ok(register.value.clone())
    }

    /// A vector operand. In memory, only elements that the opmask selects are accessed, and one element for a broadcast.
    fn read_vec(&mut self, insn: &Decoded, i: usize, width: u32, element: u32) -> Outcome<D::Vec> {
        let mask = if insn.operands[i] == Operand::Memory { self.opmask(insn)? } else { None };
        self.read_vec_under(insn, i, width, element, mask)
    }

    /// Like [`Machine::read_vec`], for instructions whose result elements depend on other elements of the source: memory
    /// is accessed whole, whatever the opmask selects.
    fn read_vec_whole(&mut self, insn: &Decoded, i: usize, width: u32, element: u32) -> Outcome<D::Vec> {
        self.read_vec_under(insn, i, width, element, None)
    }

    fn read_vec_under(
        &mut self,
        insn: &Decoded,
        i: usize,
        width: u32,
        element: u32,
        mask: Option<D::Int>,
    ) -> Outcome<D::Vec> {
        match insn.operands[i] {
            Operand::Vec { index, .. } => self.read_vec_register(index, width),
            Operand::Memory => {
                let at = self.address(insn)?;
                if !insn.broadcast {
                    // Legacy instructions fault on an operand that is not aligned, VEX and EVEX do not.
                    let align = if insn.legacy { width } else { 1 };
                    let lanes = mask.as_ref().map(|bits| Lanes { bits, size: element });
                    return self.load_vec(&at, Span { bytes: width, align }, lanes);
                }
                // A broadcast reads its element if any lane asks for it.
                let elements = u64::MAX >> (64 - width / element);
                if mask.and_then(|mask| self.domain.known(&mask)).is_some_and(|mask| mask & elements == 0) {
                    return Ok(self.domain.vec(&[0; 64]));
                }
                let value = self.load_int(&at, element)?;
                self.domain.broadcast(width, element, &value)
            }
            _ => Err(FaultKind::Unsupported),
        }
    }

    /// Writes operand 0 with a result that is zero above `width`: under the opmask, and with the encoding's upper bits.
    fn write_vec(&mut self, insn: &Decoded, width: u32, element: u32, result: D::Vec) -> Outcome<()> {
        let Operand::Vec { index, .. } = insn.operands[0] else { return Err(FaultKind::Unsupported) };
        let result = match self.opmask(insn)? {
            None => result,
            Some(bits) => {
                let old = if insn.zeroing { self.domain.vec(&[0; 64]) } else { self.read_vec_register(index, width)? };
                self.domain.blend(width, Lanes { bits: &bits, size: element }, &result, &old)?
            }
        };
        let register = &self.vecs[index as usize];
        self.vecs[index as usize] = if insn.legacy {
            let value = self.domain.vec_insert(XMM, &register.value, &result)?;
            Tracked { value, defined: register.defined.max(XMM) }
        } else {
            self.dirty_upper |= width > XMM && index < 16;
            Tracked { value: result, defined: 64 }
        };
        Ok(())
    }

    /// `mov…` of whole vectors: register or memory to register or memory.
    pub(super) fn vec_move(&mut self, insn: &Decoded, aligned: bool, element: u32) -> Outcome<()> {
        let ([Operand::Vec { width, .. }, ..] | [_, Operand::Vec { width, .. }, ..]) = insn.operands else {
            return Err(FaultKind::Unsupported);
        };
        let span = Span { bytes: width, align: if aligned { width } else { 1 } };
        if !insn.operands.contains(&Operand::Memory) {
            let value = self.read_vec(insn, 1, width, element)?;
            let value = self.domain.vec_low(width, &value)?;
            return self.write_vec(insn, width, element, value);
        }
        let mask = self.opmask(insn)?;
        let lanes = mask.as_ref().map(|bits| Lanes { bits, size: element });
        let at = self.address(insn)?;
        if insn.operands[0] == Operand::Memory {
            let value = self.read_vec(insn, 1, width, element)?;
            self.store_vec(&at, span, lanes, &value)
        } else {
            let value = self.load_vec(&at, span, lanes)?;
            self.write_vec(insn, width, element, value)
        }
    }

    /// `movd` and `movq`: the low lane of a vector from or to anywhere.
    pub(super) fn lane(&mut self, insn: &Decoded, size: u32) -> Outcome<()> {
        let span = Span { bytes: size, align: 1 };
        match (insn.operands[0], insn.operands[1]) {
            (Operand::Vec { .. }, Operand::Vec { index, .. }) => {
                let value = self.read_vec_register(index, XMM)?;
                let value = self.domain.vec_low(size, &value)?;
                self.write_vec(insn, XMM, size, value)
            }
            (Operand::Vec { .. }, Operand::Memory) => {
                let at = self.address(insn)?;
                let value = self.load_vec(&at, span, None)?;
                self.write_vec(insn, XMM, size, value)
            }
            (Operand::Vec { .. }, _) => {
                let value = self.read_int(insn, 1)?;
                let value = self.domain.int_to_vec(size, &value)?;
                self.write_vec(insn, XMM, size, value)
            }
            (Operand::Memory, Operand::Vec { index, .. }) => {
                let value = self.read_vec_register(index, XMM)?;
                let at = self.address(insn)?;
                self.store_vec(&at, span, None, &value)
            }
            (_, Operand::Vec { index, .. }) => {
                let value = self.read_vec_register(index, XMM)?;
                let value = self.domain.vec_to_int(size, &value)?;
                self.write_int(insn, 0, value)
            }
            _ => Err(FaultKind::Unsupported),
        }
    }

    /// The width of the first source, and the positions of two sources: a legacy destination is also the first source.
    fn sources(&self, insn: &Decoded) -> Outcome<(u32, usize, usize)> {
        let (first, second) = if insn.legacy { (0, 1) } else { (1, 2) };
        match insn.operands[first] {
            Operand::Vec { width, .. } => Ok((width, first, second)),
            _ => Err(FaultKind::Unsupported),
        }
    }

    /// `op` of two operands; where they are the same register and the result is the same whatever it holds, the register
    /// is not read.
    fn binary(
        &mut self,
        insn: &Decoded,
        op: VecOp,
        width: u32,
        element: u32,
        (first, second): (usize, usize),
    ) -> Outcome<D::Vec> {
        if insn.operands[first] == insn.operands[second] {
            let mut bytes = [0; 64];
            match op {
                VecOp::Xor | VecOp::Andn => return Ok(self.domain.vec(&bytes)),
                VecOp::CmpEq(_) => {
                    bytes[..width as usize].fill(0xff);
                    return Ok(self.domain.vec(&bytes));
                }
                _ => {}
            }
        }
        let a = self.read_vec(insn, first, width, element)?;
        let b = if matches!(op, VecOp::ShuffleBytes | VecOp::Interleave { .. }) {
            self.read_vec_whole(insn, second, width, element)?
        } else {
            self.read_vec(insn, second, width, element)?
        };
        self.domain.vec_op(op, width, &[&a, &b])
    }

    pub(super) fn vec2(&mut self, insn: &Decoded, op: VecOp, element: u32) -> Outcome<()> {
        let (width, first, second) = self.sources(insn)?;
        let result = self.binary(insn, op, width, element, (first, second))?;
        self.write_vec(insn, width, element, result)
    }

    pub(super) fn byte_shift(&mut self, insn: &Decoded, right: bool) -> Outcome<()> {
        let Operand::Vec { width, .. } = insn.operands[0] else { return Err(FaultKind::Unsupported) };
        let (source, count) = if insn.legacy { (0, 1) } else { (1, 2) };
        let Operand::Imm(count) = insn.operands[count] else { return Err(FaultKind::Unsupported) };
        let a = self.read_vec(insn, source, width, 1)?;
        let op = if right { VecOp::BytesRight(count as u8) } else { VecOp::BytesLeft(count as u8) };
        let result = self.domain.vec_op(op, width, &[&a])?;
        self.write_vec(insn, width, 1, result)
    }

    pub(super) fn shift_bits(&mut self, insn: &Decoded, shift: Shift, element: u32) -> Outcome<()> {
        let Operand::Vec { width, .. } = insn.operands[0] else { return Err(FaultKind::Unsupported) };
        let (source, count) = if insn.legacy { (0, 1) } else { (1, 2) };
        let Operand::Imm(count) = insn.operands[count] else { return Err(FaultKind::Unsupported) };
        let a = self.read_vec(insn, source, width, element)?;
        let result = self.domain.vec_op(VecOp::ShiftBits { shift, element, count: count as u8 }, width, &[&a])?;
        self.write_vec(insn, width, element, result)
    }

    pub(super) fn shuffle_words(&mut self, insn: &Decoded, high: bool) -> Outcome<()> {
        let (Operand::Vec { width, .. }, Operand::Imm(order)) = (insn.operands[0], insn.operands[2]) else {
            return Err(FaultKind::Unsupported);
        };
        let a = self.read_vec_whole(insn, 1, width, 2)?;
        let result = self.domain.vec_op(VecOp::ShuffleWords { high, order: order as u8 }, width, &[&a])?;
        self.write_vec(insn, width, 2, result)
    }

    /// The source has half the destination's width, and a lane of the opmask stands for one of its smaller elements.
    pub(super) fn zero_extend(&mut self, insn: &Decoded, from: u32) -> Outcome<()> {
        let Operand::Vec { width, .. } = insn.operands[0] else { return Err(FaultKind::Unsupported) };
        let a = self.read_vec(insn, 1, width / 2, from)?;
        let result = self.domain.vec_op(VecOp::ZeroExtend(from), width, &[&a])?;
        self.write_vec(insn, width, 2 * from, result)
    }

    /// An operand on which the immediate does not depend is not read (but in memory it is accessed): 0xFF makes all ones
    /// of an undefined register.
    pub(super) fn ternary(&mut self, insn: &Decoded, element: u32) -> Outcome<()> {
        let (Operand::Vec { width, .. }, Operand::Imm(imm)) = (insn.operands[0], insn.operands[3]) else {
            return Err(FaultKind::Unsupported);
        };
        let imm = imm as u8;
        // Index bit 2 is operand 0, bit 0 operand 2. Operand i matters if the halves of the table that differ in its bit do.
        let matters = |i: usize| {
            let (bit, low) = [(4, 0x0f), (2, 0x33), (1, 0x55)][i];
            (imm >> bit ^ imm) & low != 0
        };
        let mut sources = [None, None, None];
        for (i, source) in sources.iter_mut().enumerate() {
            *source = Some(if matters(i) || insn.operands[i] == Operand::Memory {
                self.read_vec(insn, i, width, element)?
            } else {
                self.domain.vec(&[0; 64])
            });
        }
        let [Some(a), Some(b), Some(c)] = &sources else { return Err(FaultKind::Unsupported) };
        let result = self.domain.vec_op(VecOp::Ternary(imm), width, &[a, b, c])?;
        self.write_vec(insn, width, element, result)
    }

    /// `ptest`: ZF: `a & b` is zero. CF: `!a & b` is zero.
    pub(super) fn vec_test(&mut self, insn: &Decoded) -> Outcome<()> {
        let Operand::Vec { width, .. } = insn.operands[0] else { return Err(FaultKind::Unsupported) };
        let a = self.read_vec(insn, 0, width, 1)?;
        let b = self.read_vec(insn, 1, width, 1)?;
        let both = self.domain.vec_op(VecOp::And, width, &[&a, &b])?;
        let second_only = self.domain.vec_op(VecOp::Andn, width, &[&a, &b])?;
        let zf = self.domain.vec_is_zero(width, &both)?;
        let cf = self.domain.vec_is_zero(width, &second_only)?;
        self.set_test_flags(zf, cf);
        Ok(())
    }

    /// Into an opmask; elements that the instruction's own opmask does not select give zero bits.
    pub(super) fn compare(&mut self, insn: &Decoded, op: VecOp, test: Test, element: u32) -> Outcome<()> {
        let Operand::Vec { width, .. } = insn.operands[1] else { return Err(FaultKind::Unsupported) };
        let value = self.binary(insn, op, width, element, (1, 2))?;
        let mut bits = self.domain.vec_bits(test, width, element, &value)?;
        if let Some(mask) = self.opmask(insn)? {
            bits = self.domain.int_op(IntOp::And, 8, &bits, &mask)?.0;
        }
        self.write_int(insn, 0, bits)
    }

    pub(super) fn move_mask(&mut self, insn: &Decoded, element: u32) -> Outcome<()> {
        let Operand::Vec { width, .. } = insn.operands[1] else { return Err(FaultKind::Unsupported) };
        let value = self.read_vec(insn, 1, width, element)?;
        let bits = self.domain.vec_bits(Test::Sign, width, element, &value)?;
        self.write_int(insn, 0, bits)
    }

    /// An undefined register stays undefined: only its upper bits are known to be zero.
    pub(super) fn zero_upper(&mut self) -> Outcome<()> {
        for register in &mut self.vecs[..16] {
            register.value = self.domain.vec_low(XMM, &register.value)?;
            if register.defined > 0 {
                register.defined = 64;
            }
        }
        self.dirty_upper = false;
        Ok(())
    }
}
