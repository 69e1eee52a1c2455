//! Signals that ask the program to stop, so that it can remove what it has not finished.

use std::sync::atomic::{AtomicI32, Ordering};

static RECEIVED: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    RECEIVED.store(signal, Ordering::Relaxed);
}

/// From now on SIGINT, SIGTERM and SIGHUP are only noted, each once: a second one ends the program at once. SIGXFSZ is
/// ignored, so that a write beyond the file size limit fails instead of killing.
pub(crate) fn note_interruptions() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: an all-zero `sigaction` is a valid value (no handler, empty mask, no flags), both pointers are to
        // live locals, and `note` only stores to an atomic, which is async-signal-safe.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            // A parent that ignores a signal, such as `nohup`, means its children to ignore it too.
            if libc::sigaction(signal, std::ptr::null(), &mut old) != 0 || old.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = note as extern "C" fn(libc::c_int) as usize;
            new.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
            libc::sigaction(signal, &new, std::ptr::null_mut());
        }
    }
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The signal that has arrived, if one has.
pub(crate) fn received() -> Option<i32> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}
