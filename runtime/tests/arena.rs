//! Executable memory: every backing, its protections, its limits, and threads.
#![cfg(all(feature = "jit", target_os = "linux", target_arch = "x86_64"))]

mod arena_common;

use std::collections::HashSet;
use std::process::Command;
use std::sync::Barrier;

use arena_common::{arena, call, constant, in_child};
use lanesmith_runtime::arena::{Arena, ArenaError, Backing, CHUNK, Config, SLOT};

#[test]
fn every_backing_runs_code() {
    for backing in Backing::ALL {
        let arena = arena(backing);
        assert_eq!(arena.stats().backing, None);
        assert_eq!(arena.ready(), Ok(backing));
        for value in 0..300 {
            let code = arena.publish(&constant(value)).unwrap();
            assert_eq!(code.addr().get() % 64, 0);
            assert_eq!(call(code), value);
        }
        let stats = arena.stats();
        assert_eq!((stats.backing, stats.chunks), (Some(backing), if backing == Backing::Reprotect { 2 } else { 1 }));
        assert_eq!(stats.bytes_used, 300 * if backing == Backing::Reprotect { 4096 } else { SLOT });
    }
}

#[test]
fn the_first_backing_that_works_is_taken() {
    static ARENA: Arena = Arena::new(Config::DEFAULT);
    assert_eq!(ARENA.ready(), Ok(Backing::Alias));
}

#[test]
fn bytes_arrive_and_stay() {
    for backing in Backing::ALL {
        let arena = arena(backing);
        let blobs: Vec<Vec<u8>> = [1, 63, 64, 65, 4095, 4096, 4097, 70_000, CHUNK - 1, CHUNK]
            .map(|len| (0..len).map(|i| (i * 31 + len) as u8).collect())
            .into();
        let placed: Vec<_> = blobs.iter().map(|blob| arena.publish(blob).unwrap()).collect();
        for (blob, code) in blobs.iter().zip(placed) {
            // SAFETY: as many bytes were published there, and they stay.
            assert_eq!(unsafe { std::slice::from_raw_parts(code.as_ptr(), blob.len()) }, blob);
        }
    }
}

#[test]
fn small_code_still_fits_beside_large() {
    let arena = arena(Backing::Alias);
    arena.publish(&constant(1)).unwrap();
    arena.publish(&vec![0xC3; CHUNK]).unwrap();
    arena.publish(&constant(2)).unwrap();
    assert_eq!(arena.stats().chunks, 2, "the older chunk has room left");
}

#[test]
fn lengths_are_checked() {
    let arena = arena(Backing::Alias);
    assert_eq!(arena.publish(&[]), Err(ArenaError::Empty));
    assert_eq!(arena.publish(&vec![0xC3; CHUNK + 1]), Err(ArenaError::TooLarge { bytes: CHUNK + 1 }));
    assert_eq!(arena.stats().chunks, 0);
}

#[test]
fn the_limit_is_exact() {
    for limit in [0, CHUNK - 1] {
        let arena = Arena::new(Config { limit, ..Config::DEFAULT });
        assert_eq!(arena.publish(&constant(1)), Err(ArenaError::Full { limit: 0 }));
    }
    let arena = Arena::new(Config { limit: 2 * CHUNK + 1, ..Config::DEFAULT });
    // Racing threads must not map a third chunk either, and must use the last slot of the second.
    let published: usize = std::thread::scope(|scope| {
        let publish = || (0..).take_while(|i| arena.publish(&constant(*i)).is_ok()).count();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(publish)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(published, 2 * CHUNK / SLOT);
    assert_eq!(arena.publish(&constant(1)), Err(ArenaError::Full { limit: 2 * CHUNK }));
    let stats = arena.stats();
    assert_eq!((stats.chunks, stats.bytes_used, stats.bytes_mapped), (2, 2 * CHUNK, 2 * CHUNK));
}

#[test]
fn threads_publish_at_once() {
    const THREADS: u32 = 16;
    const EACH: u32 = 400;
    for backing in Backing::ALL {
        let (arena, start) = (arena(backing), Barrier::new(THREADS as usize));
        let run = |thread: u32| {
            start.wait();
            let mut mine = Vec::new();
            for i in 0..if backing == Backing::Reprotect { EACH / 4 } else { EACH } {
                let value = thread * EACH + i;
                let mut blob = constant(value);
                blob.resize(blob.len() + (value as usize * 37) % 300, 0xC3);
                let code = arena.publish(&blob).unwrap();
                assert_eq!(call(code), value);
                mine.push((code.addr(), value));
            }
            mine
        };
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run(thread))).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(all.iter().map(|(address, _)| address).collect::<HashSet<_>>().len(), all.len());
        for (address, value) in all {
            let code = std::ptr::NonNull::new(std::ptr::with_exposed_provenance_mut(address.get())).unwrap();
            assert_eq!(call(code), value, "code changed after it was published");
        }
    }
}

#[test]
fn nothing_is_writable_and_executable() {
    for backing in Backing::ALL {
        let arena = arena(backing);
        for value in 0..3 {
            arena.publish(&constant(value)).unwrap();
        }
        let code = arena.publish(&constant(7)).unwrap().addr().get();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut found = false;
        for line in maps.lines() {
            let (range, rest) = line.split_once(' ').unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
            assert!(!rest.starts_with("rwx") && !rest.starts_with("-wx"), "{line}");
            if (start..end).contains(&code) {
                assert!(rest.starts_with("r-x"), "{line}");
                found = true;
            }
        }
        assert!(found);
    }
}

#[test]
fn a_sealed_memory_file_has_no_second_writer() {
    let code = arena(Backing::Memfd).publish(&constant(1)).unwrap();
    let page = code.as_ptr().wrapping_sub(code.addr().get() % 4096);
    // SAFETY: if this wrongly succeeded, the page of this test's own arena would be writable and nobody would write.
    let result = unsafe { libc::mprotect(page.cast(), 4096, libc::PROT_READ | libc::PROT_WRITE) };
    assert_eq!((result, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EACCES)));
}

#[test]
fn memory_deny_write_execute() {
    in_child(|| {
        const PR_SET_MDWE: libc::c_int = 65;
        const PR_MDWE_REFUSE_EXEC_GAIN: libc::c_ulong = 1;
        // SAFETY: prctl with integer arguments; it only restricts this child.
        if unsafe { libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) } != 0 {
            return; // Linux before 6.3
        }
        static DEFAULT: Arena = Arena::new(Config { obeys_environment: false, ..Config::DEFAULT });
        assert_eq!(call(DEFAULT.publish(&constant(42)).unwrap()), 42);
        assert_eq!(DEFAULT.stats().backing, Some(Backing::Alias));
        assert_eq!(call(arena(Backing::Memfd).publish(&constant(43)).unwrap()), 43);
        let ArenaError::Refused { attempts } = arena(Backing::Reprotect).publish(&constant(1)).unwrap_err() else {
            panic!("not refused");
        };
        let attempt = attempts[0].unwrap();
        assert_eq!((attempt.backing, attempt.call, attempt.errno), (Backing::Reprotect, "mprotect", libc::EACCES));
        assert_eq!(attempts[1..], [None, None]);
    });
}

#[test]
fn a_system_without_memory_refuses_in_words() {
    in_child(|| {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the struct is initialised; it only restricts this child.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &none) }, 0);
        let arena = Arena::new(Config { obeys_environment: false, ..Config::DEFAULT });
        let error = arena.publish(&constant(1)).unwrap_err();
        let ArenaError::Refused { attempts } = error else { panic!("not refused") };
        assert!(attempts.iter().flatten().map(|a| (a.backing, a.errno)).eq(Backing::ALL.map(|b| (b, libc::ENOMEM))));
        assert!(error.is_transient());
    });
}

#[test]
#[ignore = "the child of the next test"]
fn child_with_jit_variable() {
    let result = Arena::global().publish(&constant(9)).map(call);
    println!("{result:?} {:?}", Arena::global().ready());
}

#[test]
fn the_environment_refuses() {
    for (value, expected) in [("off", "Err(Off) Err(Off)"), ("0", "Err(Off) Err(Off)"), ("on", "Ok(9) Ok(Alias)")] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "child_with_jit_variable", "--nocapture"])
            .env("LANESMITH_JIT", value)
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains(expected), "{output:?}");
    }
}

#[test]
fn errors_name_the_culprit() {
    let attempts = [
        Some(lanesmith_runtime::arena::Attempt { backing: Backing::Alias, call: "mmap", errno: libc::EACCES }),
        Some(lanesmith_runtime::arena::Attempt { backing: Backing::Memfd, call: "memfd_create", errno: libc::ENOSYS }),
        None,
    ];
    assert_eq!(
        ArenaError::Refused { attempts }.to_string(),
        "the system refuses executable memory: alias: mmap: Permission denied (os error 13); \
         memfd: memfd_create: Function not implemented (os error 38)"
    );
    assert!(!ArenaError::Refused { attempts }.is_transient());
}
