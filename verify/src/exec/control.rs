//! Branches and the stack.

use crate::domain::{Domain, Outcome};
use crate::machine::{Flow, Machine, RSP};
use crate::program::Decoded;
use crate::table::Cond;

impl<D: Domain> Machine<'_, D> {
    pub(super) fn jump_cond(&mut self, insn: &Decoded, cond: Cond) -> Outcome<Flow> {
        let condition = self.condition(cond)?;
        Ok(Flow::At(if self.domain.decide(&condition)? { insn.target } else { insn.next }))
    }

    /// The value is read before the stack pointer moves: `push rsp` pushes the old one.
    pub(super) fn push(&mut self, insn: &Decoded) -> Outcome<()> {
        let value = self.read_int(insn, 0)?;
        let rsp = self.read_gpr(RSP as u8, 8)?;
        let top = self.domain.address(Some(&rsp), None, 8u64.wrapping_neg())?;
        self.write_gpr(RSP as u8, 8, top.clone())?;
        self.store_int(&top, 8, &value)
    }

    /// The stack pointer moves before the destination is written: `pop rsp` keeps what was loaded.
    pub(super) fn pop(&mut self, insn: &Decoded) -> Outcome<()> {
        let rsp = self.read_gpr(RSP as u8, 8)?;
        let value = self.load_int(&rsp, 8)?;
        let above = self.domain.address(Some(&rsp), None, 8)?;
        self.write_gpr(RSP as u8, 8, above)?;
        self.write_int(insn, 0, value)
    }
}
