//! The harness calls what it should as often as it says, and reports what it measured. No assertion depends on time.

use lanesmith_measure::{Buffers, Interleaved, Layout, Options, Report, Row, core_clock_ghz};
use std::cell::RefCell;
use std::hint::black_box;

/// Runs three rows that log their calls into the shared context.
fn logged(options: &Options) -> (Report, Vec<char>) {
    let rows = ['a', 'b', 'c'].map(|name| Row::with(name, 8, move |log: &mut Vec<char>| log.push(name)));
    let mut log = Vec::new();
    let report = Interleaved::new(rows.into()).run_with(&mut log, options);
    (report, log)
}

#[test]
fn a_smoke_run_makes_exactly_the_stated_calls() {
    for cold in [false, true] {
        let (report, log) = logged(&Options { cold, ..Options::smoke() });
        assert_eq!(report.rounds, 3);
        // Calibration: one call, then three timed ones; it is not needed for cold slices, whose calls are timed alone.
        let calibration = if cold { 0 } else { 4 };
        // Each of 3 rounds and 1 of warm-up: one call that is not timed, and the slice.
        let slice = if cold { 8 } else { 1 };
        for (name, row) in ['a', 'b', 'c'].into_iter().zip(&report.rows) {
            assert_eq!(row.calls_per_slice, slice);
            assert_eq!(
                log.iter().filter(|&&c| c == name).count(),
                calibration + 4 * (1 + slice as usize),
                "row {name}"
            );
            assert_eq!((row.name.as_str(), row.bytes, row.rounds_ns.len()), (name.to_string().as_str(), 8, 3));
        }
    }
}

#[test]
fn rounds_are_shuffled_and_the_order_depends_on_the_seed_alone() {
    let cold = |seed| logged(&Options { rounds: 30, seed, cold: true, ..Options::smoke() }).1;
    let log = cold(1);
    assert_eq!(log, cold(1));
    assert_ne!(log, cold(2));
    // Every round has each row once, its calls in a row, in more than one order.
    let rounds: Vec<&[char]> = log.chunks(3 * 9).collect();
    assert_eq!(rounds.len(), 31);
    for round in &rounds {
        let mut order: Vec<char> = round.to_vec();
        order.dedup();
        order.sort_unstable();
        assert_eq!(order, ['a', 'b', 'c'], "{round:?}");
        assert!(round.chunks(9).all(|slice| slice.iter().all(|call| *call == slice[0])), "{round:?}");
    }
    assert!(rounds.iter().any(|round| round != &rounds[0]));
}

#[test]
fn short_calls_are_repeated_and_long_ones_are_not() {
    let rows = vec![
        Row::new("short", 0, || {}),
        Row::new("long", 0, || {
            for turn in 0..10_000_000 {
                black_box(turn);
            }
        }),
    ];
    // Slices of 0.1 ms, far from both: an empty call is thousands of times shorter, ten million turns far longer.
    let options = Options { rounds: 2, warmup_rounds: 0, slice_ns: 1e5, ..Options::default() };
    let report = Interleaved::new(rows).run(&options);
    assert!(report.rows[0].calls_per_slice > 1);
    assert_eq!(report.rows[1].calls_per_slice, 1);
}

#[test]
fn statistics_are_ordered_and_a_row_s_ratio_to_itself_is_one() {
    let source = vec![1_u8; 4096];
    let sum = || {
        black_box(source.iter().map(|&byte| u64::from(byte)).sum::<u64>());
    };
    let rows = vec![Row::new("sum", 4096, sum), Row::new("again", 4096, sum)];
    let report = Interleaved::new(rows).run(&Options { rounds: 20, ..Options::default() });
    assert_eq!(report.rows[0].ratio.median, 1.0);
    assert_eq!(report.ratio("again", "again").expect("the row exists").p90, 1.0);
    let pair = report.ratio("sum", "again").expect("both rows exist");
    assert_eq!(pair, report.rows[1].ratio);
    assert!(pair.median.is_finite() && pair.median > 0.0);
    for row in &report.rows {
        assert!(0.0 < row.ns.p10 && row.ns.p10 <= row.ns.median && row.ns.median <= row.ns.p90);
        assert_eq!(row.cycles.is_some(), report.core_ghz.is_some());
        assert!(row.gb_per_s() > 0.0);
        assert!(row.bytes_per_cycle().is_none_or(|rate| rate > 0.0));
    }
    assert_eq!(report.core_ghz.is_some(), core_clock_ghz().is_some());
    assert!(report.ratio("sum", "absent").is_none());
}

#[test]
fn rows_share_buffers_and_borrow_their_surroundings() {
    let calls = RefCell::new(0);
    let mut buffers = Buffers::new(2, 100, Layout::Staggered);
    let mut operands = buffers.dest_and_sources();
    let rows = vec![
        Row::with("first", 100, |(dest, sources): &mut (&mut [u8], Vec<&[u8]>)| dest.copy_from_slice(sources[0])),
        Row::with("second", 100, |(dest, sources): &mut (&mut [u8], Vec<&[u8]>)| dest.copy_from_slice(sources[1])),
        Row::new("neither", 0, || *calls.borrow_mut() += 1),
    ];
    let mut comparison = Interleaved::new(rows);
    comparison.run_with(&mut operands, &Options::smoke());
    // A comparison can be run again.
    let report = comparison.run_with(&mut operands, &Options::smoke());
    drop(comparison);
    assert!(calls.into_inner() > 0);
    let (dest, sources) = operands;
    assert!(*dest == *sources[0] || *dest == *sources[1]);
    let table = report.to_string();
    assert_eq!(table.lines().count(), 2 + 3);
    assert!(table.lines().nth(3).expect("a line per row").starts_with("second "), "{table}");
}

#[test]
fn no_rows_and_no_rounds_are_no_panic() {
    let report = Interleaved::new(Vec::new()).run(&Options { rounds: 0, warmup_rounds: 0, ..Options::smoke() });
    assert!(report.rows.is_empty());
    assert_eq!(report.rounds, 1);
    assert!(report.row("any").is_none());
}
