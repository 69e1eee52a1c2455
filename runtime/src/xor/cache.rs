//! From source count, destination and length class to the kernel that serves it: one Acquire load when it is known.
//!
//! No lock: racing first calls may each compile; one result is published and the others stay unused in the arena.

#[cfg(feature = "jit")]
use alloc::boxed::Box;
use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

#[cfg(feature = "jit")]
use lanesmith_codegen::plan::xor::Driver;
use lanesmith_codegen::spec::{Destination, LengthClass, MAX_SOURCES};
#[cfg(feature = "jit")]
use lanesmith_codegen::spec::{XorOptions, XorSpec};
#[cfg(feature = "jit")]
use lanesmith_codegen::target::Tier;

use super::TUNING;
use crate::statics::StaticXor;

/// The entry of a program: destination, source pointers, offset, length; the result is that of a zero test.
#[cfg(target_arch = "x86_64")]
pub type RawXor = unsafe extern "sysv64" fn(*mut u8, *const *const u8, usize, usize) -> u64;
/// What the entry of a program would be; there is none for this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub type RawXor = unsafe extern "C" fn(*mut u8, *const *const u8, usize, usize) -> u64;

/// What to do about a call.
#[derive(Clone, Copy)]
pub(super) enum Served {
    /// Call this.
    Kernel(Kernel),
    /// Use plain Rust: there are no kernels for this target.
    Portable,
}

/// What runs programs.
#[derive(Clone, Copy)]
pub(super) enum Kernel {
    #[cfg(feature = "jit")]
    Compiled(&'static Compiled),
    Static(StaticXor),
}

impl Kernel {
    /// Runs the kernel over bytes `offset..offset + len` of every buffer.
    ///
    /// # Safety
    /// `sources` has as many pointers as the kernel takes, each readable at those bytes; `dest` is writable there
    /// (unless the kernel is a zero test) and disjoint from every source.
    pub(super) unsafe fn call(self, dest: *mut u8, sources: &[*const u8], offset: usize, len: usize) -> u64 {
        match self {
            #[cfg(feature = "jit")]
            // SAFETY: the caller's contract; what the cache compiles promises nothing, and its tier is legal.
            Kernel::Compiled(compiled) => unsafe { compiled.call(dest, sources, offset, len) },
            // SAFETY: the caller's contract.
            Kernel::Static(kernel) => unsafe { kernel.call(dest, sources, offset, len) },
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "jit")]
            Kernel::Compiled(compiled) => compiled.fmt(f),
            Kernel::Static(kernel) => kernel.fmt(f),
        }
    }
}

/// Executable programs and how they are called.
#[cfg(feature = "jit")]
pub(crate) struct Compiled {
    only_program: Option<RawXor>,
    /// One entry per pass of the plan, with its source count.
    passes: Box<[(RawXor, u16)]>,
    driver: Driver,
    sources: u16,
    tier: Tier,
}

#[cfg(feature = "jit")]
impl Compiled {
    pub(super) fn new(passes: Box<[(RawXor, u16)]>, driver: Driver, sources: u16, tier: Tier) -> Compiled {
        let only_program = match (&*driver.groups, &*passes) {
            ([_], [(program, _)]) => Some(*program),
            _ => None,
        };
        Compiled { only_program, passes, driver, sources, tier }
    }

    /// The program that does everything in one call, if there is one.
    pub(super) fn only_program(&self) -> Option<RawXor> {
        self.only_program
    }

    /// Runs the kernel over bytes `offset..offset + len` of every buffer.
    ///
    /// # Safety
    /// `sources` has as many pointers as the kernel takes, each readable at those bytes; `dest` is writable there
    /// (unless the kernel is a zero test) and disjoint from every source, or equal to `sources[0]`. The kernel's
    /// promises hold, and its tier is legal on this CPU.
    pub(super) unsafe fn call(&self, dest: *mut u8, sources: &[*const u8], offset: usize, len: usize) -> u64 {
        if let Some(program) = self.only_program {
            // SAFETY: the caller's contract is that of the only program.
            return unsafe { program(dest, sources.as_ptr(), offset, len) };
        }
        // SAFETY: the same contract.
        unsafe { self.call_grouped(dest, sources, offset, len) }
    }

    /// # Safety
    /// As for [`Compiled::call`].
    unsafe fn call_grouped(&self, dest: *mut u8, sources: &[*const u8], offset: usize, len: usize) -> u64 {
        let block = self.driver.block.map_or(len, |block| block as usize).max(1);
        for start in (0..len).step_by(block) {
            let bytes = block.min(len - start);
            for group in &self.driver.groups {
                let (program, count) = self.passes[group.pass];
                let first = usize::from(group.first);
                let group = &sources[first..first + usize::from(count)];
                // SAFETY: a group is a part of the sources and a block a part of the bytes that the caller vouches
                // for. A destination equal to `sources[0]` is read by the first group before anything overwrites it.
                unsafe { program(dest, group.as_ptr(), offset + start, bytes) };
            }
        }
        0
    }
}

#[cfg(feature = "jit")]
impl fmt::Display for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} sources, ", self.tier, self.sources)?;
        match (self.driver.groups.len(), self.driver.block) {
            (1, _) => write!(f, "single pass")?,
            (n, Some(block)) => write!(f, "{n} groups in blocks of {block} bytes")?,
            (n, None) => write!(f, "{n} groups")?,
        }
        write!(f, ", compiled at run time")
    }
}

type Row<T> = [AtomicPtr<T>; MAX_SOURCES + 1];
/// By destination, by length class, by source count.
type Table<T> = [[Row<T>; 3]; 3];

const fn empty<T>() -> Table<T> {
    [const { [const { [const { AtomicPtr::new(ptr::null_mut()) }; MAX_SOURCES + 1] }; 3] }; 3]
}

/// What was compiled for each source count, once that is known.
#[cfg(feature = "jit")]
static ENTRIES: Table<Entry> = empty();
/// The entry of a kernel that is a single program: what a call needs, in one load.
static DIRECT: Table<()> = empty();

/// The program that alone serves `sources` (1..=1024) buffers of `len` bytes, if it is compiled.
#[inline(always)]
pub(super) fn direct(destination: Destination, sources: usize, len: usize) -> Option<RawXor> {
    let class = TUNING.length_class(sources, len);
    let known = DIRECT[destination as usize][class as usize][sources].load(Ordering::Acquire);
    // SAFETY: a null pointer is `None`; the only others stored are entries of that type, see `make`.
    unsafe { core::mem::transmute::<*mut (), Option<RawXor>>(known) }
}

/// What serves `sources` (1..=1024) buffers of `len` bytes.
pub(super) fn get(destination: Destination, sources: usize, len: usize) -> Served {
    let class = TUNING.length_class(sources, len);
    #[cfg(feature = "jit")]
    if let Some(compiled) = compiled(destination, class, sources) {
        return Served::Kernel(Kernel::Compiled(compiled));
    }
    match StaticXor::new(destination, sources) {
        Some(kernel) => {
            if let Some(program) = kernel.only_program() {
                publish(destination, class, sources, program);
            }
            Served::Kernel(Kernel::Static(kernel))
        }
        None => Served::Portable,
    }
}

/// Lets [`direct`] find a program. One compiled later replaces a static one.
fn publish(destination: Destination, class: LengthClass, sources: usize, program: RawXor) {
    let slot = &DIRECT[destination as usize][class as usize][sources];
    if slot.load(Ordering::Relaxed) != program as *mut () {
        slot.store(program as *mut (), Ordering::Release);
    }
}

/// What was compiled for a source count, or nothing if no code may be made.
#[cfg(feature = "jit")]
struct Entry(Option<Compiled>);

#[cfg(feature = "jit")]
static REFUSED: Entry = Entry(None);

/// What is compiled for `sources`; it is compiled now if it was not.
#[cfg(feature = "jit")]
fn compiled(destination: Destination, class: LengthClass, sources: usize) -> Option<&'static Compiled> {
    let slot = &ENTRIES[destination as usize][class as usize][sources];
    let known = slot.load(Ordering::Acquire);
    if known.is_null() {
        return make(slot, destination, class, sources);
    }
    // SAFETY: the only non-null pointers stored are to `REFUSED` and to leaked boxes (see `make`), written before the
    // Release half of the exchange that stored them.
    unsafe { &*known }.0.as_ref()
}

#[cfg(feature = "jit")]
#[cold]
fn make(
    slot: &AtomicPtr<Entry>,
    destination: Destination,
    length: LengthClass,
    sources: usize,
) -> Option<&'static Compiled> {
    use super::kernel;

    let options = XorOptions { destination, length, ..XorOptions::default() };
    let compiled = XorSpec::with(sources, options).ok().map(|spec| kernel::publish_preferred(&spec));
    let mine: *mut Entry = match compiled {
        Some(Ok(compiled)) => Box::into_raw(Box::new(Entry(Some(compiled)))),
        // Out of memory now is not out of memory for ever: this call is served otherwise, the next one tries again.
        Some(Err(super::Error::NoExecutableMemory(error))) if error.is_transient() => return None,
        _ => ptr::from_ref(&REFUSED).cast_mut(),
    };
    match slot.compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: `mine` is `REFUSED` or a box that is now leaked: valid for ever and never written again.
            let entry = unsafe { &*mine };
            if let Some(program) = entry.0.as_ref().and_then(Compiled::only_program) {
                publish(destination, length, sources, program);
            }
            entry.0.as_ref()
        }
        Err(winner) => {
            if !ptr::eq(mine, &REFUSED) {
                // SAFETY: `mine` came from `Box::into_raw` and nobody else has seen it.
                drop(unsafe { Box::from_raw(mine) });
            }
            // SAFETY: a failed exchange from null returns a pointer stored by a winner of this function.
            unsafe { &*winner }.0.as_ref()
        }
    }
}
