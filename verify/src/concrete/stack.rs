//! The stack frame of a concrete run.

use crate::domain::Outcome;
use crate::fault::{Direction, FaultKind};
use crate::machine::Rules;
use crate::memory::Memory;

const RED_ZONE: u64 = 128;

/// What a function may use of the stack: from the stack pointer (or the red zone below it) up to the return address.
///
/// ```text
/// lowest ........ rsp ........ entry | return address | the caller's
///        [red zone][ accessible     )
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    rsp: u64,
    allowed: u64,
    red_zone: u64,
    /// From `Stack::ENTRY − bytes.len()` on; `None` is a byte that nothing has written.
    bytes: Vec<Option<u8>>,
}

impl Stack {
    /// rsp on entry, as after a call: 8 below a multiple of 16.
    pub(crate) const ENTRY: u64 = Memory::STACK.start + 0x0800_0000 - 8;

    pub(crate) fn new(rules: &Rules) -> Stack {
        let red_zone = if rules.red_zone { RED_ZONE } else { 0 };
        let len = (rules.stack_bytes + red_zone) as usize;
        Stack { rsp: Stack::ENTRY, allowed: rules.stack_bytes, red_zone, bytes: vec![None; len] }
    }

    /// Whether an address belongs to the stack: then what is wrong with an access is said in terms of the frame.
    pub(crate) fn is_at(&self, address: u64) -> bool {
        Memory::STACK.contains(&address)
    }

    pub(crate) fn read(&self, address: u64, out: &mut [u8]) -> Outcome<()> {
        let from = self.position(Direction::Read, address, out.len())?;
        for (i, out) in out.iter_mut().enumerate() {
            let byte = self.bytes[from + i];
            *out = byte.ok_or(FaultKind::UninitialisedStack { offset: self.offset(address + i as u64) })?;
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Outcome<()> {
        let from = self.position(Direction::Write, address, bytes.len())?;
        for (to, byte) in self.bytes[from..].iter_mut().zip(bytes) {
            *to = Some(*byte);
        }
        Ok(())
    }

    /// What the stack pointer has left behind is lost: a signal handler may overwrite it.
    pub(crate) fn moved(&mut self, rsp: u64) -> Outcome<()> {
        let lowest = Stack::ENTRY - self.allowed;
        if !(lowest..=Stack::ENTRY).contains(&rsp) || !rsp.is_multiple_of(8) {
            return Err(FaultKind::StackPointer { offset: self.offset(rsp), allowed: self.allowed });
        }
        let first_kept = (rsp - self.red_zone - self.bottom()) as usize;
        self.bytes[..first_kept].fill(None);
        self.rsp = rsp;
        Ok(())
    }

    fn bottom(&self) -> u64 {
        Stack::ENTRY - self.bytes.len() as u64
    }

    fn offset(&self, address: u64) -> i64 {
        address.wrapping_sub(Stack::ENTRY) as i64
    }

    fn position(&self, direction: Direction, address: u64, bytes: usize) -> Outcome<usize> {
        if address < self.rsp - self.red_zone || address + bytes as u64 > Stack::ENTRY {
            let offset = self.offset(address);
            return Err(FaultKind::OutsideFrame { direction, offset, bytes: bytes as u32 });
        }
        Ok((address - self.bottom()) as usize)
    }
}
