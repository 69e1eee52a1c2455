//! The environment's say in the choice of a tier. Each case is a process of its own, because it is read once.
#![cfg(feature = "std")]

use std::process::{Command, Output};

use lanesmith_codegen::target::Tier;
use lanesmith_runtime::cpu::{Cpu, XOR};

#[test]
#[ignore = "the child of the other tests"]
fn child() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(Cpu::get);
        }
    });
    let cpu = Cpu::get();
    println!("max={:?} ignored={:?} tier={:?}", cpu.policy.max_isa, cpu.ignored_max_isa, cpu.choose(&XOR).tier);
}

fn run(value: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "child", "--nocapture"]).env_remove("LANESMITH_MAX_ISA");
    if let Some(value) = value {
        command.env("LANESMITH_MAX_ISA", value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn prints(output: &Output, text: &str) -> bool {
    String::from_utf8_lossy(&output.stdout).contains(text)
}

#[test]
fn a_known_value_lowers() {
    for (value, tier) in [("sse2", Tier::Sse2), ("ssse3", Tier::Ssse3), ("avx512", Tier::Avx512)] {
        let output = run(Some(value));
        assert!(prints(&output, &format!("max=Some({tier:?}) ignored=None")), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stderr).contains("lanesmith"));
    }
    if cfg!(target_arch = "x86_64") {
        assert!(prints(&run(Some("sse2")), "tier=Some(Sse2)"));
    }
}

#[test]
fn an_unknown_value_is_reported_once_and_ignored() {
    let output = run(Some("avx1024"));
    assert!(prints(&output, r#"max=None ignored=Some("avx1024")"#), "{output:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.matches("LANESMITH_MAX_ISA=\"avx1024\" is ignored").count(), 1, "{errors}");
}

#[test]
fn unset_and_empty_are_the_same() {
    for value in [None, Some("")] {
        assert!(prints(&run(value), "max=None ignored=None"));
    }
}
