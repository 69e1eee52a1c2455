//! The program as a whole: help, version, the CPU report, and a reader that goes away.

mod common;

use std::path::Path;
use std::process::Stdio;

use common::{lanesmith, run, shell, succeeded};

#[test]
fn help_has_an_example_everywhere() {
    for line in ["--help", "parity --help", "checksum --help", "emit --help", "emit xor --help", "cpu --help"] {
        let help = succeeded(run(Path::new("."), line));
        assert!(help.contains("Example:\n  lanesmith "), "{line}: {help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let said = succeeded(run(Path::new("."), "--version"));
    assert_eq!(said, format!("lanesmith {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_cpu_report_says_what_was_chosen_and_why() {
    let report = succeeded(shell(Path::new("."), "LANESMITH_MAX_ISA=sse2 \"$L\" cpu"));
    for expected in
        ["\nmodel ", "\nfeatures ", "\nxcr0 ", "\noverride   LANESMITH_MAX_ISA=sse2\n", "\njit ", "\nxor: sse2\n"]
    {
        assert!(report.contains(expected), "{expected:?} in {report}");
    }
    assert!(succeeded(shell(Path::new("."), "unset LANESMITH_MAX_ISA; \"$L\" cpu")).contains("\noverride   none\n"));
    let report = succeeded(shell(Path::new("."), "LANESMITH_JIT=off LANESMITH_MAX_ISA=mmx \"$L\" cpu"));
    assert!(report.contains("LANESMITH_MAX_ISA=mmx (ignored)"), "{report}");
    assert!(report.contains("turned off by LANESMITH_JIT"), "{report}");
}

#[test]
fn the_json_report_says_the_same() {
    let report = succeeded(shell(Path::new("."), "LANESMITH_MAX_ISA=sse2 \"$L\" cpu --json"));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["families"][0]["family"], "xor");
    assert_eq!(report["families"][0]["tier"], "sse2");
    assert_eq!(report["families"][0]["tiers"].as_array().unwrap().len(), 4);
    assert_eq!(report["overrides"][0]["value"], "sse2");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut command = lanesmith();
    command.args(["emit", "xor", "--srcs", "1024", "--strategy", "single", "--format", "mca"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_full_standard_output_is_a_failure() {
    if cfg!(target_os = "linux") {
        let output = shell(Path::new("."), "\"$L\" cpu > /dev/full");
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stderr.starts_with(b"lanesmith: standard output: No space left"));
    }
}
