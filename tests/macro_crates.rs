//! Crates as users write them, each built by `cargo` as it would be there: `tests/crates`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crates")
}

fn tool(variable: &str, name: &str) -> Command {
    Command::new(std::env::var_os(variable).unwrap_or_else(|| name.into()))
}

fn checked(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}\n{}", text(&output.stdout), text(&output.stderr));
    output
}

/// Cargo on those crates, with the dependencies that this workspace has locked. A target is always named: flags for the
/// compiler are then not for the macros, which are built only once.
fn cargo(verb: &str, package: &str, target: &str, flags: &str) -> Command {
    let mut command = tool("CARGO", "cargo");
    command
        .current_dir(folder())
        .args([verb, "--offline", "--quiet", "--package", package, "--target", target, "--target-dir"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("crates"))
        .env("RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

/// What `rustc` prints for itself.
fn rustc(arguments: &[&str]) -> String {
    String::from_utf8(checked(tool("RUSTC", "rustc").args(arguments)).stdout).expect("text")
}

fn runs(package: &str, target: &str, flags: &str) {
    let output = checked(&mut cargo("run", package, target, flags));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all right\n", "{package} with {flags:?}");
}

#[test]
fn they_build_and_run() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
    std::fs::copy(ours, folder().join("Cargo.lock")).expect("the locked dependencies");

    let version = rustc(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    runs("renamed", host, "");
    checked(&mut cargo("build", "freestanding", host, ""));
    if host.starts_with("x86_64") {
        runs("plain", host, "-C target-cpu=x86-64");
    }
    runs("plain", host, "-C target-cpu=native");

    // Where there are no kernels, or where vector registers are not the program's to use, the same source is portable.
    let sysroot = rustc(&["--print", "sysroot"]);
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    let installed = |target: &&str| libraries.join(target).join("lib").exists();
    for target in ["aarch64-unknown-linux-gnu", "x86_64-unknown-none"].iter().filter(|t| installed(t)) {
        checked(&mut cargo("check", "freestanding", target, ""));
    }
}
