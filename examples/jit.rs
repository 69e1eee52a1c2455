//! A kernel of one's own: options, the listing, errors, and real data.
//!
//! ```text
//! cargo run --release --example jit -- [SOURCES [TIER [FILE]]]
//! ```
//!
//! `SOURCES` is the number of sources (default 5), `TIER` one of `sse2`, `avx2`, `avx512-256` and `avx512` (default: the
//! tier preferred on this CPU), and `FILE` any file (default: this program's own executable), which is cut into that many
//! blocks.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use lanesmith::codegen::spec::{Destination, Merge, XorOptions, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::cpu::{Cpu, XOR};
use lanesmith::reference;
use lanesmith::xor::{self, XorKernel};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("jit: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let sources = args.next().map_or(Ok(5), |n| n.parse())?;
    let tier = args.next().map(|tier| tier.parse::<Tier>()).transpose()?;
    let path = args.next().map_or_else(env::current_exe, |path| Ok(path.into()))?;
    let mut out = io::stdout().lock();

    // A specification says what to compute, and whatever of the how should not be left to the plan. All the rules that it
    // breaks are reported together.
    let wrong = XorOptions { unroll: Some(3), aligned: 48, ..XorOptions::default() };
    if let Err(errors) = XorSpec::with(sources, wrong) {
        for error in errors.errors() {
            writeln!(out, "refused: {error}")?;
        }
    }
    let options = XorOptions { destination: Destination::Accumulate, unroll: Some(2), ..XorOptions::default() };
    let spec = XorSpec::with(sources, options)?;

    // Some options cannot be had everywhere. That is an error too, and never another kernel than the one asked for.
    let ternary = XorSpec::with(sources, XorOptions { merge: Merge::Ternary, ..options })?;
    match XorKernel::compile_for(&ternary, Tier::Sse2) {
        Ok(kernel) => writeln!(out, "compiled: {kernel:?}")?,
        Err(error) => writeln!(out, "refused: {error}")?,
    }

    // Compile once and keep the handle.
    let compiled = match tier {
        Some(tier) => XorKernel::compile_for(&spec, tier),
        None => XorKernel::compile(&spec),
    };
    let kernel = match compiled {
        Ok(kernel) => kernel,
        // Nothing is lost: the functions of `xor` serve every source count, by static kernels or portable code.
        Err(error @ (xor::Error::NoExecutableMemory(_) | xor::Error::IllegalTier { .. })) => {
            writeln!(out, "no kernel of our own here: {error}")?;
            writeln!(out, "{}", Cpu::get().choose(&XOR))?;
            let (mut sum, blocks) = blocks(fs::read(&path)?, sources);
            xor::accumulate(&mut sum, &slices(&blocks))?;
            writeln!(out, "served by {}", xor::describe(Destination::Overwrite, sources, sum.len())?)?;
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let bytes: usize = kernel.code().iter().map(|code| code.code_len).sum();
    writeln!(out, "\n{kernel:?}\ntier {}, {bytes} bytes of code\n", kernel.tier())?;

    // The listing: what was asked, what a turn costs, the contract, and the instructions. Here without what follows the
    // unrolled loop.
    let listing = kernel.listing();
    let mut loops = 0;
    for line in listing.lines() {
        loops += u32::from(line.trim_start().starts_with("; loop"));
        if loops == 2 {
            break;
        }
        writeln!(out, "{line}")?;
    }

    // Real data, and the reference as the judge.
    let (mut sum, blocks) = blocks(fs::read(&path)?, sources);
    let mut expected = sum.clone();
    kernel.run(&mut sum, &slices(&blocks))?;
    reference::xor::accumulate(&mut expected, &slices(&blocks));
    if sum != expected {
        return Err("the kernel and the reference differ".into());
    }
    writeln!(out, "{}: {sources} blocks of {} bytes: equal to the reference", path.display(), sum.len())?;

    // Wrong arguments are refused before a byte is written, and the error names the culprit.
    let short = &blocks[0][1..];
    let mut operands = slices(&blocks);
    operands[sources - 1] = short;
    if let Err(error) = kernel.run(&mut sum, &operands) {
        writeln!(out, "refused: {error}")?;
    }
    Ok(())
}

/// An accumulator to start from, and `bytes` cut into `count` blocks of one length.
fn blocks(bytes: Vec<u8>, count: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let len = bytes.len() / count;
    let blocks: Vec<Vec<u8>> = (0..count).map(|k| bytes[k * len..(k + 1) * len].to_vec()).collect();
    ((0..len).map(|i| i as u8).collect(), blocks)
}

fn slices(blocks: &[Vec<u8>]) -> Vec<&[u8]> {
    blocks.iter().map(Vec::as_slice).collect()
}
