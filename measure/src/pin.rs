//! Pinning: a thread that migrates takes its caches and its clock measurement from one core to another.

use std::io;

/// Pins the calling thread to the last core that it may run on and returns that core's number.
///
/// The last, because interrupts and other people's pinned work gather on the first. Threads spawned later inherit the
/// setting.
///
/// # Errors
///
/// What the kernel answered if it refuses, and [`io::ErrorKind::Unsupported`] on systems other than Linux. Timing
/// still works unpinned; say so beside the results.
pub fn pin_to_core() -> io::Result<usize> {
    imp::pin_to_core()
}

#[cfg(target_os = "linux")]
mod imp {
    use std::{io, mem};

    pub(super) fn pin_to_core() -> io::Result<usize> {
        let allowed = affinity()?;
        let core = last_core(&allowed).ok_or_else(|| io::Error::other("the affinity mask names no core"))?;
        // SAFETY: an all-zero `cpu_set_t`, a plain bit array, is the valid empty set.
        let mut only: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: `core` is below CPU_SETSIZE, as it was found in a set of that size.
        unsafe { libc::CPU_SET(core, &mut only) };
        // SAFETY: the pointer and the size describe `only`, which the call reads; 0 names the calling thread.
        let status = unsafe { libc::sched_setaffinity(0, mem::size_of_val(&only), &only) };
        if status == 0 { Ok(core) } else { Err(io::Error::last_os_error()) }
    }

    /// The cores that the calling thread may run on.
    pub(super) fn affinity() -> io::Result<libc::cpu_set_t> {
        // SAFETY: an all-zero `cpu_set_t`, a plain bit array, is the valid empty set.
        let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: the pointer and the size describe `set`, which the call may fill; 0 names the calling thread.
        let status = unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) };
        if status == 0 { Ok(set) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn last_core(set: &libc::cpu_set_t) -> Option<usize> {
        (0..libc::CPU_SETSIZE as usize).rev().find(|&core| {
            // SAFETY: `core` is below CPU_SETSIZE, the number of bits in the set.
            unsafe { libc::CPU_ISSET(core, set) }
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    pub(super) fn pin_to_core() -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "pinning to a core is implemented for Linux only"))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_last_allowed_core_is_taken_and_kept() {
        // On its own thread, so that the test runner's other threads keep their cores. A sandbox may forbid the call:
        // then all that can be asked is an error instead of a panic.
        let outcome = std::thread::spawn(|| {
            let before = imp::affinity().ok().and_then(|set| imp::last_core(&set));
            pin_to_core().map(|core| (before, core, imp::affinity().ok(), pin_to_core().ok()))
        })
        .join()
        .expect("pinning panicked");
        if let Ok((before, core, after, again)) = outcome {
            assert_eq!(before, Some(core));
            assert_eq!(again, Some(core));
            let after = after.expect("the mask was readable before");
            assert_eq!(imp::last_core(&after), Some(core));
            // SAFETY: CPU_COUNT only reads the set.
            assert_eq!(unsafe { libc::CPU_COUNT(&after) }, 1);
        }
    }
}
