//! The harness: rows, slices, rounds, and what is reported of them.
//!
//! ```text
//! for each row: calls per slice := slice / time of a call          (calibration)
//! for each round (the first few are warm-up, not kept):
//!     for each row, and the chain of additions, in a new order:
//!         one call, not timed                                       (brings the row's data and code into the caches)
//!         ticks, calls, ticks                                       (one slice)
//!         or, with cold L1, a few times: evict, ticks, call, ticks
//! ```

use crate::buffers::L1Evictor;
use crate::clock::{CHAIN_ADDS, HAS_CHAIN, add_chain, now_ticks, overhead_ticks, ticks_per_ns};
use crate::shuffle::XorShift;
use crate::stats::{Spread, paired_ratio};
use std::fmt;
use std::hint::black_box;

/// No slice has more calls than this, however short a call seems.
const MAX_CALLS: u64 = 1 << 20;

/// The calls of a cold slice, each timed alone. Their mean is what the slice counts: a time-stamp counter may advance
/// in steps of 10 ns, and a single call is not long against that.
const COLD_CALLS: u64 = 8;

/// Does so many calls on the context: one dynamic dispatch for a slice, none within it.
type Slice<'a, C> = Box<dyn FnMut(&mut C, u64) + 'a>;

/// One variant in a comparison: a name and a closure that does one call.
///
/// `C` is a context that all rows of a comparison share, such as the buffers of the call: variants should work on the
/// *same* memory, and as each writes to it, no closure can own it. Rows that need none leave it `()`.
pub struct Row<'a, C = ()> {
    name: String,
    bytes: usize,
    slice: Slice<'a, C>,
}

impl<'a, C> Row<'a, C> {
    /// A row whose calls need no context. `bytes` is what one call processes, for the speeds in the report.
    ///
    /// The compiler must not see through the call: pass results to [`black_box`].
    pub fn new(name: impl Into<String>, bytes: usize, mut call: impl FnMut() + 'a) -> Self {
        Self::with(name, bytes, move |_| call())
    }

    /// A row whose calls work on the shared context.
    pub fn with(name: impl Into<String>, bytes: usize, mut call: impl FnMut(&mut C) + 'a) -> Self {
        let slice = move |context: &mut C, calls: u64| {
            for _ in 0..calls {
                call(context);
                // Costs no instruction; keeps the compiler from merging the memory accesses of two calls.
                black_box(());
            }
        };
        Self { name: name.into(), bytes, slice: Box::new(slice) }
    }

    /// The row's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<C> fmt::Debug for Row<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("name", &self.name).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// How to measure. The defaults suit a quiet machine: `Options { rounds: 1000, ..Options::default() }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The rounds that count, at least 1.
    pub rounds: usize,
    /// Rounds before them, thrown away: caches, predictors and the clock settle.
    pub warmup_rounds: usize,
    /// How long a slice should last, in nanoseconds. Short, so that an interruption spoils few of them; longer calls
    /// make a slice of one call.
    pub slice_ns: f64,
    /// The seed of the order of slices.
    pub seed: u64,
    /// Measure with cold L1: a slice is a few calls, before each of which the L1 data cache is evicted, so that what
    /// the L2 cache can hold comes from there. The timer's own cost is deducted, but its serialisation shows the
    /// latency of a single call: compare cold figures with cold figures.
    pub cold: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { rounds: 200, warmup_rounds: 20, slice_ns: 4000.0, seed: 0x1a4e_5317, cold: false }
    }
}

impl Options {
    /// A few rounds of single calls: a bench run as a test, to see that it runs at all.
    pub fn smoke() -> Self {
        Self { rounds: 3, warmup_rounds: 1, slice_ns: 0.0, ..Self::default() }
    }
}

/// A comparison: its first row is the baseline of the ratios.
#[derive(Debug)]
pub struct Interleaved<'a, C = ()> {
    rows: Vec<Row<'a, C>>,
}

impl Interleaved<'_, ()> {
    /// Measures rows that need no context.
    pub fn run(&mut self, options: &Options) -> Report {
        self.run_with(&mut (), options)
    }
}

impl<'a, C> Interleaved<'a, C> {
    /// A comparison of `rows`, each checked for correctness by the caller.
    pub fn new(rows: Vec<Row<'a, C>>) -> Self {
        Self { rows }
    }

    /// Measures the rows on the shared `context`. Takes about (rounds + warm-up) × rows × 4 µs if calls are short.
    pub fn run_with(&mut self, context: &mut C, options: &Options) -> Report {
        let rounds = options.rounds.max(1);
        let timer = Timer { overhead: overhead_ticks(), slice_ticks: options.slice_ns * ticks_per_ns() };
        let evictor = options.cold.then(L1Evictor::new);

        let mut chain: Slice<'_, C> = Box::new(|_, turns| {
            add_chain(turns);
        });
        let chain_turns = timer.calibrate(&mut chain, context);
        let calls: Vec<u64> = (self.rows.iter_mut())
            .map(|row| if options.cold { COLD_CALLS } else { timer.calibrate(&mut row.slice, context) })
            .collect();

        // One more entry than rows: the last is the chain.
        let mut order: Vec<usize> = (0..=self.rows.len()).collect();
        let mut random = XorShift::new(options.seed);
        let mut ns: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); self.rows.len()];
        let mut ghz: Vec<f64> = Vec::with_capacity(rounds);
        for round in 0..options.warmup_rounds + rounds {
            random.shuffle(&mut order);
            for &entry in &order {
                let (slice, count) = match self.rows.get_mut(entry) {
                    Some(row) => (&mut row.slice, calls[entry]),
                    None => (&mut chain, chain_turns),
                };
                slice(context, 1);
                let ticks = match &evictor {
                    // The chain touches no memory.
                    Some(evictor) if entry < calls.len() => timer.time_cold(slice, context, count, evictor),
                    _ => timer.time(slice, context, count),
                };
                let per_call = ticks / count as f64 / ticks_per_ns();
                if round >= options.warmup_rounds {
                    match ns.get_mut(entry) {
                        Some(times) => times.push(per_call),
                        None => ghz.push(CHAIN_ADDS as f64 / per_call),
                    }
                }
            }
        }

        let baseline = ns.first().cloned().unwrap_or_default();
        let samples = self.rows.iter().zip(calls).zip(ns).map(|((row, calls_per_slice), rounds_ns)| Sample {
            name: row.name.clone(),
            bytes: row.bytes,
            calls_per_slice,
            ns: Spread::of(&rounds_ns),
            cycles: HAS_CHAIN.then(|| {
                // By the clock of the same round: the clock may drift while the comparison runs.
                Spread::of(&rounds_ns.iter().zip(&ghz).map(|(ns, ghz)| ns * ghz).collect::<Vec<_>>()).median
            }),
            ratio: paired_ratio(&baseline, &rounds_ns),
            rounds_ns,
        });
        Report { rows: samples.collect(), core_ghz: HAS_CHAIN.then(|| Spread::of(&ghz).median), rounds }
    }
}

struct Timer {
    overhead: f64,
    slice_ticks: f64,
}

impl Timer {
    /// The ticks of so many calls, never 0: a ratio divides by it.
    fn time<C>(&self, slice: &mut Slice<'_, C>, context: &mut C, calls: u64) -> f64 {
        (raw_ticks(slice, context, calls) - self.overhead).max(1.0)
    }

    /// The same with each call timed alone, right after an eviction.
    fn time_cold<C>(&self, slice: &mut Slice<'_, C>, context: &mut C, calls: u64, evictor: &L1Evictor) -> f64 {
        let mut ticks = 0.0;
        for _ in 0..calls {
            evictor.evict();
            ticks += raw_ticks(slice, context, 1) - self.overhead;
        }
        ticks.max(1.0)
    }

    /// The number of calls that fill a slice, at least 1.
    fn calibrate<C>(&self, slice: &mut Slice<'_, C>, context: &mut C) -> u64 {
        slice(context, 1);
        let mut calls = 1;
        loop {
            // The least of three: an interruption would make the row's slices too short for the whole run.
            let ticks = (0..3).map(|_| self.time(slice, context, calls)).fold(f64::MAX, f64::min);
            if ticks * 2.0 >= self.slice_ticks || calls >= MAX_CALLS {
                let fitting = calls as f64 * self.slice_ticks / ticks;
                return (fitting.round() as u64).clamp(1, MAX_CALLS);
            }
            calls *= 2;
        }
    }
}

fn raw_ticks<C>(slice: &mut Slice<'_, C>, context: &mut C, calls: u64) -> f64 {
    let start = now_ticks();
    slice(context, calls);
    now_ticks().saturating_sub(start) as f64
}

/// What was measured of one row.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The row's name.
    pub name: String,
    /// The bytes that one call processes, as the row states.
    pub bytes: usize,
    /// The calls in one slice.
    pub calls_per_slice: u64,
    /// Nanoseconds per call.
    pub ns: Spread,
    /// The median of core cycles per call; `None` where [`Report::core_ghz`] is.
    pub cycles: Option<f64>,
    /// The paired ratio to the baseline, the first row: above 1 this row is faster.
    pub ratio: Spread,
    /// Nanoseconds per call in each round, in the order of rounds.
    pub rounds_ns: Vec<f64>,
}

impl Sample {
    /// Bytes per core cycle, from the medians.
    pub fn bytes_per_cycle(&self) -> Option<f64> {
        self.cycles.map(|cycles| self.bytes as f64 / cycles)
    }

    /// Gigabytes (10⁹ bytes) per second, from the median.
    pub fn gb_per_s(&self) -> f64 {
        self.bytes as f64 / self.ns.median
    }
}

/// The result of a comparison. `Display` is a table.
#[derive(Clone, Debug)]
pub struct Report {
    /// One sample per row, in the order of the rows.
    pub rows: Vec<Sample>,
    /// The median core clock in GHz, measured between the rows; `None` on architectures without a chain of additions.
    pub core_ghz: Option<f64>,
    /// The rounds that count.
    pub rounds: usize,
}

impl Report {
    /// The first row of that name.
    pub fn row(&self, name: &str) -> Option<&Sample> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// The paired ratio of a row to any other as its baseline, by name.
    pub fn ratio(&self, baseline: &str, row: &str) -> Option<Spread> {
        Some(paired_ratio(&self.row(baseline)?.rounds_ns, &self.row(row)?.rounds_ns))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(4);
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        writeln!(f, "core clock {} GHz, {} rounds", number(self.core_ghz), self.rounds)?;
        let [ns, p10, p90, cycles, per_cycle, gb, ratio] = ["ns", "p10", "p90", "cycles", "B/cycle", "GB/s", "ratio"];
        writeln!(f, "{:width$} {ns:>11} {p10:>11} {p90:>11} {cycles:>11} {per_cycle:>8} {gb:>8} {ratio:>7}", "row")?;
        for row in &self.rows {
            let Spread { p10, median, p90 } = row.ns;
            let (cycles, per_cycle) = (number(row.cycles), number(row.bytes_per_cycle()));
            let (name, gb, ratio) = (&row.name, row.gb_per_s(), row.ratio.median);
            write!(f, "{name:width$} {median:>11.2} {p10:>11.2} {p90:>11.2} ")?;
            writeln!(f, "{cycles:>11} {per_cycle:>8} {gb:>8.2} {ratio:>7.3}")?;
        }
        Ok(())
    }
}
