//! The comparison of XOR kernels over disks, lengths, destinations and layouts.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lanesmith::codegen::spec::Destination;
use lanesmith::cpu::{Cpu, brand};
use lanesmith_measure::{Layout, core_clock_ghz, pin_to_core};

use super::figures::Outcome;
use super::raw::allowed_cores;
use super::rows::{Config, Rows, Skipped};
use super::table::{NOTES, block};
use super::timing::{Rounds, measure};
use super::{BenchError, Output};
use crate::args::BenchXorArgs;

const DISKS: [u64; 14] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 24, 32, 64];
const SIZES: [u64; 4] = [4096, 16384, 65536, 1 << 20];
/// Up to this the lengths are measured when it has to be quick.
const QUICK_SIZE: u64 = 65536;
/// The length for which masked heads are measured.
const HEAD_SIZE: u64 = 4096;
/// All buffers of all threads together, at most.
const MEMORY: u64 = 4 << 30;

/// How long a sweep should take. Compiling and checking count; the least rounds are made in any case.
const TIME: Duration = Duration::from_secs(95);
const QUICK_TIME: Duration = Duration::from_secs(11);
/// One comparison gets no more of it.
const COMPARISON_TIME: Duration = Duration::from_secs(3);
const ROUNDS: Rounds = Rounds { least: 7, most: 1000 };
const QUICK_ROUNDS: Rounds = Rounds { least: 3, most: 300 };
/// What a configuration weighs when the time is divided, beside the bytes of its sources: short calls need rounds, too.
const WEIGHT: u64 = 2 << 20;

/// Measures and prints.
///
/// # Errors
///
/// [`BenchError`].
pub(crate) fn run(args: &BenchXorArgs, out: &mut Output) -> Result<(), BenchError> {
    let disks = sorted(&args.disks, &DISKS);
    let mut sizes = sorted(&args.sizes, &SIZES);
    if args.quick && args.sizes.is_empty() {
        sizes.retain(|size| *size <= QUICK_SIZE);
    }
    let cores = cores(args.threads)?;
    let threads = cores.len().max(1);
    if let (Some(disks), Some(size)) = (disks.last(), sizes.last()) {
        // The destination twice: once for the limits, which cannot read and write one buffer at a time.
        let needed = (disks + 1) * size * threads as u64;
        if needed > MEMORY {
            return Err(BenchError::Memory { disks: *disks, size: *size, threads, needed });
        }
    }

    // The allowed cores have been read: now this thread may give up all but one.
    let pinned = pin_to_core();
    let mut rows = Rows::new();
    if !args.json {
        out.write(&header(&rows, &pinned, &cores, args.quick))?;
    }
    let blocks = blocks(&sizes, args.cold);
    let bar = progress_bar((blocks.len() * disks.len()) as u64);
    let rounds = if args.quick { QUICK_ROUNDS } else { ROUNDS };
    let weight = |config: &Config| (config.sources * config.bytes) as u64 + WEIGHT;
    let configs = |shape: &Config| -> Vec<Config> {
        disks.iter().map(|disks| Config { sources: *disks as usize - 1, ..*shape }).collect()
    };
    let mut weight_left: u64 = blocks.iter().flat_map(configs).map(|config| weight(&config)).sum();
    let mut said: HashSet<Skipped> = HashSet::new();
    let begun = Instant::now();
    let time = if args.quick { QUICK_TIME } else { TIME };
    for shape in &blocks {
        let mut outcomes = Vec::new();
        for config in configs(shape) {
            let (variants, skipped) = rows.of(&config);
            // What shorter configurations did not use is left to the longer ones, which come later.
            let share = weight(&config) as f64 / weight_left as f64;
            let left = time.saturating_sub(begun.elapsed());
            let timings = measure(&config, &variants, &cores, left.mul_f64(share).min(COMPARISON_TIME), rounds)?;
            weight_left = weight_left.saturating_sub(weight(&config)).max(1);
            let outcome = Outcome::new(config, threads, &variants, timings, skipped);
            bar.inc(1);
            if args.json {
                for skipped in outcome.skipped.iter().filter(|skipped| !said.contains(skipped)) {
                    bar.suspend(|| out.note(&format!("skipped {}: {}", skipped.implementation, skipped.reason)));
                }
                said.extend(outcome.skipped.iter().cloned());
                bar.suspend(|| out.write(&outcome.json()))?;
            }
            outcomes.push(outcome);
        }
        if !args.json {
            bar.suspend(|| out.write(&block(&outcomes)))?;
        }
    }
    bar.finish_and_clear();
    if !args.json {
        let ghz = clock(core_clock_ghz());
        out.write(&format!("took {:.1} s; core clock at the end {ghz}\n", begun.elapsed().as_secs_f64()))?;
    }
    Ok(())
}

/// Ascending and each once, or the default.
fn sorted(given: &[u64], default: &[u64]) -> Vec<u64> {
    let mut list = if given.is_empty() { default.to_vec() } else { given.to_vec() };
    list.sort_unstable();
    list.dedup();
    list
}

/// A core for each thread; none for one thread, which the interleaving harness serves.
fn cores(threads: usize) -> Result<Vec<usize>, BenchError> {
    if threads == 1 {
        return Ok(Vec::new());
    }
    let mut cores = allowed_cores();
    if cores.len() < threads {
        return Err(BenchError::Threads { threads, cores: cores.len() });
    }
    // The last: interrupts gather on the first.
    Ok(cores.split_off(cores.len() - threads))
}

/// The tables, shortest length first; the source counts are not in them yet.
fn blocks(sizes: &[u64], cold: bool) -> Vec<Config> {
    let temperatures: &[bool] = if cold { &[false, true] } else { &[false] };
    let mut blocks = Vec::new();
    for &size in sizes {
        for &cold in temperatures {
            let mut add = |destination, layout| {
                blocks.push(Config { sources: 0, bytes: size as usize, destination, layout, cold });
            };
            for destination in [Destination::Accumulate, Destination::Overwrite] {
                add(destination, Layout::Aligned);
                add(destination, Layout::Staggered);
            }
            if size == HEAD_SIZE {
                add(Destination::Overwrite, Layout::Offset1);
            }
        }
    }
    blocks
}

fn header(rows: &Rows, pinned: &io::Result<usize>, cores: &[usize], quick: bool) -> String {
    let mut out = String::new();
    let name = brand();
    let name = if name.is_empty() { "unnamed" } else { &name };
    let _ = writeln!(out, "cpu         {name}, {}", Cpu::get().snapshot.model());
    let _ = match (pinned, cores) {
        (Ok(core), []) => writeln!(out, "pinned to   core {core}"),
        (Err(error), []) => writeln!(out, "not pinned  {error}"),
        (_, cores) => writeln!(out, "threads     {}, pinned to cores {cores:?}, in step", cores.len()),
    };
    let _ = writeln!(out, "core clock  {}", clock(core_clock_ghz()));
    let auto = rows.preferred().map_or("none", |tier| tier.name());
    let _ = writeln!(out, "auto        tier {auto}, the plan for each source count and length");
    let (rounds, time) = if quick { (QUICK_ROUNDS, QUICK_TIME) } else { (ROUNDS, TIME) };
    let (least, most, seconds) = (rounds.least, rounds.most, time.as_secs_f64());
    let _ =
        writeln!(out, "rounds      {least} to {most} for each comparison, as fit {seconds:.0} s in all; rows shuffled");
    let _ = writeln!(out, "\n{NOTES}");
    out
}

fn clock(ghz: Option<f64>) -> String {
    ghz.map_or_else(|| "unknown".to_owned(), |ghz| format!("{ghz:.3} GHz"))
}

/// Drawn between comparisons only, and only if standard error is a terminal.
fn progress_bar(configs: u64) -> ProgressBar {
    let bar = ProgressBar::new(configs);
    // A template that does not parse only costs the look of the bar.
    match ProgressStyle::with_template("{wide_bar} {pos}/{len} comparisons, {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
