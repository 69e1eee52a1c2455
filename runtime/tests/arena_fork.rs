//! Parent and children share inherited code and never write to each other's.
#![cfg(all(feature = "jit", target_os = "linux", target_arch = "x86_64"))]

mod arena_common;

use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use arena_common::{arena, call, constant, fork, in_child, wait};
use lanesmith_runtime::arena::{Arena, Backing};

/// Publishes code that returns each of the values.
fn publish(arena: &Arena, values: std::ops::Range<u32>) -> Vec<(NonNull<u8>, u32)> {
    values.map(|value| (arena.publish(&constant(value)).unwrap(), value)).collect()
}

fn check(code: &[(NonNull<u8>, u32)]) {
    for (code, value) in code {
        assert_eq!(call(*code), *value);
    }
}

/// Sets the flag also when a test panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A point in time that two processes reach together.
struct Meeting(PipeReader, PipeWriter);

impl Meeting {
    fn of_two() -> (Meeting, Meeting) {
        let (a, b) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        (Meeting(a.0, b.1), Meeting(b.0, a.1))
    }

    /// Forks a child and gives each process its end. Neither keeps the other's, so when one fails the other's next
    /// meeting fails instead of waiting.
    fn with_child(body: impl FnOnce(Meeting)) -> (libc::pid_t, Meeting) {
        let (ours, childs) = Meeting::of_two();
        let mut ends = (Some(ours), Some(childs));
        let child = fork(|| {
            ends.0 = None;
            body(ends.1.take().unwrap());
        });
        ends.1 = None;
        (child, ends.0.unwrap())
    }

    fn meet(&mut self) {
        self.1.write_all(&[1]).unwrap();
        self.0.read_exact(&mut [0]).unwrap();
    }
}

#[test]
fn parent_and_child_publish_at_once() {
    for backing in Backing::ALL {
        let arena = arena(backing);
        let before = publish(&arena, 0..10);
        let (child, mut parent) = Meeting::with_child(|mut parent| {
            assert_eq!(arena.stats().chunks, 0, "the inherited chunk is not ours");
            check(&before);
            parent.meet();
            let mine = publish(&arena, 1000..1100);
            parent.meet();
            check(&mine);
            check(&before);
            assert_eq!(arena.stats().chunks, 1);
        });
        parent.meet();
        let mine = publish(&arena, 2000..2100);
        parent.meet();
        check(&mine);
        check(&before);
        wait(child);
        check(&mine);
        check(&before);
        check(&publish(&arena, 3000..3010));
        assert_eq!(arena.stats().chunks, 1, "the parent goes on in its chunk");
    }
}

#[test]
fn children_of_children() {
    for backing in Backing::ALL {
        let arena = arena(backing);
        let first = publish(&arena, 0..10);
        in_child(|| {
            // One that has not published before it forks, and one that has.
            in_child(|| check(&publish(&arena, 100..110)));
            let second = publish(&arena, 200..210);
            in_child(|| {
                let third = publish(&arena, 300..310);
                [first.as_slice(), &second, &third].into_iter().for_each(check);
            });
            check(&second);
            check(&publish(&arena, 400..410));
            check(&first);
        });
        check(&first);
        check(&publish(&arena, 500..510));
    }
}

#[test]
fn a_fork_while_threads_publish_leaves_nothing_locked() {
    for backing in Backing::ALL {
        let (arena, stop) = (arena(backing), AtomicBool::new(false));
        let before = publish(&arena, 0..10);
        std::thread::scope(|scope| {
            let _stop_at_the_end = SetOnDrop(&stop);
            for thread in 1..4 {
                let (arena, stop) = (&arena, &stop);
                scope.spawn(move || {
                    // Also when the arena is full: a failing publish must not leave anything locked either.
                    let mut last = None;
                    for value in (thread << 24..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                        last = arena.publish(&constant(value)).ok().map(|code| (code, value)).or(last);
                    }
                    check(last.as_slice());
                });
            }
            for round in 0..40 {
                in_child(|| {
                    check(&before);
                    check(&publish(&arena, round * 100..round * 100 + 20));
                });
            }
        });
        check(&before);
    }
}

#[test]
fn the_same_process_id_in_another_namespace() {
    /// Whether this system lets a test make namespaces.
    fn new_namespace(flags: libc::c_int) -> bool {
        // SAFETY: only changes which namespaces the calling process and its children use.
        unsafe { libc::unshare(flags) == 0 }
    }
    for backing in Backing::ALL {
        in_child(|| {
            // The next child of each is process 1 of a new namespace.
            if !new_namespace(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) {
                return;
            }
            in_child(|| {
                let arena = arena(backing);
                assert_eq!(std::process::id(), 1);
                let before = publish(&arena, 0..10);
                assert!(new_namespace(libc::CLONE_NEWPID), "{}", std::io::Error::last_os_error());
                let (inner, mut other) = Meeting::with_child(|mut other| {
                    assert_eq!(std::process::id(), 1);
                    let mine = publish(&arena, 1000..1010);
                    other.meet();
                    other.meet();
                    check(&mine);
                    check(&before);
                });
                let mine = publish(&arena, 2000..2010);
                other.meet();
                check(&mine);
                other.meet();
                wait(inner);
                check(&mine);
                check(&before);
            });
        });
    }
}

#[test]
fn a_child_does_not_inherit_the_writable_view() {
    let views = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let shared = maps.lines().filter(|line| line.contains("memfd:lanesmith"));
        shared.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    // In a process of its own, without the arenas of tests that run beside this one.
    in_child(|| {
        let before = views().len();
        let code = publish(&arena(Backing::Memfd), 0..10);
        assert_eq!(views().len(), before + 2);
        in_child(|| {
            assert!(views().iter().all(|protection| protection == "r-xs"), "{:?}", views());
            check(&code);
        });
    });
}
