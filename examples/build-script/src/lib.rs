//! The parity of five blocks, by kernels that the build script has compiled.
//!
//! Nothing is generated at run time, no memory is made executable, and the program does not depend on lanesmith: the
//! kernels are text that the compiler's own assembler reads. `docs/build-script.md` explains how.

use std::fmt;

/// The entry of a kernel: destination, source pointers, offset, length.
#[cfg(target_arch = "x86_64")]
type Entry = unsafe extern "sysv64" fn(*mut u8, *const *const u8, usize, usize) -> u64;

/// A row of the table that the build script writes.
#[cfg(target_arch = "x86_64")]
struct Kernel {
    tier: &'static str,
    /// Whether this CPU and its operating system have every feature that the kernel's instructions need.
    runs_here: fn() -> bool,
    entry: Entry,
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The buffers have different lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnequalLengths {
    /// The first source that differs.
    pub source: usize,
    /// Its length in bytes.
    pub len: usize,
    /// The destination's length in bytes.
    pub dest_len: usize,
}

impl fmt::Display for UnequalLengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "source {} has {} bytes, dest has {}", self.source, self.len, self.dest_len)
    }
}

impl std::error::Error for UnequalLengths {}

/// `dest = s0 ^ s1 ^ s2 ^ s3 ^ s4`, by the widest vectors that this CPU has.
///
/// ```
/// use lanesmith_example_build_script::parity;
///
/// let blocks = [[1u8; 100], [2; 100], [4; 100], [8; 100], [16; 100]];
/// let mut p = [0; 100];
/// parity(&mut p, blocks.each_ref().map(|b| &b[..]))?;
/// assert_eq!(p, [31; 100]);
/// # Ok::<(), lanesmith_example_build_script::UnequalLengths>(())
/// ```
///
/// # Errors
/// [`UnequalLengths`]; `dest` is then untouched.
pub fn parity(dest: &mut [u8], sources: [&[u8]; SOURCES]) -> Result<(), UnequalLengths> {
    // Detection is cached by the standard library: a load and a test for each feature.
    parity_by(tiers().next(), dest, sources)
}

/// The tiers that this CPU can run, the widest first; empty where there are only portable instructions.
pub fn tiers() -> impl Iterator<Item = &'static str> {
    #[cfg(target_arch = "x86_64")]
    let tiers = KERNELS.iter().filter(|kernel| (kernel.runs_here)()).map(|kernel| kernel.tier);
    #[cfg(not(target_arch = "x86_64"))]
    let tiers = std::iter::empty();
    tiers
}

/// Like [`parity`], by the kernel of `tier` if there is one and it can run here, otherwise by portable code.
///
/// # Errors
/// [`UnequalLengths`]; `dest` is then untouched.
pub fn parity_by(tier: Option<&str>, dest: &mut [u8], sources: [&[u8]; SOURCES]) -> Result<(), UnequalLengths> {
    for (source, buffer) in sources.iter().enumerate() {
        if buffer.len() != dest.len() {
            return Err(UnequalLengths { source, len: buffer.len(), dest_len: dest.len() });
        }
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = KERNELS.iter().find(|k| Some(k.tier) == tier && (k.runs_here)()) {
        let pointers = sources.map(<[u8]>::as_ptr);
        // SAFETY: the contract is in the doc comment of the generated function. There are as many pointers as the kernel
        // has sources, each to `dest.len()` readable bytes, as checked above; `dest` is borrowed mutably, so it overlaps
        // no source; the kernel promises nothing of alignment or length; `runs_here` has seen every feature it needs.
        unsafe { (kernel.entry)(dest.as_mut_ptr(), pointers.as_ptr(), 0, dest.len()) };
        return Ok(());
    }
    let _ = tier;
    portable(dest, sources);
    Ok(())
}

/// Plain Rust, for CPUs without any of the kernels.
fn portable(dest: &mut [u8], sources: [&[u8]; SOURCES]) {
    dest.fill(0);
    for source in sources {
        for (d, s) in dest.iter_mut().zip(source) {
            *d ^= s;
        }
    }
}
