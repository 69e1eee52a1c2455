//! What the tests of the arena share.

use std::any::Any;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use lanesmith_runtime::arena::{Arena, Backing, Config};

/// An arena of one backing, whatever the environment says.
pub(crate) fn arena(backing: Backing) -> Arena {
    let backings: &'static [Backing] = match backing {
        Backing::Alias => &[Backing::Alias],
        Backing::Memfd => &[Backing::Memfd],
        Backing::Reprotect => &[Backing::Reprotect],
    };
    Arena::new(Config { backings, obeys_environment: false, ..Config::DEFAULT })
}

/// `mov eax, value; ret`
pub(crate) fn constant(value: u32) -> Vec<u8> {
    let [a, b, c, d] = value.to_le_bytes();
    vec![0xB8, a, b, c, d, 0xC3]
}

/// Calls code that starts with [`constant`].
pub(crate) fn call(code: NonNull<u8>) -> u32 {
    // SAFETY: these tests publish only `mov eax, imm32; ret`, which is a function of this type and touches no memory.
    let function: extern "sysv64" fn() -> u32 = unsafe { std::mem::transmute(code.as_ptr()) };
    function()
}

/// Runs `body` in a forked child and panics unless it returns there.
pub(crate) fn in_child(body: impl FnOnce()) {
    wait(fork(body));
}

/// Forks a child that runs `body` and ends: with status 0 if it returns, 101 if it panics, 102 if it takes a minute.
pub(crate) fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child has only this thread. The arena takes no lock, and glibc makes its allocator usable in a child.
    // It ends by _exit, so no destructor of the parent's test harness runs in it.
    match unsafe { libc::fork() } {
        0 => {
            // A child that waits for a lost lock must fail, not wait. A handler, because the first process of a namespace
            // ignores signals without one.
            // SAFETY: the handler only calls _exit, which is async-signal-safe.
            unsafe {
                libc::signal(libc::SIGALRM, too_late as extern "C" fn(libc::c_int) as libc::sighandler_t);
                libc::alarm(60);
            }
            let status = catch_unwind(AssertUnwindSafe(body)).map_or_else(report, |()| 0);
            // SAFETY: always callable.
            unsafe { libc::_exit(status) }
        }
        child => {
            assert!(child > 0, "{}", std::io::Error::last_os_error());
            child
        }
    }
}

/// Says why a child failed: not to the harness's capture, which ends with the child unread, and not by a panic hook,
/// because setting one waits for other threads' panics, which a child does not see the end of.
fn report(panic: Box<dyn Any + Send>) -> libc::c_int {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let _ = writeln!(io::stderr(), "in a forked child: {text}");
    101
}

extern "C" fn too_late(_: libc::c_int) {
    // SAFETY: always callable.
    unsafe { libc::_exit(102) }
}

/// Waits for a child of [`fork`] and panics unless it succeeded.
pub(crate) fn wait(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "wait status {status:#x} of the child: a panic is 0x6500, a signal its number");
}
