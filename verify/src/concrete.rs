//! The domain of bytes: a register holds its contents, a flag is true or false.

mod stack;
mod values;

pub(crate) use stack::Stack;

use crate::domain::{BoolOp, Domain, Flags, IntOp, Lanes, Outcome, Span, Test, VecOp};
use crate::fault::{Direction, FaultKind};
use crate::memory::Memory;
use crate::program::Program;

/// The value domain of a run on given bytes.
#[derive(Debug)]
pub struct Concrete<'a> {
    memory: &'a mut Memory,
    /// Address and contents of the constants.
    pool: (u64, &'a [u8]),
    /// `None`: there is no stack, and rsp is a register like any other.
    stack: Option<Stack>,
}

impl<'a> Concrete<'a> {
    pub(crate) fn new(memory: &'a mut Memory, program: &'a Program, stack: Option<Stack>) -> Concrete<'a> {
        Concrete { memory, pool: program.pool(), stack }
    }

    /// Copies memory to `out`.
    fn read(&mut self, address: u64, out: &mut [u8]) -> Outcome<()> {
        if let Some(found) = self.memory.access(Direction::Read, address, out.len()) {
            out.copy_from_slice(found?);
            return Ok(());
        }
        if let Some(stack) = self.stack.as_ref().filter(|stack| stack.is_at(address)) {
            return stack.read(address, out);
        }
        let (start, pool) = self.pool;
        let from = address.checked_sub(start).and_then(|from| usize::try_from(from).ok());
        match from.and_then(|from| pool.get(from..from.checked_add(out.len())?)) {
            Some(constant) => out.copy_from_slice(constant),
            None => return Err(self.memory.out_of_bounds(Direction::Read, address, out.len())),
        }
        Ok(())
    }

    /// Copies `bytes` to memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Outcome<()> {
        if let Some(found) = self.memory.access(Direction::Write, address, bytes.len()) {
            found?.copy_from_slice(bytes);
            return Ok(());
        }
        match self.stack.as_mut().filter(|stack| stack.is_at(address)) {
            Some(stack) => stack.write(address, bytes),
            None => Err(self.memory.out_of_bounds(Direction::Write, address, bytes.len())),
        }
    }

    fn check_alignment(&self, address: u64, span: Span) -> Outcome<()> {
        if address.is_multiple_of(u64::from(span.align)) {
            Ok(())
        } else {
            Err(FaultKind::Misaligned { address, align: span.align })
        }
    }
}

/// The runs of bytes of an access of `bytes` that take part, as (first, end).
fn runs(bytes: u32, lanes: Option<Lanes<'_, u64>>) -> impl Iterator<Item = (usize, usize)> {
    let (size, elements) = lanes.map_or((bytes, 1), |lanes| (lanes.size, bytes / lanes.size));
    let all = u64::MAX >> (64 - elements);
    let mut rest = lanes.map_or(1, |lanes| *lanes.bits & all);
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let first = rest.trailing_zeros();
        let count = (rest >> first).trailing_ones();
        rest &= !((u64::MAX >> (64 - count)) << first);
        Some(((first * size) as usize, ((first + count) * size) as usize))
    })
}

impl Domain for Concrete<'_> {
    type Int = u64;
    type Vec = [u8; 64];
    type Bool = bool;

    fn int(&mut self, value: u64) -> u64 {
        value
    }

    fn known(&self, value: &u64) -> Option<u64> {
        Some(*value)
    }

    fn same(&self, a: &u64, b: &u64) -> bool {
        a == b
    }

    fn int_op(&mut self, op: IntOp, size: u32, a: &u64, b: &u64) -> Outcome<(u64, Flags<bool>)> {
        Ok(values::int_op(op, size, *a, *b))
    }

    fn int_low(&mut self, size: u32, value: &u64) -> Outcome<u64> {
        Ok(value & values::ones(size))
    }

    fn int_insert(&mut self, size: u32, old: &u64, new: &u64) -> Outcome<u64> {
        let low = values::ones(size);
        Ok(old & !low | new & low)
    }

    fn address(&mut self, base: Option<&u64>, index: Option<(&u64, u32)>, disp: u64) -> Outcome<u64> {
        let base = base.copied().unwrap_or(0);
        let index = index.map_or(0, |(index, scale)| index.wrapping_mul(u64::from(scale)));
        Ok(base.wrapping_add(index).wrapping_add(disp))
    }

    fn bool(&mut self, value: bool) -> bool {
        value
    }

    fn bool_op(&mut self, op: BoolOp, a: &bool, b: &bool) -> Outcome<bool> {
        Ok(match op {
            BoolOp::And => a & b,
            BoolOp::Or => a | b,
            BoolOp::Xor => a ^ b,
        })
    }

    fn bool_not(&mut self, a: &bool) -> Outcome<bool> {
        Ok(!a)
    }

    fn select(&mut self, condition: &bool, yes: &u64, no: &u64) -> Outcome<u64> {
        Ok(if *condition { *yes } else { *no })
    }

    fn decide(&mut self, condition: &bool) -> Outcome<bool> {
        Ok(*condition)
    }

    fn vec(&mut self, bytes: &[u8; 64]) -> [u8; 64] {
        *bytes
    }

    fn vec_op(&mut self, op: VecOp, width: u32, args: &[&[u8; 64]]) -> Outcome<[u8; 64]> {
        Ok(values::vec_op(op, width, args))
    }

    fn vec_low(&mut self, width: u32, value: &[u8; 64]) -> Outcome<[u8; 64]> {
        Ok(values::low(width, *value))
    }

    fn vec_insert(&mut self, width: u32, old: &[u8; 64], new: &[u8; 64]) -> Outcome<[u8; 64]> {
        let width = width as usize;
        let mut out = *old;
        out[..width].copy_from_slice(&new[..width]);
        Ok(out)
    }

    fn blend(&mut self, width: u32, lanes: Lanes<'_, u64>, new: &[u8; 64], old: &[u8; 64]) -> Outcome<[u8; 64]> {
        let mut out = values::low(width, *old);
        for (from, to) in runs(width, Some(lanes)) {
            out[from..to].copy_from_slice(&new[from..to]);
        }
        Ok(out)
    }

    fn broadcast(&mut self, width: u32, size: u32, value: &u64) -> Outcome<[u8; 64]> {
        let mut out = [0; 64];
        for element in out[..width as usize].chunks_exact_mut(size as usize) {
            element.copy_from_slice(&value.to_le_bytes()[..size as usize]);
        }
        Ok(out)
    }

    fn int_to_vec(&mut self, size: u32, value: &u64) -> Outcome<[u8; 64]> {
        let mut out = [0; 64];
        out[..size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
        Ok(out)
    }

    fn vec_to_int(&mut self, size: u32, value: &[u8; 64]) -> Outcome<u64> {
        let mut bytes = [0; 8];
        bytes[..size as usize].copy_from_slice(&value[..size as usize]);
        Ok(u64::from_le_bytes(bytes))
    }

    fn vec_bits(&mut self, test: Test, width: u32, size: u32, value: &[u8; 64]) -> Outcome<u64> {
        let mut bits = 0;
        for (i, element) in value[..width as usize].chunks_exact(size as usize).enumerate() {
            let set = match test {
                Test::Zero => element.iter().all(|&b| b == 0),
                Test::NonZero => element.iter().any(|&b| b != 0),
                Test::Sign => element[element.len() - 1] >> 7 != 0,
            };
            bits |= u64::from(set) << i;
        }
        Ok(bits)
    }

    fn vec_is_zero(&mut self, width: u32, value: &[u8; 64]) -> Outcome<bool> {
        Ok(value[..width as usize].iter().all(|&b| b == 0))
    }

    fn load_int(&mut self, at: &u64, span: Span) -> Outcome<u64> {
        self.check_alignment(*at, span)?;
        let mut bytes = [0; 8];
        self.read(*at, &mut bytes[..span.bytes as usize])?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn store_int(&mut self, at: &u64, span: Span, value: &u64) -> Outcome<()> {
        self.check_alignment(*at, span)?;
        self.write(*at, &value.to_le_bytes()[..span.bytes as usize])
    }

    fn load_vec(&mut self, at: &u64, span: Span, lanes: Option<Lanes<'_, u64>>) -> Outcome<[u8; 64]> {
        self.check_alignment(*at, span)?;
        let mut out = [0; 64];
        for (from, to) in runs(span.bytes, lanes) {
            self.read(at.wrapping_add(from as u64), &mut out[from..to])?;
        }
        Ok(out)
    }

    fn store_vec(&mut self, at: &u64, span: Span, lanes: Option<Lanes<'_, u64>>, value: &[u8; 64]) -> Outcome<()> {
        self.check_alignment(*at, span)?;
        for (from, to) in runs(span.bytes, lanes) {
            self.write(at.wrapping_add(from as u64), &value[from..to])?;
        }
        Ok(())
    }

    fn stack_moved(&mut self, rsp: &u64) -> Outcome<()> {
        self.stack.as_mut().map_or(Ok(()), |stack| stack.moved(*rsp))
    }
}
