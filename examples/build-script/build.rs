//! Writes `OUT_DIR/kernels.rs`: the XOR of [`SOURCES`] sources for three vector widths, each a naked function.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use lanesmith_codegen::kernel::xor::compile;
use lanesmith_codegen::plan::xor::XorTuning;
use lanesmith_codegen::spec::XorSpec;
use lanesmith_codegen::target::Tier;
use lanesmith_codegen::text;

/// How many sources the kernels have.
const SOURCES: usize = 5;
/// From the widest to the one that every x86-64 CPU can run.
const TIERS: [Tier; 3] = [Tier::Avx512, Tier::Avx2, Tier::Sse2];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut file = format!("/// How many sources each kernel takes.\npub const SOURCES: usize = {SOURCES};\n");
    // The target is in the environment; `cfg!(target_arch)` would be the machine that builds.
    if env::var("CARGO_CFG_TARGET_ARCH")? == "x86_64" {
        kernels(&mut file)?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("kernels.rs"), file)?;
    Ok(())
}

/// One naked function per tier, and a table of them.
fn kernels(file: &mut String) -> Result<(), Box<dyn Error>> {
    let mut rows = String::new();
    for tier in TIERS {
        let spec = XorSpec::new(SOURCES)?;
        let lowered = compile(&spec, tier, &XorTuning::DEFAULT)?;
        // Few sources are one pass over the destination: one program, and no driver is needed.
        let ([program], [contract]) = (&lowered.programs[..], &lowered.contracts[..]) else {
            return Err(format!("{spec} on {tier} has {} programs", lowered.programs.len()).into());
        };
        // XOR kernels have no constants. Others would need a 64-byte-aligned static, named by `sym`.
        if !program.pool().bytes().is_empty() {
            return Err(format!("{} has constants", program.name()).into());
        }

        let name = program.name();
        for line in contract.to_string().lines() {
            writeln!(file, "/// {line}")?;
        }
        writeln!(file, "#[unsafe(naked)]")?;
        writeln!(
            file,
            "unsafe extern \"sysv64\" fn {name}(_: *mut u8, _: *const *const u8, _: usize, _: usize) -> u64 {{"
        )?;
        writeln!(file, "    core::arch::naked_asm!(")?;
        for line in text::body(program, "").lines() {
            // A template of `naked_asm!` is a format string: the braces of writemasks are doubled.
            writeln!(file, "        {:?},", line.replace('{', "{{").replace('}', "}}"))?;
        }
        writeln!(file, "    )\n}}")?;

        let detected: Vec<String> =
            program.features().iter().map(|f| format!("is_x86_feature_detected!({:?})", f.name())).collect();
        writeln!(
            rows,
            "    Kernel {{ tier: {:?}, runs_here: || {}, entry: {name} }},",
            tier.name(),
            detected.join(" && ")
        )?;
    }
    writeln!(file, "/// The kernels, from the widest vectors to the narrowest.")?;
    writeln!(file, "static KERNELS: [Kernel; {}] = [\n{rows}];", TIERS.len())?;
    Ok(())
}
