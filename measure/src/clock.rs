//! Two clocks: the time-stamp counter, which ticks at a constant rate, and the core's own cycles.
//!
//! No user-space instruction reads core cycles without the kernel's permission, so they are counted by work of known
//! length: a chain of register additions, each waiting for the one before, takes one cycle an addition on every x86-64
//! and AArch64 core. How long the chain takes gives the clock of the moment.

use crate::stats::Spread;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The additions in one turn of the chain: enough to make the loop's own two instructions, which run beside the
/// chain, irrelevant, and few enough for any instruction cache.
pub(crate) const CHAIN_ADDS: u64 = 256;

/// A reading of the time-stamp counter (elsewhere than on x86-64: nanoseconds of the monotonic clock).
///
/// Instructions before it have completed and none after it has begun. Stores may still wait in the store buffer.
#[inline]
pub fn now_ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let (low, high): (u64, u64);
        // SAFETY: both instructions exist on every x86-64, touch no memory and write the declared registers only.
        // The block is not marked `nomem`, so that the compiler moves no memory access across a reading.
        unsafe {
            core::arch::asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high,
                options(nostack, preserves_flags));
        }
        high << 32 | low
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// Ticks of [`now_ticks`] per nanosecond. The first call takes about 20 ms to compare the counter with the system's
/// monotonic clock; the rate is constant, so later calls return the same figure.
pub fn ticks_per_ns() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (start_time, start_ticks) = simultaneous();
        while start_time.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let (end_time, end_ticks) = simultaneous();
        let ticks = end_ticks.saturating_sub(start_ticks).max(1) as f64;
        ticks / (end_time - start_time).as_nanos().max(1) as f64
    })
}

/// Both clocks read as close together as 16 tries allow: an interruption between the two would tilt the rate.
fn simultaneous() -> (Instant, u64) {
    let mut best = (Instant::now(), now_ticks());
    let mut narrowest = u64::MAX;
    for _ in 0..16 {
        let before = now_ticks();
        let time = Instant::now();
        let after = now_ticks();
        let gap = after.saturating_sub(before);
        if gap < narrowest {
            narrowest = gap;
            best = (time, before + gap / 2);
        }
    }
    best
}

/// What two readings with nothing between them differ by: to be taken off every timed slice. The median of means, as
/// the counter may advance in steps larger than the difference.
pub(crate) fn overhead_ticks() -> f64 {
    let mean_gap = |_| {
        let gap = |_| {
            let before = now_ticks();
            now_ticks().saturating_sub(before) as f64
        };
        (0..64).map(gap).sum::<f64>() / 64.0
    };
    let means: Vec<f64> = (0..32).map(mean_gap).collect();
    Spread::of(&means).median
}

/// The core's clock in GHz at this moment, from about 4 ms of dependent additions; `None` on architectures without
/// such a chain here.
///
/// Vector width and neighbours change the clock, so a comparison measures it again among its own rows: see
/// [`Report::core_ghz`](crate::Report::core_ghz).
pub fn core_clock_ghz() -> Option<f64> {
    const TURNS: u64 = 64; // about 4 µs
    let (rate, overhead) = (ticks_per_ns(), overhead_ticks());
    let mut readings = Vec::with_capacity(1000);
    for _ in 0..1000 {
        let start = now_ticks();
        if !add_chain(TURNS) {
            return None;
        }
        let ticks = (now_ticks().saturating_sub(start) as f64 - overhead).max(1.0);
        readings.push((TURNS * CHAIN_ADDS) as f64 * rate / ticks);
    }
    // The first half may have seen the clock rise from idle.
    Some(Spread::of(&readings[500..]).median)
}

/// Runs `turns` × [`CHAIN_ADDS`] dependent additions; `false` where this architecture has no chain.
#[inline]
pub(crate) fn add_chain(turns: u64) -> bool {
    if turns == 0 {
        return HAS_CHAIN;
    }
    // Register plus register: recent Intel cores fold additions of small immediates at rename, in no time at all.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only the three named registers and the flags change, no memory is touched, and `turns` ≥ 1 ends the loop.
    unsafe {
        core::arch::asm!(
            ".p2align 6",
            "2:",
            ".rept {adds}",
            "add {sum}, {step}",
            ".endr",
            "dec {turns}",
            "jnz 2b",
            adds = const CHAIN_ADDS,
            sum = inout(reg) 0_u64 => _,
            step = in(reg) 3_u64,
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: only the three named registers and the flags change, no memory is touched, and `turns` ≥ 1 ends the loop.
    unsafe {
        core::arch::asm!(
            "2:",
            ".rept {adds}",
            "add {sum}, {sum}, {step}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            adds = const CHAIN_ADDS,
            sum = inout(reg) 0_u64 => _,
            step = in(reg) 3_u64,
            turns = inout(reg) turns => _,
            options(nomem, nostack),
        );
    }
    HAS_CHAIN
}

/// Whether [`add_chain`] does anything on this architecture.
pub(crate) const HAS_CHAIN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_ends_for_any_number_of_turns() {
        for turns in [0, 1, 2, 1000] {
            assert_eq!(add_chain(turns), HAS_CHAIN);
        }
    }

    #[test]
    fn rates_are_finite_and_constant() {
        let rate = ticks_per_ns();
        assert!(rate.is_finite() && rate > 0.0);
        assert_eq!(rate, ticks_per_ns());
        if let Some(ghz) = core_clock_ghz() {
            assert!(ghz.is_finite() && ghz > 0.0);
        }
        assert_eq!(core_clock_ghz().is_some(), HAS_CHAIN);
    }
}
