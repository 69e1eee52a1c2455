//! Names of compiled kernels for profilers: `/tmp/perf-PID.map`, which `perf report` and others read.
//!
//! Off unless [`VARIABLE`] is `1` in the environment or [`enable`] was called. Each kernel is a line
//! `START SIZE name` with the numbers in hexadecimal, appended by a single write, so lines of racing threads do not mix.
//!
//! A profile is a convenience: **every error is swallowed**. A kernel whose line cannot be written is merely anonymous
//! in the profile. The file is not removed at exit, because `perf report` reads it afterwards.
//!
//! The process id is taken at each write. A forked child writes its own kernels to its own file; profilers resolve the
//! inherited ones through the parent's, because the mapping was seen there.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU8, Ordering};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// The environment variable that turns the file on when it is `1`.
pub const VARIABLE: &str = "LANESMITH_PERF_MAP";

const UNREAD: u8 = 0;
const ON: u8 = 1;
const OFF: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNREAD);

/// Writes names from now on. Kernels that were published before stay anonymous.
pub fn enable() {
    STATE.store(ON, Ordering::Relaxed);
}

/// Whether names are written.
pub fn is_enabled() -> bool {
    let mut state = STATE.load(Ordering::Relaxed);
    if state == UNREAD {
        state = if std::env::var_os(VARIABLE).is_some_and(|value| value == "1") { ON } else { OFF };
        // Unless another thread has enabled it meanwhile, which counts more than the environment.
        if let Err(meanwhile) = STATE.compare_exchange(UNREAD, state, Ordering::Relaxed, Ordering::Relaxed) {
            state = meanwhile;
        }
    }
    state == ON
}

/// Writes the name of `len` bytes of code at `code`, if names are written. Control characters become `_`.
pub fn record(code: *const u8, len: usize, name: &str) {
    if is_enabled() {
        append(&line(code.addr(), len, name));
    }
}

fn line(start: usize, len: usize, name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    format!("{start:x} {len:x} {name}\n")
}

fn append(line: &str) {
    /// Anyone may create files in /tmp: follow no link there, and do not wait for the reader of a pipe.
    const CAREFUL: c_int = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let path = format!("/tmp/perf-{}.map", std::process::id());
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).mode(0o644).custom_flags(CAREFUL).open(path) {
        // `write`, not `write_all`: the rest of a short write could land behind another thread's line.
        let _ = file.write(line.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{enable, line, record};

    #[test]
    fn lines_are_hexadecimal_and_single() {
        assert_eq!(
            line(0x7f00_dead_b000, 320, "lanesmith xor n=5 avx512"),
            "7f00deadb000 140 lanesmith xor n=5 avx512\n"
        );
        assert_eq!(line(16, 1, "two\nlines"), "10 1 two_lines\n");
    }

    #[test]
    fn threads_append_and_a_child_has_its_own_file() {
        let path = |id| format!("/tmp/perf-{id}.map");
        let own = path(std::process::id());
        let _ = std::fs::remove_file(&own);
        let at = |start| std::ptr::without_provenance(start);
        record(at(1), 1, "before it is enabled");
        enable();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || (0..50).for_each(|i| record(at(0x1000 * thread + i), 64, "kernel")));
            }
        });
        // SAFETY: the child has only this thread, and ends by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            record(at(0xC0DE), 64, "child");
            // SAFETY: always callable.
            unsafe { libc::_exit(0) };
        }
        // SAFETY: a null status is allowed.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };

        let (text, childs) =
            (std::fs::read_to_string(&own).unwrap(), std::fs::read_to_string(path(child as u32)).unwrap());
        assert_eq!(text.lines().count(), 400);
        assert!(text.lines().all(|line| line.ends_with(" 40 kernel")), "{text}");
        assert_eq!(childs, "c0de 40 child\n");

        // A link planted at the name is not followed.
        let target = format!("{own}.target");
        std::fs::write(&target, "").unwrap();
        std::fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink(&target, &own).unwrap();
        record(at(1), 1, "kernel");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "");
        for path in [own, target, path(child as u32)] {
            std::fs::remove_file(path).unwrap();
        }
    }
}
