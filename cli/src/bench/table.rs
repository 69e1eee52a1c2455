//! Figures for a reader: a header, then for each configuration of the buffers the rows by disks.

use std::fmt::Write as _;

use lanesmith::codegen::spec::Destination;
use lanesmith_measure::Layout;

use super::figures::{Figures, Outcome, temperature};
use super::rows::{AUTO, LIMIT};

/// The columns beside the names that fit a line of 120.
const COLUMNS: usize = 14;

/// What stands above all tables.
pub(crate) const NOTES: &str = "\
GB/s are 10^9 bytes a second. Two figures are in use for parity, so both are printed: *source bytes consumed* (all
sources together; a destination that is read is not counted) and *parity bytes produced* (the destination alone). The
first is (disks - 1) times the second.
Ratios are paired: the median over rounds of the baseline's time divided by the row's in the same round.
limit-load loads what a kernel must read (an accumulated destination too) and computes nothing; limit-load-store stores
a destination besides. Each is the best of the vector widths here, at the buffers' own alignment: where that is odd, a
kernel that aligns itself by a masked head can be faster.
Hot figures are of buffers in the caches, and overstate what RAID gains: a stripe that was just transferred is cold.
";

/// One block: the outcomes for all disks of one destination, length, layout and temperature.
pub(crate) fn block(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    let Some(first) = outcomes.first() else { return out };
    let config = first.config;
    let layout = match config.layout {
        Layout::Aligned => "each buffer at the start of a page",
        Layout::Staggered => "buffer k 64*k bytes after the start of a page",
        Layout::Offset1 => "each buffer 1 byte after the start of a page: breaks what the Linux loops are promised",
    };
    let verb = if config.destination == Destination::Accumulate { "is read and written" } else { "is written" };
    let (destination, temperature) = (config.destination, temperature(config.cold));
    let _ = writeln!(out, "== {destination}, {} bytes, {}, {temperature} ==", config.bytes, config.layout.name());
    let _ = writeln!(out, "destination {verb}; {layout}");
    for outcomes in outcomes.chunks(COLUMNS) {
        part(&mut out, outcomes);
    }
    out
}

fn part(out: &mut String, outcomes: &[Outcome]) {
    let Some(first) = outcomes.first() else { return };
    let threads = if first.threads == 1 { String::new() } else { format!(", {} threads together", first.threads) };
    let disks: String = outcomes.iter().map(|outcome| format!(" {:>6}", outcome.config.sources + 1)).collect();
    let title = |out: &mut String, title: &str| {
        let _ = writeln!(out, "\n{title}{threads}\n{:17}{disks}", "disks");
    };

    title(out, "source bytes consumed, GB/s");
    rows(out, outcomes, |row| speed(row.gb_per_s_source));
    for skipped in &first.skipped {
        let _ = writeln!(out, "{:17} skipped: {}", skipped.implementation, skipped.reason);
    }
    title(out, "parity bytes produced, GB/s");
    rows(out, outcomes, |row| speed(row.gb_per_s_parity));

    out.push('\n');
    if let Some(baseline) = first.baseline {
        line(out, &format!("{AUTO} / baseline"), outcomes, |outcome| outcome.row(AUTO, true)?.ratio.map(ratio));
        let _ = writeln!(out, "baseline: {baseline}");
    }
    line(out, &format!("{AUTO} / {LIMIT}"), outcomes, |outcome| {
        Some(ratio(outcome.row(AUTO, true)?.fraction_of_limit))
    });
    if first.row(AUTO, false).is_some() {
        line(out, "head on / off", outcomes, |outcome| {
            Some(ratio(outcome.row(AUTO, true)?.ratio_to(outcome.row(AUTO, false)?)))
        });
    }
    out.push('\n');
}

/// A line for each row that the outcomes have.
fn rows(out: &mut String, outcomes: &[Outcome], figure: impl Fn(&Figures) -> String) {
    let Some(first) = outcomes.first() else { return };
    for Figures { implementation, head, .. } in &first.rows {
        let with_and_without = first.row(implementation, !head).is_some();
        let name = match head {
            true if with_and_without => format!("{implementation} head on"),
            false if with_and_without => format!("{implementation} head off"),
            _ => (*implementation).to_owned(),
        };
        line(out, &name, outcomes, |outcome| outcome.row(implementation, *head).map(&figure));
    }
}

fn line(out: &mut String, name: &str, outcomes: &[Outcome], cell: impl Fn(&Outcome) -> Option<String>) {
    let _ = write!(out, "{name:17}");
    for outcome in outcomes {
        let _ = write!(out, " {:>6}", cell(outcome).unwrap_or_else(|| "-".to_owned()));
    }
    out.push('\n');
}

/// At most six characters.
fn speed(gb_per_s: f64) -> String {
    match gb_per_s {
        0.0..100.0 => format!("{gb_per_s:.2}"),
        100.0..10_000.0 => format!("{gb_per_s:.1}"),
        _ => format!("{gb_per_s:.0}"),
    }
}

fn ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}
