//! One comparison: its buffers, the check of every row, and the time that it may take.

use std::hint::black_box;
use std::time::{Duration, Instant};

use lanesmith::codegen::spec::Destination;
use lanesmith::reference::xor as reference;
use lanesmith_measure::{Buffers, Interleaved, Options, Row};

use super::BenchError;
use super::raw::{Operands, Sink};
use super::rows::{Config, Variant};
use super::threads;

/// How long a slice of short calls lasts, and what the untimed rest of a cold call costs, both in nanoseconds.
const SLICE_NS: f64 = 4000.0;
const EVICTION_NS: f64 = 6000.0;
/// The calls of a cold slice, as the harness has them.
const COLD_CALLS: f64 = 8.0;
/// The calls that calibrating a row takes if they are long.
const CALIBRATION_CALLS: f64 = 4.0;

/// How many rounds a comparison may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) least: usize,
    pub(crate) most: usize,
}

/// What was measured of one variant.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    /// Nanoseconds per call in each round; at the mean rate of the threads if there are several.
    pub(crate) rounds_ns: Vec<f64>,
    /// Core cycles per call, the median. `None` where the core's clock cannot be measured.
    pub(crate) cycles: Option<f64>,
}

/// The buffers of one thread.
pub(crate) struct Memory {
    buffers: Buffers,
    /// Stands for the destination where the limits read it: they cannot read and write one buffer at once.
    accumulated: Option<Buffers>,
}

impl Memory {
    pub(crate) fn new(config: &Config) -> Self {
        let accumulated = config.destination == Destination::Accumulate;
        Self {
            buffers: Buffers::new(config.sources, config.bytes, config.layout),
            // Of no sources: it is laid out as a destination is.
            accumulated: accumulated.then(|| Buffers::new(0, config.bytes, config.layout)),
        }
    }

    pub(crate) fn operands(&mut self) -> Operands<'_> {
        let (dest, sources) = self.buffers.dest_and_sources();
        let accumulated = self.accumulated.as_mut().map(|buffers| &*buffers.dest_and_sources().0);
        Operands::new(dest, sources, accumulated)
    }
}

/// Checks the variants, then measures them for about as long as `time` says, on this thread or on one for each of
/// `cores`.
///
/// # Errors
///
/// [`BenchError::Wrong`] if a row computes anything but what the reference does; nothing is measured then.
pub(crate) fn measure(
    config: &Config,
    variants: &[Variant],
    cores: &[usize],
    time: Duration,
    rounds: Rounds,
) -> Result<Vec<Timing>, BenchError> {
    let begun = Instant::now();
    let mut memory = Memory::new(config);
    let mut operands = memory.operands();
    let call_ns = check(config, variants, &mut operands)?;
    let left = time.saturating_sub(begun.elapsed()).as_nanos() as f64;
    let slice_ns = if cores.is_empty() { SLICE_NS } else { threads::SLICE_NS };
    let round_ns: f64 = call_ns.iter().map(|ns| slice(*ns, slice_ns, config.cold)).sum();
    let calibration_ns = CALIBRATION_CALLS * call_ns.iter().sum::<f64>();
    let fitting = ((left - calibration_ns) / round_ns) as usize;
    let fitting = fitting.clamp(rounds.least, rounds.most);
    let (rounds, warmup_rounds) = (fitting, (fitting / 10).max(1));
    if !cores.is_empty() {
        return threads::measure(config, variants, &operands, cores, rounds, warmup_rounds);
    }
    let options = Options { rounds, warmup_rounds, cold: config.cold, ..Options::default() };
    let mut rows = Rows(Vec::new());
    variants.iter().for_each(|variant| operands.bind(&variant.call, &mut rows));
    let report = Interleaved::new(rows.0).run(&options);
    Ok(report.rows.into_iter().map(|row| Timing { rounds_ns: row.rounds_ns, cycles: row.cycles }).collect())
}

/// What a row adds to a round, in nanoseconds, if a call takes `call_ns`.
fn slice(call_ns: f64, slice_ns: f64, cold: bool) -> f64 {
    if cold { call_ns + COLD_CALLS * (call_ns + EVICTION_NS) } else { call_ns + call_ns.max(slice_ns) }
}

struct Rows<'a>(Vec<Row<'a>>);

impl<'a> Sink<'a> for Rows<'a> {
    fn add(&mut self, call: impl FnMut() + 'a) {
        // Names and speeds are ours: several rows may have one name.
        self.0.push(Row::new("", 0, call));
    }
}

/// Does each call once and compares the destination with what the reference makes of it.
/// Returns the nanoseconds that each call took.
fn check(config: &Config, variants: &[Variant], operands: &mut Operands<'_>) -> Result<Vec<f64>, BenchError> {
    let before = operands.dest().to_vec();
    let mut expected = before.clone();
    match config.destination {
        Destination::Accumulate => reference::accumulate(&mut expected, operands.sources()),
        _ => reference::parity(&mut expected, operands.sources()),
    }
    variants
        .iter()
        .map(|variant| {
            operands.dest().copy_from_slice(&before);
            let mut once = Once(Duration::ZERO);
            operands.bind(&variant.call, &mut once);
            if variant.call.computes() && operands.dest() != expected {
                let Config { sources, bytes, .. } = *config;
                return Err(BenchError::Wrong { implementation: variant.implementation, sources, bytes });
            }
            Ok(once.0.as_nanos() as f64)
        })
        .collect()
}

struct Once(Duration);

impl<'a> Sink<'a> for Once {
    fn add(&mut self, mut call: impl FnMut() + 'a) {
        let begun = Instant::now();
        call();
        black_box(());
        self.0 = begun.elapsed();
    }
}
