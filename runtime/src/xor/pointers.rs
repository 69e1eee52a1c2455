//! The array of source pointers that a kernel takes, made together with the length checks.

use core::mem::MaybeUninit;

use lanesmith_codegen::spec::MAX_SOURCES;

use super::error::{Error, Operand};
use super::{count, equal};

/// Arrays of up to this many pointers are kept small, so that a short call touches little stack.
pub(super) const FEW: usize = 32;

pub(super) type Slot = MaybeUninit<*const u8>;

/// Runs `f` with the pointers of `buffers`, after checking that there are 1 to 1024 and that each has `len` bytes.
pub(super) fn with_pointers<R>(
    buffers: &[&[u8]],
    len: usize,
    name: fn(usize) -> Operand,
    expected: Operand,
    f: impl FnOnce(&[*const u8]) -> R,
) -> Result<R, Error> {
    count(buffers.len())?;
    let mut array = [const { Slot::uninit() }; MAX_SOURCES];
    let mut checked = 0;
    for (slot, buffer) in array.iter_mut().zip(buffers) {
        equal(name(checked), buffer.len(), expected, len)?;
        slot.write(buffer.as_ptr());
        checked += 1;
    }
    // SAFETY: the loop has written the first `checked` elements.
    Ok(f(unsafe { core::slice::from_raw_parts(array.as_ptr().cast(), checked) }))
}

/// The pointers of at most [`FEW`] buffers if each has `len` bytes; otherwise nothing, and the caller finds out why.
#[inline(always)]
pub(super) fn gather_few(array: &mut [Slot; FEW], buffers: &[&[u8]], len: usize) -> bool {
    // No early exit: the loop has no branch that depends on data, and unrolls where the count is known.
    let mut unequal = buffers.is_empty() | (buffers.len() > FEW);
    for (slot, buffer) in array.iter_mut().zip(buffers) {
        unequal |= buffer.len() != len;
        slot.write(buffer.as_ptr());
    }
    !unequal
}
