//! XOR parity of any number of sources: the safe API.
//!
//! Every function takes buffers of one length (any, zero too) at any alignment; sources may alias each other. The
//! first call for a source count compiles a kernel for exactly that count and this CPU; later calls find it by one
//! load. All checks are made before the first byte is written.
//!
//! Throughput is best when all buffers have the same offset within a 64-byte line, and when not all of more than 12
//! buffers start at the same offset within a page: such buffers compete for the same sets of the first-level cache.
//!
//! ```
//! # fn main() -> Result<(), lanesmith_runtime::xor::Error> {
//! use lanesmith_runtime::xor;
//! let (a, b, c) = ([1u8; 100], [2u8; 100], [4u8; 100]);
//! let mut p = [0u8; 100];
//! xor::parity(&mut p, &[&a, &b, &c])?;
//! assert_eq!(p, [7; 100]);
//!
//! // One source was lost: it is the parity of all the others.
//! let mut lost = [0u8; 100];
//! xor::parity(&mut lost, &[&a, &p, &c])?;
//! assert_eq!(lost, b);
//!
//! // A source changes: read-modify-write.
//! let new_b = [9u8; 100];
//! xor::update(&mut p, &b, &new_b)?;
//! assert!(xor::check(&[&a, &new_b, &c, &p])?);
//! # Ok(())
//! # }
//! ```

mod built_in;
mod cache;
mod error;
#[cfg(feature = "jit")]
mod kernel;
mod pointers;

use core::fmt;

use lanesmith_codegen::plan::xor::XorTuning;
use lanesmith_codegen::spec::{Destination, MAX_SOURCES};

pub use built_in::StaticKernel;
pub use cache::RawXor;
pub use error::{Error, Operand};
#[cfg(feature = "jit")]
pub use kernel::{XorKernel, generate, listings};

use crate::reference::xor as reference;
use cache::Served;
use pointers::{FEW, Slot, few, with_pointers};

/// `dest = s0 ^ s1 ^ …`: the P parity of a stripe, or a lost block from the survivors and the parity.
///
/// # Errors
/// [`Error::NoSources`], [`Error::TooManySources`] (over 1024), [`Error::UnequalLengths`]; `dest` is then untouched.
pub fn parity(dest: &mut [u8], sources: &[&[u8]]) -> Result<(), Error> {
    into(dest, sources, Destination::Overwrite)
}

/// `dest ^= s0 ^ s1 ^ …`
///
/// # Errors
/// As for [`parity`].
pub fn accumulate(dest: &mut [u8], sources: &[&[u8]]) -> Result<(), Error> {
    into(dest, sources, Destination::Accumulate)
}

/// `parity ^= old ^ new`: the read-modify-write of one changed source.
///
/// # Errors
/// [`Error::UnequalLengths`]; `parity` is then untouched.
pub fn update(parity: &mut [u8], old: &[u8], new: &[u8]) -> Result<(), Error> {
    for (operand, buffer) in [(Operand::Old, old), (Operand::New, new)] {
        equal(operand, buffer.len(), Operand::Parity, parity.len())?;
    }
    into(parity, &[old, new], Destination::Accumulate)
}

/// Whether `b0 ^ b1 ^ …` is zero everywhere: whether a stripe with its parity is consistent.
///
/// # Errors
/// As for [`parity`], with the lengths compared to that of buffer 0.
pub fn check(buffers: &[&[u8]]) -> Result<bool, Error> {
    let len = buffers.first().ok_or(Error::NoSources)?.len();
    with_pointers(buffers, len, Operand::Buffer, Operand::Buffer(0), |pointers| {
        match cache::get(Destination::ZeroTest, buffers.len(), len) {
            // SAFETY: `pointers` holds `buffers.len()` pointers, each to `len` readable bytes borrowed for this call;
            // a zero test writes nothing, so the destination may be null.
            Served::Kernel(kernel) => unsafe { kernel.call(core::ptr::null_mut(), pointers, 0, len) == 0 },
            Served::Portable => reference::is_zero(buffers),
        }
    })
}

/// `dest = s0 ^ s1 ^ …`, where a source shorter than `dest` acts as if zeros followed it, as the columns of a RAID-Z
/// row do.
///
/// # Errors
/// [`Error::NoSources`], [`Error::TooManySources`], and [`Error::SourceTooLong`] for a source longer than `dest`, which
/// is then untouched.
pub fn parity_zero_extended(dest: &mut [u8], sources: &[&[u8]]) -> Result<(), Error> {
    count(sources.len())?;
    let dest_len = dest.len();
    if let Some((i, source)) = sources.iter().enumerate().find(|(_, s)| s.len() > dest_len) {
        return Err(Error::SourceTooLong { operand: Operand::Source(i), len: source.len(), dest_len });
    }
    if sources.len() <= FEW { stretches::<FEW>(dest, sources) } else { stretches::<MAX_SOURCES>(dest, sources) }
}

/// Between two neighbouring lengths the same sources take part: one call for each such stretch. At most `MOST`
/// sources, none longer than `dest`.
fn stretches<const MOST: usize>(dest: &mut [u8], sources: &[&[u8]]) -> Result<(), Error> {
    let mut active = [&[][..]; MOST];
    let mut start = 0;
    while start < dest.len() {
        let longer = sources.iter().filter(|s| s.len() > start);
        let end = longer.clone().map(|s| s.len()).min().unwrap_or(dest.len());
        let mut n = 0;
        for (slot, source) in active.iter_mut().zip(longer) {
            *slot = &source[start..end];
            n += 1;
        }
        match n {
            0 => dest[start..end].fill(0),
            _ => into(&mut dest[start..end], &active[..n], Destination::Overwrite)?,
        }
        start = end;
    }
    Ok(())
}

fn into(dest: &mut [u8], sources: &[&[u8]], destination: Destination) -> Result<(), Error> {
    let len = dest.len();
    let mut array = [const { Slot::uninit() }; FEW];
    if let Some(pointers) = few(&mut array, sources, len)
        && let Some(program) = cache::direct(destination, pointers.len(), len)
    {
        // SAFETY: as in `into_any`.
        unsafe { program(dest.as_mut_ptr(), pointers.as_ptr(), 0, len) };
        return Ok(());
    }
    into_any(dest, sources, destination)
}

/// The first call for a source count, many sources, several groups, portable code, and every error.
#[inline(never)]
fn into_any(dest: &mut [u8], sources: &[&[u8]], destination: Destination) -> Result<(), Error> {
    let len = dest.len();
    with_pointers(sources, len, Operand::Source, Operand::Dest, |pointers| {
        match cache::get(destination, sources.len(), len) {
            Served::Kernel(kernel) => {
                // SAFETY: `pointers` holds `sources.len()` pointers, each to `len` readable bytes borrowed for this
                // call, and `dest` has `len` bytes, borrowed mutably and so disjoint from every source. The kernel is
                // for this many sources.
                unsafe { kernel.call(dest.as_mut_ptr(), pointers, 0, len) };
            }
            Served::Portable if destination == Destination::Accumulate => reference::accumulate(dest, sources),
            Served::Portable => reference::parity(dest, sources),
        }
    })
}

fn count(sources: usize) -> Result<(), Error> {
    match sources {
        0 => Err(Error::NoSources),
        1..=MAX_SOURCES => Ok(()),
        _ => Err(Error::TooManySources { sources }),
    }
}

pub(crate) fn equal(operand: Operand, len: usize, other: Operand, other_len: usize) -> Result<(), Error> {
    if len == other_len { Ok(()) } else { Err(Error::UnequalLengths { operand, len, other, other_len }) }
}

/// Whether a call keeps what its kernel relies on. A zero test has no destination, and its sources are called buffers.
pub(crate) fn check_promises(
    aligned: u32,
    multiple_of: u32,
    dest: Option<*const u8>,
    sources: &[*const u8],
    offset: usize,
    len: usize,
) -> Result<(), Error> {
    if multiple_of > 1 && (len == 0 || !len.is_multiple_of(multiple_of as usize)) {
        return Err(Error::NotMultiple { len, promised: multiple_of });
    }
    if aligned > 1 {
        let name = if dest.is_some() { Operand::Source } else { Operand::Buffer };
        let dest = dest.map(|d| (Operand::Dest, d)).into_iter();
        for (operand, pointer) in dest.chain(sources.iter().enumerate().map(|(i, s)| (name(i), *s))) {
            if pointer.addr().wrapping_add(offset) % aligned as usize != 0 {
                return Err(Error::Misaligned { operand, offset, promised: aligned });
            }
        }
    }
    Ok(())
}

/// Which kernel serves so many sources of so many bytes: [`parity`] with [`Destination::Overwrite`], [`accumulate`], or
/// [`check`] with [`Destination::ZeroTest`]. It is compiled if it was not.
///
/// # Errors
/// [`Error::NoSources`], [`Error::TooManySources`].
pub fn describe(destination: Destination, sources: usize, len: usize) -> Result<Description, Error> {
    count(sources)?;
    Ok(Description { sources, served: cache::get(destination, sources, len) })
}

/// What [`describe`] says; made to be displayed.
#[derive(Clone, Copy)]
pub struct Description {
    sources: usize,
    served: Served,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.served {
            Served::Kernel(kernel) => kernel.fmt(f),
            Served::Portable => write!(f, "portable code, {} sources", self.sources),
        }
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Description({self})")
    }
}

/// The tuning with which the safe API plans.
const TUNING: XorTuning = XorTuning::DEFAULT;
