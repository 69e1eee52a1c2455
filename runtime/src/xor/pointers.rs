//! The array of source pointers that a kernel takes, made together with the length checks.

use core::mem::MaybeUninit;

use lanesmith_codegen::spec::MAX_SOURCES;

use super::error::{Error, Operand};
use super::{count, equal};

/// Arrays of up to this many pointers are kept small, so that a short call touches little stack.
const FEW: usize = 32;

type Slot = MaybeUninit<*const u8>;

/// Runs `f` with the pointers of `buffers`, after checking that there are 1 to 1024 and that each has `len` bytes.
#[inline(always)]
pub(super) fn with_pointers<R>(
    buffers: &[&[u8]],
    len: usize,
    name: fn(usize) -> Operand,
    expected: Operand,
    f: impl FnOnce(&[*const u8]) -> R,
) -> Result<R, Error> {
    count(buffers.len())?;
    if buffers.len() <= FEW {
        let mut array = [const { Slot::uninit() }; FEW];
        gather(&mut array, buffers, len, name, expected).map(f)
    } else {
        let mut array = [const { Slot::uninit() }; MAX_SOURCES];
        gather(&mut array, buffers, len, name, expected).map(f)
    }
}

#[inline(always)]
fn gather<'a>(
    array: &'a mut [Slot],
    buffers: &[&[u8]],
    len: usize,
    name: fn(usize) -> Operand,
    expected: Operand,
) -> Result<&'a [*const u8], Error> {
    let slots = &mut array[..buffers.len()];
    for (i, (slot, buffer)) in slots.iter_mut().zip(buffers).enumerate() {
        equal(name(i), buffer.len(), expected, len)?;
        slot.write(buffer.as_ptr());
    }
    // SAFETY: the loop has written every element of `slots`, which has as many as `buffers`.
    Ok(unsafe { &*(&raw const *slots as *const [*const u8]) })
}
