//! Several threads that run the same row in step, each on its own core and its own buffers.
//!
//! ```text
//! main thread: calls per slice of each row
//! every thread, in the same order of rows:
//!     one call, not timed;  wait for the others;  ticks, calls, ticks
//! each round of a row adds up the rates of all threads
//! ```

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use lanesmith_measure::{L1Evictor, Spread, XorShift, core_clock_ghz, now_ticks, ticks_per_ns};

use super::BenchError;
use super::raw::{Operands, Sink, pin_to};
use super::rows::{Config, Variant};
use super::timing::{Memory, Timing};

/// How long a slice of short calls lasts, in nanoseconds: long against the time in which threads learn that they may
/// start.
pub(crate) const SLICE_NS: f64 = 50_000.0;

/// The calls of a cold slice, each timed alone.
const COLD_CALLS: u64 = 8;

/// Measures on one thread for each of `cores`, by the calls per slice that fit `operands`, those of this thread.
///
/// # Errors
///
/// [`BenchError::Pin`] if a thread cannot be pinned.
pub(crate) fn measure(
    config: &Config,
    variants: &[Variant],
    operands: &Operands<'_>,
    cores: &[usize],
    rounds: usize,
    warmup_rounds: usize,
) -> Result<Vec<Timing>, BenchError> {
    let ticks_per_ns = ticks_per_ns();
    let mut slices = Slices(Vec::new());
    variants.iter().for_each(|variant| operands.bind(&variant.call, &mut slices));
    let calls = slices.0.iter_mut().map(|slice| if config.cold { COLD_CALLS } else { calibrate(slice) });
    let calls: Vec<u64> = calls.collect();

    let barrier = Barrier::new(cores.len());
    let run = |core: usize| -> Result<(Vec<Vec<f64>>, Option<f64>), BenchError> {
        let pinned = pin_to(core).map_err(|error| BenchError::Pin { core, error });
        let mut memory = Memory::new(config);
        let operands = memory.operands();
        let mut slices = Slices(Vec::new());
        variants.iter().for_each(|variant| operands.bind(&variant.call, &mut slices));
        let evictor = config.cold.then(L1Evictor::new);
        let mut order: Vec<usize> = (0..variants.len()).collect();
        // The same seed in every thread: the same order.
        let mut random = XorShift::new(config.sources as u64);
        let mut ns = vec![Vec::with_capacity(rounds); variants.len()];
        for round in 0..warmup_rounds + rounds {
            random.shuffle(&mut order);
            for &row in &order {
                let slice = &mut slices.0[row];
                slice(1);
                barrier.wait();
                let ticks = match &evictor {
                    Some(evictor) => cold(slice, calls[row], evictor),
                    None => timed(slice, calls[row]),
                };
                if round >= warmup_rounds {
                    ns[row].push((ticks / calls[row] as f64 / ticks_per_ns).max(f64::MIN_POSITIVE));
                }
            }
        }
        barrier.wait();
        let ghz = core_clock_ghz();
        // Not earlier: the others would wait for a thread that has gone.
        pinned.map(|()| (ns, ghz))
    };
    let results = thread::scope(|scope| {
        let threads: Vec<_> = cores.iter().map(|&core| scope.spawn(move || run(core))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(BenchError::Panicked)))
            .collect::<Result<Vec<_>, _>>()
    })?;

    let ghz: Option<Vec<f64>> = results.iter().map(|(_, ghz)| *ghz).collect();
    let ghz = ghz.map(|ghz| Spread::of(&ghz).median);
    // The time of a call at the mean rate: rates are what adds up.
    let mean = |row: usize, round: usize| {
        results.len() as f64 / results.iter().map(|(ns, _)| ns[row][round].recip()).sum::<f64>()
    };
    let timing = |row| {
        let rounds_ns: Vec<f64> = (0..rounds).map(|round| mean(row, round)).collect();
        let cycles = ghz.map(|ghz| Spread::of(&rounds_ns).median * ghz);
        Timing { rounds_ns, cycles }
    };
    Ok((0..variants.len()).map(timing).collect())
}

/// Does so many calls.
type Slice<'a> = Box<dyn FnMut(u64) + 'a>;

struct Slices<'a>(Vec<Slice<'a>>);

impl<'a> Sink<'a> for Slices<'a> {
    fn add(&mut self, mut call: impl FnMut() + 'a) {
        self.0.push(Box::new(move |calls| {
            for _ in 0..calls {
                call();
                black_box(());
            }
        }));
    }
}

/// The calls that fill a slice.
fn calibrate(slice: &mut Slice<'_>) -> u64 {
    let mut calls = 1;
    loop {
        let begun = Instant::now();
        slice(calls);
        let ns = begun.elapsed().as_nanos() as f64;
        if ns * 2.0 >= SLICE_NS || calls >= 1 << 20 {
            return ((calls as f64 * SLICE_NS / ns.max(1.0)) as u64).max(1);
        }
        calls *= 2;
    }
}

fn timed(slice: &mut Slice<'_>, calls: u64) -> f64 {
    let start = now_ticks();
    slice(calls);
    now_ticks().saturating_sub(start) as f64
}

/// Each call right after an eviction, without what reading the counter costs.
fn cold(slice: &mut Slice<'_>, calls: u64, evictor: &L1Evictor) -> f64 {
    let mut ticks = 0.0;
    for _ in 0..calls {
        evictor.evict();
        let nothing = timed(slice, 0);
        ticks += timed(slice, 1) - nothing;
    }
    ticks
}

/// A barrier that spins: waking a thread that sleeps takes longer than a slice.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    passed: AtomicUsize,
}

impl Barrier {
    fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), passed: AtomicUsize::new(0) }
    }

    fn wait(&self) {
        let passed = self.passed.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.passed.store(passed.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0_u32;
        while self.passed.load(Ordering::Acquire) == passed {
            spins += 1;
            if spins.is_multiple_of(1 << 14) {
                // Somebody else may have the core of the thread that is missing.
                thread::yield_now();
            }
            spin_loop();
        }
    }
}
