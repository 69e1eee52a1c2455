//! `lanesmith emit`: every format for every tier, judged by the assembler and the analyser where they are installed.

mod common;

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{failed, installed, run, succeeded};

const TIERS: [&str; 4] = ["sse2", "avx2", "avx512-256", "avx512"];
/// Kernels of every shape: all in registers, parked, reloaded in a loop, grouped, with promises.
const KERNELS: [&str; 10] = [
    "--srcs 1",
    "--srcs 5",
    "--srcs 5 --unroll 1 --head off",
    "--srcs 5 --store non-temporal --aligned 64",
    "--srcs 4 --destination accumulate --strategy grouped4 --aligned 64 --multiple-of 512 --head off",
    "--srcs 11 --strategy grouped4 --merge pairwise",
    "--srcs 16 --destination zero-test",
    "--srcs 31 --length short",
    "--srcs 40 --length long",
    "--srcs 1024 --strategy single",
];

fn emit(options: &str) -> Output {
    run(Path::new("."), &format!("emit xor {options}"))
}

/// Every kernel on every tier in a format, with the options that gave it.
fn all(format: &str) -> impl Iterator<Item = (String, String)> {
    let options = TIERS.into_iter().flat_map(|tier| KERNELS.map(|kernel| format!("{kernel} --tier {tier}")));
    options.map(move |options| {
        let text = succeeded(emit(&format!("{options} --format {format}")));
        (options, text)
    })
}

/// Runs a tool on a text.
fn feed(tool: &mut Command, text: &str) -> Output {
    let mut child = tool.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    output
}

#[test]
fn listings_begin_with_what_was_asked() {
    for (options, text) in all("listing") {
        assert!(text.starts_with("; xor srcs="), "{options}");
        assert!(text.contains("; features: ") && text.contains("\n  ret\n"), "{options}");
    }
    assert_eq!(succeeded(emit("--srcs 5 --tier avx2")), succeeded(emit("--srcs 5 --width 256 --format listing")));
}

#[test]
fn symbols_are_unique() {
    for (options, text) in all("asm") {
        let labels: Vec<&str> = text.lines().filter(|line| line.ends_with(':') && !line.starts_with('#')).collect();
        assert!(!labels.is_empty());
        assert_eq!(labels.iter().collect::<HashSet<_>>().len(), labels.len(), "{options}");
    }
    assert!(succeeded(emit("--srcs 11 --strategy grouped4 --format asm")).matches(".globl").count() > 1);
}

#[test]
fn asm_assembles() {
    let dir = tempfile::tempdir().unwrap();
    let object = dir.path().join("kernel.o");
    for (tool, arguments) in [
        ("as", &["--fatal-warnings", "-o"][..]),
        ("llvm-mc", &["-triple=x86_64-linux-gnu", "-filetype=obj", "-mattr=+avx512vl,+avx512bw,+bmi2", "-o"]),
    ] {
        if !installed(tool) {
            continue;
        }
        for (options, text) in all("asm") {
            let output = feed(Command::new(tool).args(arguments).arg(&object), &text);
            assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(fs::metadata(&object).unwrap().len() > 0);
        }
    }
}

#[test]
fn bytes_are_those_of_the_instructions() {
    for (options, text) in all("bytes") {
        let mut expected = 0;
        for line in text.lines() {
            if line.ends_with(':') {
                expected = if line.starts_with("lanesmith_") { 0 } else { expected };
            } else if let Some((offset, rest)) = line.split_once(": ").filter(|_| !line.starts_with(';')) {
                assert_eq!(usize::from_str_radix(offset.trim(), 16).unwrap(), expected, "{options}: {line}");
                let hex = rest.split("  ").next().unwrap();
                expected += hex.split(' ').filter(|byte| u8::from_str_radix(byte, 16).is_ok()).count();
            }
        }
        assert!(text.contains("f3 0f 1e fa") && text.contains("endbr64"), "{options}");
    }
}

#[test]
fn mca_analyses_the_main_loop() {
    for (options, text) in all("mca") {
        let begins = text.matches("# LLVM-MCA-BEGIN ").count();
        assert!(begins >= 1 && begins == text.matches("# LLVM-MCA-END").count(), "{options}");
    }
    if !installed("llvm-mca") {
        return;
    }
    for (options, text) in all("mca").filter(|(options, _)| !options.contains("1024")) {
        let output = feed(Command::new("llvm-mca").arg("-mcpu=icelake-server"), &text);
        assert!(output.stderr.is_empty(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
        let report = succeeded(output);
        assert_eq!(report.matches("Code Region - ").count(), text.matches("# LLVM-MCA-BEGIN ").count(), "{options}");
    }
}

#[test]
fn the_region_for_mca_has_the_instructions_of_a_turn() {
    for options in ["--srcs 5", "--srcs 5 --unroll 1", "--srcs 101 --strategy single --length short"] {
        let text = succeeded(emit(&format!("{options} --tier avx512 --format mca")));
        let stated = text.split(" bytes, ").nth(1).and_then(|s| s.split(" instructions").next()).unwrap();
        let region = text.split("# LLVM-MCA-BEGIN").nth(1).and_then(|s| s.split("# LLVM-MCA-END").next()).unwrap();
        assert_eq!(region.lines().count() - 1, stated.parse::<usize>().unwrap(), "{options}");
        assert!(region.contains("add ") && region.contains("jle "), "{options}");
    }
}

#[test]
fn every_error_of_a_spec_is_printed_at_once() {
    let said = failed(emit("--srcs 0 --unroll 3 --aligned 3 --multiple-of 7 --strategy grouped13"), 2);
    assert_eq!(said.lines().count(), 5, "{said}");
    assert!(said.lines().all(|line| line.starts_with("lanesmith: ")), "{said}");
    assert!(failed(emit("--srcs 1025"), 2).contains("1025 sources are too many: at most 1024"));
    assert!(failed(emit("--srcs 3 --tier sse2 --merge ternary"), 2).contains("sse2 has no three-input XOR"));
}

#[test]
fn unknown_words_are_refused_with_those_that_are_known() {
    for (options, expected) in [
        ("--srcs 3 --width 192", "expected 128, 256 or 512"),
        ("--srcs 3 --tier mmx", "sse2, avx2, avx512-256, avx512"),
        ("--srcs 3 --destination x", "expected overwrite, accumulate or zero-test"),
        ("--srcs 3 --strategy grouped", "groupedN"),
        ("--srcs 3 --tier sse2 --width 128", "cannot be used with"),
        ("--srcs x", "invalid"),
        ("", "--srcs"),
    ] {
        let said = failed(emit(options), 2);
        assert!(said.contains(expected), "{said}");
    }
}
