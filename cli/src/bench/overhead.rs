//! What a call costs beside the kernel: the first one for a source count, and each one through the safe API.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use lanesmith::codegen::plan::xor::XorTuning;
use lanesmith::codegen::spec::{XorOptions, XorSpec};
use lanesmith::xor::{self, XorKernel};
use lanesmith_measure::{Buffers, Interleaved, Layout, Options, Row, Spread, core_clock_ghz, pin_to_core};
use serde_json::{Value, json};

use super::figures::rounded;
use super::raw::{Call, Kernel, Operands, Sink};
use super::{BenchError, Output};
use crate::args::BenchOverheadArgs;

/// The source counts whose first calls are timed.
const COUNTS: std::ops::RangeInclusive<usize> = 1..=128;
const SOURCES: usize = 7;
const BYTES: usize = 64;

/// What was measured.
struct Overhead {
    /// The median time of a first call, in microseconds.
    first_call_us: f64,
    /// Core cycles of a call: of the kernel's entry, of a handle, of the safe function.
    entry: Option<f64>,
    handle: Option<f64>,
    function: Option<f64>,
    /// What a handle adds to the entry, the median over rounds.
    dispatch: Option<f64>,
}

/// Measures and prints.
///
/// # Errors
///
/// [`BenchError`].
pub(crate) fn run(args: &BenchOverheadArgs, out: &mut Output) -> Result<(), BenchError> {
    let pinned = pin_to_core();
    // First: nothing may have been compiled before.
    let first_call_us = first_calls()?;
    let overhead = calls(first_call_us)?;
    if args.json {
        return out.write(&format!("{}\n", overhead.json()));
    }
    let mut text = match pinned {
        Ok(core) => format!("pinned to core {core}"),
        Err(error) => format!("not pinned: {error}"),
    };
    let ghz = core_clock_ghz().map_or_else(|| "unknown".to_owned(), |ghz| format!("{ghz:.3} GHz"));
    let _ = writeln!(text, ", core clock {ghz}\n\n{}", overhead.text());
    out.write(&text)
}

/// The median time of a call with a source count that was never used before in this process, in microseconds: a kernel
/// is compiled, published and run.
fn first_calls() -> Result<f64, BenchError> {
    let mut times = Vec::new();
    for sources in COUNTS {
        let mut buffers = Buffers::new(sources, BYTES, Layout::Staggered);
        let (dest, sources) = buffers.dest_and_sources();
        let begun = Instant::now();
        xor::parity(dest, &sources)?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(Spread::of(&times).median)
}

/// Calls of 64 bytes, interleaved: by the entry, by a handle, by the safe function.
fn calls(first_call_us: f64) -> Result<Overhead, BenchError> {
    let options = XorOptions { length: XorTuning::DEFAULT.length_class(SOURCES, BYTES), ..XorOptions::default() };
    // The source count is one that a specification takes.
    let spec = XorSpec::with(SOURCES, options).ok();
    // None where no kernel may run: then there is only the safe function.
    let kernel = spec.and_then(|spec| XorKernel::compile(&spec).ok()).map(std::sync::Arc::new);
    let entry = kernel.clone().map(|kernel| Call::Kernel(Kernel::passes([kernel])));

    let shape = || Buffers::new(SOURCES, BYTES, Layout::Staggered);
    // Buffers for each row: a safe call holds its destination.
    let (mut for_entry, mut for_handle, mut for_function) = (shape(), shape(), shape());
    let (function_dest, function_sources) = for_function.dest_and_sources();
    let (handle_dest, handle_sources) = for_handle.dest_and_sources();
    let (dest, sources) = for_entry.dest_and_sources();
    let mut operands = Operands::new(dest, sources, None);

    let mut expected = vec![0; BYTES];
    lanesmith::reference::xor::parity(&mut expected, operands.sources());
    xor::parity(function_dest, &function_sources)?;
    let mut right = *function_dest == *expected;
    if let (Some(kernel), Some(entry)) = (&kernel, &entry) {
        kernel.run(handle_dest, &handle_sources)?;
        operands.bind(entry, &mut Once);
        right &= *handle_dest == *expected && *operands.dest() == *expected;
    }
    if !right {
        return Err(BenchError::Wrong { implementation: "auto", sources: SOURCES, bytes: BYTES });
    }

    let mut rows = Rows(Vec::new());
    rows.add(|| drop(black_box(xor::parity(function_dest, &function_sources))));
    if let (Some(kernel), Some(entry)) = (&kernel, &entry) {
        rows.add(|| drop(black_box(kernel.run(handle_dest, &handle_sources))));
        operands.bind(entry, &mut rows);
    }

    let report = Interleaved::new(rows.0).run(&Options { rounds: 2000, ..Options::default() });
    let cycles = |row: usize| report.rows.get(row).and_then(|row| row.cycles);
    let dispatch = report.rows.get(1).zip(report.rows.get(2)).zip(report.core_ghz).map(|((handle, entry), ghz)| {
        let added = handle.rounds_ns.iter().zip(&entry.rounds_ns).map(|(handle, entry)| (handle - entry) * ghz);
        Spread::of(&added.collect::<Vec<_>>()).median
    });
    Ok(Overhead { first_call_us, function: cycles(0), handle: cycles(1), entry: cycles(2), dispatch })
}

/// Takes rows of the harness.
struct Rows<'a>(Vec<Row<'a>>);

impl<'a> Sink<'a> for Rows<'a> {
    fn add(&mut self, call: impl FnMut() + 'a) {
        self.0.push(Row::new("", BYTES, call));
    }
}

/// Does a call once.
struct Once;

impl<'a> Sink<'a> for Once {
    fn add(&mut self, mut call: impl FnMut() + 'a) {
        call();
    }
}

impl Overhead {
    fn json(&self) -> Value {
        json!({
            "family": "xor",
            "first_call_us": rounded(self.first_call_us),
            "dispatch_cycles": self.dispatch.map(rounded),
            "call_64_bytes_cycles": self.function.map(rounded),
        })
    }

    fn text(&self) -> String {
        let cycles = |cycles: Option<f64>| cycles.map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.1}"));
        let counts = COUNTS.end();
        format!(
            "\
first call  {:>7.1} us      a source count never used before: compiled, published, run; median of 1 to {counts} sources
dispatch    {:>7} cycles  what a held handle adds to the kernel's entry
call        {:>7} cycles  xor::parity, {SOURCES} sources of {BYTES} bytes
  of which  {:>7} cycles  the kernel, called at its entry
  by handle {:>7} cycles  the same by XorKernel::run",
            self.first_call_us,
            cycles(self.dispatch),
            cycles(self.function),
            cycles(self.entry),
            cycles(self.handle),
        )
    }
}
