//! What `lanesmith parity` refuses, and that it then leaves nothing behind.

mod common;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{failed, failed_in_one_line, files, lanesmith, names, run, shell, succeeded};
use tempfile::tempdir;

/// Runs a line that must fail, and checks that the directory is as it was.
#[track_caller]
fn refused(dir: &Path, line: &str) -> String {
    let before = names(dir);
    let said = failed_in_one_line(run(dir, line));
    assert_eq!(names(dir), before, "{said}");
    said
}

#[test]
fn inputs_that_are_not_files_are_named() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[5000; 2]);
    fs::create_dir(dir.path().join("d")).unwrap();
    assert_eq!(refused(dir.path(), "parity 0 d 1 -o p"), "lanesmith: d: is a directory, not a regular file\n");
    assert!(refused(dir.path(), "parity 0 missing 1 -o p").starts_with("lanesmith: missing: No such file"));
    assert!(Command::new("mkfifo").arg(dir.path().join("fifo")).status().unwrap().success());
    assert_eq!(refused(dir.path(), "parity 0 fifo 1 -o p"), "lanesmith: fifo: is a FIFO, not a regular file\n");
    let said = refused(dir.path(), "parity 0 /dev/zero -o p");
    assert_eq!(said, "lanesmith: /dev/zero: is a character device, not a regular file\n");
}

#[test]
fn an_unreadable_input_is_named() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[5000; 2]);
    succeeded(shell(dir.path(), "chmod 000 1"));
    if File::open(dir.path().join("1")).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    assert!(refused(dir.path(), "parity 0 1 -o p").starts_with("lanesmith: 1: Permission denied"));
}

#[test]
fn a_file_that_says_it_is_empty_and_is_not_is_refused() {
    if cfg!(target_os = "linux") {
        let dir = tempdir().unwrap();
        let said = refused(dir.path(), "parity /proc/self/status -o p");
        assert_eq!(said, "lanesmith: /proc/self/status: changed while it was read\n");
    }
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[5000; 3]);
    let before = fs::read(dir.path().join("1")).unwrap();
    assert_eq!(refused(dir.path(), "parity 0 1 2 -o 1"), "lanesmith: 1: is also an input\n");
    fs::hard_link(dir.path().join("1"), dir.path().join("hard")).unwrap();
    assert_eq!(refused(dir.path(), "parity 0 1 2 -o hard"), "lanesmith: hard: is also an input (1)\n");
    std::os::unix::fs::symlink("1", dir.path().join("soft")).unwrap();
    assert_eq!(refused(dir.path(), "parity 0 1 2 -o soft"), "lanesmith: soft: is also an input (1)\n");
    assert_eq!(fs::read(dir.path().join("1")).unwrap(), before);
}

#[test]
fn an_output_that_cannot_be_is_refused() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[5000; 2]);
    fs::create_dir(dir.path().join("d")).unwrap();
    let must = "the output must be a regular file or not exist yet";
    assert_eq!(refused(dir.path(), "parity 0 1 -o d"), format!("lanesmith: d: is a directory: {must}\n"));
    let said = refused(dir.path(), "parity 0 1 -o /dev/null");
    assert_eq!(said, format!("lanesmith: /dev/null: is a character device: {must}\n"));
    let said = refused(dir.path(), "parity 0 1 -o nowhere/p");
    assert!(said.starts_with("lanesmith: nowhere/p: a temporary file beside it cannot be made: No such"), "{said}");
    assert!(!said.contains(".tmp"), "{said}");
    std::os::unix::fs::symlink("missing", dir.path().join("dangling")).unwrap();
    assert!(refused(dir.path(), "parity 0 1 -o dangling").starts_with("lanesmith: dangling: No such file"));
}

#[test]
fn a_failed_write_leaves_the_old_output() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[3_000_000; 2]);
    fs::write(dir.path().join("p"), "old").unwrap();
    let before = names(dir.path());
    // The limit is in blocks of 512 or 1024 bytes: beyond the first chunk, before the end.
    let said = failed_in_one_line(shell(dir.path(), "ulimit -f 1000; exec \"$L\" parity 0 1 -o p"));
    assert!(said.starts_with("lanesmith: p: cannot be written: "), "{said}");
    assert_eq!(names(dir.path()), before);
    assert_eq!(fs::read(dir.path().join("p")).unwrap(), b"old");
}

/// Starts a parity of large sparse files, waits until it writes, and interferes.
fn interfere(dir: &Path, with: impl FnOnce(u32)) -> std::process::Output {
    for name in ["a", "b", "c"] {
        File::create(dir.join(name)).unwrap().set_len(4 << 30).unwrap();
    }
    let mut command = lanesmith();
    command.current_dir(dir).args(["parity", "a", "b", "c", "-o", "p"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while names(dir).len() < 4 {
        assert!(start.elapsed() < Duration::from_secs(60));
        sleep(Duration::from_millis(1));
    }
    with(child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(names(dir), ["a", "b", "c"].map(std::path::PathBuf::from));
    output
}

/// Whether this process, and so its children, ignores a signal: as under `nohup`, or in the background of a script.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

#[test]
fn an_interruption_leaves_nothing_behind() {
    for (signal, number) in [("INT", libc::SIGINT), ("TERM", libc::SIGTERM), ("HUP", libc::SIGHUP)] {
        if is_ignored(number) {
            eprintln!("skipped: SIG{signal} is ignored");
            continue;
        }
        let dir = tempdir().unwrap();
        let output = interfere(dir.path(), |id| {
            assert!(Command::new("kill").args(["-s", signal, &id.to_string()]).status().unwrap().success());
        });
        assert_eq!(output.status.signal(), None);
        assert_eq!(failed(output, 128 + number), "lanesmith: interrupted; nothing was written\n");
    }
}

#[test]
fn an_input_that_gets_shorter_is_noticed() {
    let dir = tempdir().unwrap();
    let cut = dir.path().join("b");
    let output = interfere(dir.path(), |_| File::options().write(true).open(&cut).unwrap().set_len(1).unwrap());
    assert_eq!(failed_in_one_line(output), "lanesmith: b: changed while it was read\n");
}

#[test]
fn arguments_that_make_no_sense_exit_with_2() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[10; 2]);
    for line in [
        "",
        "parity",
        "parity 0 1",
        "parity -o p",
        "parity 0 1 --check -o p",
        "parity 0 1 --check --rebuild",
        "parity 0 1 --rebuild",
        "parity 0 1 -o p --unknown",
        "unknown",
    ] {
        let said = failed(run(dir.path(), line), 2);
        assert!(!said.is_empty(), "{line}");
        assert_eq!(names(dir.path()).len(), 2, "{line}");
    }
}
