//! The array of source pointers that a kernel takes, made together with the length checks.

use core::mem::MaybeUninit;

use lanesmith_codegen::spec::MAX_SOURCES;

use super::error::{Error, Operand};
use super::{count, equal};

/// Arrays of up to this many pointers are kept small, so that a short call touches little stack.
pub(super) const FEW: usize = 32;

pub(super) type Slot = MaybeUninit<*const u8>;

/// Runs `f` with the pointers of `buffers`, after checking that there are 1 to 1024 and that each has `len` bytes.
#[inline(always)]
pub(super) fn with_pointers<R>(
    buffers: &[&[u8]],
    len: usize,
    name: fn(usize) -> Operand,
    expected: Operand,
    f: impl FnOnce(&[*const u8]) -> R,
) -> Result<R, Error> {
    let mut array = [const { Slot::uninit() }; FEW];
    match few(&mut array, buffers, len) {
        Some(pointers) => Ok(f(pointers)),
        None => with_many(buffers, len, name, expected, f),
    }
}

/// The same for any number, and what tells each error.
#[inline(never)]
fn with_many<R>(
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

/// The pointers of 1 to [`FEW`] buffers if each has `len` bytes; otherwise nothing, and the caller finds out why.
#[inline(always)]
pub(super) fn few<'a>(array: &'a mut [Slot; FEW], buffers: &[&[u8]], len: usize) -> Option<&'a [*const u8]> {
    /// One arm per count, so that each count is straight-line code. The exit of a loop with more than five turns is
    /// mispredicted at every call on Zen 4: 50 cycles, more than a short kernel takes.
    macro_rules! straight {
        ($($n:literal)+) => {
            match buffers.len() {
                $($n => buffers.first_chunk::<$n>().is_some_and(|buffers| write_all(array, buffers, len)),)+
                1..=FEW => write_all(array, buffers, len),
                _ => false,
            }
        };
    }
    let equal = straight!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
    // SAFETY: `write_all` has written as many elements as there are buffers.
    equal.then(|| unsafe { core::slice::from_raw_parts(array.as_ptr().cast(), buffers.len()) })
}

#[inline(always)]
fn write_all<'a>(array: &mut [Slot; FEW], buffers: impl IntoIterator<Item = &'a &'a [u8]>, len: usize) -> bool {
    let mut equal = true;
    for (slot, buffer) in array.iter_mut().zip(buffers) {
        equal &= buffer.len() == len;
        slot.write(buffer.as_ptr());
    }
    equal
}
