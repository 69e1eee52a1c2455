//! The unsafe part of the benches: kernels called at their machine-code entries, and threads pinned to cores.

use std::hint::black_box;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use lanesmith::codegen::spec::Destination;
use lanesmith::reference::xor as reference;
use lanesmith::xor::{RawXor, StaticKernel, XorKernel};
use lanesmith_measure::limits::{Loads, Width};

/// One destination and its sources, all of one length, for calls that go by pointers.
///
/// The destination is kept as a pointer, because all rows of a comparison write to the same one, in turn.
pub(crate) struct Operands<'b> {
    dest: *mut u8,
    len: usize,
    sources: Vec<&'b [u8]>,
    /// Those of `sources`, prepared once: what kernels take.
    pointers: Vec<*const u8>,
    /// What the load limits read: the sources, and what stands for the destination if that is read.
    loaded: Vec<&'b [u8]>,
    lifetime: PhantomData<&'b mut [u8]>,
}

impl<'b> Operands<'b> {
    /// Operands of equal length. `accumulated` is a buffer that the load limits read in the place of a destination that
    /// kernels read.
    ///
    /// # Panics
    ///
    /// If a length differs.
    pub(crate) fn new(dest: &'b mut [u8], sources: Vec<&'b [u8]>, accumulated: Option<&'b [u8]>) -> Self {
        assert!(sources.iter().all(|source| source.len() == dest.len()));
        let pointers = sources.iter().map(|source| source.as_ptr()).collect();
        let loaded = accumulated.into_iter().chain(sources.iter().copied()).collect();
        Self { dest: dest.as_mut_ptr(), len: dest.len(), sources, pointers, loaded, lifetime: PhantomData }
    }

    /// The destination.
    pub(crate) fn dest(&mut self) -> &mut [u8] {
        // SAFETY: the pointer and the length are those of a slice borrowed for 'b. Bound calls, which also write there,
        // borrow `self`, so there are none while this borrow lasts.
        unsafe { std::slice::from_raw_parts_mut(self.dest, self.len) }
    }

    /// The sources.
    pub(crate) fn sources(&self) -> &[&'b [u8]] {
        &self.sources
    }

    /// Gives `sink` a closure that does `call` on these operands once.
    ///
    /// The closures of several calls share the destination. Only one runs at a time: each holds a raw pointer, so that
    /// no other thread can have it, and none calls another.
    ///
    /// # Panics
    ///
    /// If the operands are not those that a kernel of the call is compiled for.
    pub(crate) fn bind<'a>(&'a self, call: &'a Call, sink: &mut impl Sink<'a>) {
        let (dest, len, pointers) = (self.dest, self.len, self.pointers.as_ptr());
        match call {
            Call::Reference(destination) => {
                let function = match destination {
                    Destination::Accumulate => reference::accumulate,
                    _ => reference::parity,
                };
                sink.add(move || {
                    // SAFETY: as in `dest`; no other closure runs during this one.
                    function(unsafe { std::slice::from_raw_parts_mut(dest, len) }, &self.sources);
                });
            }
            Call::Kernel(kernel) => {
                kernel.parts.iter().for_each(|part| part.check(self));
                match (&*kernel.parts, kernel.entries()) {
                    ([_], Some(entries)) => {
                        let (entry, first) = entries[0];
                        let pointers = pointers.wrapping_add(first);
                        sink.add(move || {
                            // SAFETY: `check` has compared what the entry's contract asks with these operands: the count
                            // of pointers, each to `len` readable bytes borrowed for 'b, `dest` to as many that are
                            // writable and disjoint, and the promises. `compile_for` checked the tier.
                            unsafe { entry(dest, pointers, 0, len) };
                        });
                    }
                    (_, Some(entries)) => sink.add(move || {
                        for &(entry, first) in &entries {
                            // SAFETY: as above, for the `sources` of this part from `first` on.
                            unsafe { entry(dest, pointers.wrapping_add(first), 0, len) };
                        }
                    }),
                    (parts, None) => sink.add(move || {
                        for part in parts {
                            let group = &self.pointers[part.first..][..part.kernel.spec().sources()];
                            // SAFETY: each source is readable and `dest` writable in its first `len` bytes, and nothing
                            // else accesses them meanwhile.
                            let _ = black_box(unsafe { part.kernel.run_raw(dest, group, 0, len) });
                        }
                    }),
                }
            }
            Call::Static(kernel) => sink.add(move || {
                // SAFETY: each source is readable and `dest` writable in its first `len` bytes and disjoint from them, and
                // nothing else accesses them meanwhile.
                let _ = black_box(unsafe { kernel.run_raw(dest, &self.pointers, 0, len) });
            }),
            Call::Load(width) => {
                let loads = Loads::new(*width, &self.loaded);
                sink.add(move || {
                    black_box(loads.load());
                });
            }
            Call::LoadStore(width) => {
                let loads = Loads::new(*width, &self.loaded);
                sink.add(move || {
                    // SAFETY: as in `dest`; no other closure runs during this one.
                    black_box(loads.load_store(unsafe { std::slice::from_raw_parts_mut(dest, len) }));
                });
            }
        }
    }
}

/// Takes closures that do one call each.
pub(crate) trait Sink<'a> {
    /// Takes one. Generic, so that the calls of a slice need no dynamic dispatch each.
    fn add(&mut self, call: impl FnMut() + 'a);
}

/// What a row does.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// The definition, in plain Rust.
    Reference(Destination),
    /// Machine code.
    Kernel(Kernel),
    /// Machine code that is built with the library.
    Static(StaticKernel),
    /// Loads alone.
    Load(Width),
    /// Loads, and a store of each vector of the destination.
    LoadStore(Width),
}

impl Call {
    /// Whether the destination is the XOR afterwards.
    pub(crate) fn computes(&self) -> bool {
        matches!(self, Call::Reference(_) | Call::Kernel(_) | Call::Static(_))
    }
}

/// Machine code for a number of sources: one or more passes over the whole destination.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    kernel: Arc<XorKernel>,
    /// The first source that it takes.
    first: usize,
}

impl Kernel {
    /// One kernel after the other, each with the next sources.
    ///
    /// # Panics
    ///
    /// If there is none, or one does not write its destination.
    pub(crate) fn passes(kernels: impl IntoIterator<Item = Arc<XorKernel>>) -> Self {
        let mut first = 0;
        let part = |kernel: Arc<XorKernel>| {
            assert_ne!(kernel.spec().options().destination, Destination::ZeroTest);
            let part = Part { first, kernel };
            first += part.kernel.spec().sources();
            part
        };
        let parts: Vec<Part> = kernels.into_iter().map(part).collect();
        assert!(!parts.is_empty());
        Self { parts }
    }

    /// The entry and the first source of each pass, unless one is driven in groups of its own.
    fn entries(&self) -> Option<Vec<(RawXor, usize)>> {
        self.parts.iter().map(|part| Some((part.kernel.entry()?, part.first))).collect()
    }
}

impl Part {
    /// Compares what the kernel is compiled for with the operands.
    fn check(&self, operands: &Operands<'_>) {
        let (sources, options) = (self.kernel.spec().sources(), self.kernel.spec().options());
        let aligned = |pointer: *const u8| pointer.addr().is_multiple_of(options.aligned as usize);
        let pointers = &operands.pointers[self.first..][..sources];
        assert!(pointers.iter().all(|p| aligned(*p)) && aligned(operands.dest), "{} bytes promised", options.aligned);
        let len = operands.len;
        assert!(options.multiple_of == 1 || len > 0 && len.is_multiple_of(options.multiple_of as usize));
    }
}

/// The cores that the calling thread may run on, ascending; empty where they cannot be known.
pub(crate) fn allowed_cores() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: an all-zero `cpu_set_t`, a plain bit array, is the valid empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer and the size describe `set`, which the call may fill; 0 names the calling thread.
        let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
        // SAFETY: every core asked about is below CPU_SETSIZE, the number of bits in the set.
        let has = |core: &usize| unsafe { libc::CPU_ISSET(*core, &set) };
        if status == 0 { (0..libc::CPU_SETSIZE as usize).filter(has).collect() } else { Vec::new() }
    }
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// Pins the calling thread to one of the cores that [`allowed_cores`] returned.
///
/// # Errors
///
/// What the kernel answered, and [`io::ErrorKind::Unsupported`] on systems other than Linux.
pub(crate) fn pin_to(core: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        if core >= libc::CPU_SETSIZE as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: an all-zero `cpu_set_t`, a plain bit array, is the valid empty set.
        let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: `core` is below CPU_SETSIZE, the number of bits in the set.
        unsafe { libc::CPU_SET(core, &mut only) };
        // SAFETY: the pointer and the size describe `only`, which the call reads; 0 names the calling thread.
        let status = unsafe { libc::sched_setaffinity(0, size_of_val(&only), &only) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = core;
        Err(io::ErrorKind::Unsupported.into())
    }
}
