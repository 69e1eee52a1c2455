//! What the tests of the program share.
#![allow(dead_code)] // every test file uses a part of it

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program.
pub(crate) fn lanesmith() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lanesmith"))
}

/// Runs the program in `dir` with the words of `line`.
pub(crate) fn run(dir: &Path, line: &str) -> Output {
    lanesmith().current_dir(dir).args(line.split_whitespace()).output().unwrap()
}

/// Runs a shell script in `dir`; the program is `$L`.
pub(crate) fn shell(dir: &Path, script: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_lanesmith");
    Command::new("sh").current_dir(dir).env("L", program).args(["-c", script]).output().unwrap()
}

/// Standard output of a run that must have succeeded.
#[track_caller]
pub(crate) fn succeeded(output: Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a run that must have ended with `code`, saying nothing on standard output.
#[track_caller]
pub(crate) fn failed(output: Output, code: i32) -> String {
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty());
    stderr
}

/// As [`failed`] with code 1, for which there is exactly one line.
#[track_caller]
pub(crate) fn failed_in_one_line(output: Output) -> String {
    let stderr = failed(output, 1);
    assert!(stderr.starts_with("lanesmith: ") && stderr.ends_with('\n') && stderr.lines().count() == 1, "{stderr:?}");
    stderr
}

/// Bytes without a pattern that a XOR could cancel, from a seed (xorshift64*).
pub(crate) fn random(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        bytes.extend_from_slice(&state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Writes random files of the given lengths, named `0`, `1` …, and returns their XOR, zeros assumed at the ends.
pub(crate) fn files(dir: &Path, lengths: &[usize]) -> Vec<u8> {
    let mut sum = vec![0; lengths.iter().copied().max().unwrap_or(0)];
    for (k, len) in lengths.iter().enumerate() {
        let bytes = random(k as u64 + 1, *len);
        sum.iter_mut().zip(&bytes).for_each(|(s, b)| *s ^= b);
        fs::write(dir.join(k.to_string()), bytes).unwrap();
    }
    sum
}

/// The names in `dir`, sorted.
pub(crate) fn names(dir: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| PathBuf::from(e.unwrap().file_name())).collect();
    names.sort();
    names
}

/// Whether `program` is installed; says so if it is not.
pub(crate) fn installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}
