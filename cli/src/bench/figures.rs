//! From timings to the figures of a row, and a row as JSON. `docs/bench-json.md` documents it.

use lanesmith_measure::{Spread, paired_ratio};
use serde_json::{Value, json};

use super::rows::{Config, LIMIT, Skipped, Variant, baseline};
use super::timing::Timing;

/// The figures of one row.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) implementation: &'static str,
    /// Whether a masked head was allowed.
    pub(crate) head: bool,
    /// 10⁹ bytes of all sources together per second, by all threads.
    pub(crate) gb_per_s_source: f64,
    /// 10⁹ bytes of the destination per second, by all threads.
    pub(crate) gb_per_s_parity: f64,
    /// Core cycles of a call.
    pub(crate) cycles: Option<f64>,
    /// The time of the load limit divided by the row's.
    pub(crate) fraction_of_limit: f64,
    /// The time of the baseline divided by the row's.
    pub(crate) ratio: Option<f64>,
    rounds_ns: Vec<f64>,
}

impl Figures {
    /// How many times as fast as `other` this row is, by pairs of rounds.
    pub(crate) fn ratio_to(&self, other: &Figures) -> f64 {
        paired_ratio(&other.rounds_ns, &self.rounds_ns).median
    }
}

/// What came out of one configuration.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) config: Config,
    pub(crate) threads: usize,
    pub(crate) rows: Vec<Figures>,
    pub(crate) skipped: Vec<Skipped>,
    /// The row that ratios are taken to.
    pub(crate) baseline: Option<&'static str>,
}

impl Outcome {
    pub(crate) fn new(
        config: Config,
        threads: usize,
        variants: &[Variant],
        timings: Vec<Timing>,
        skipped: Vec<Skipped>,
    ) -> Self {
        let mut rows: Vec<(&Variant, f64, Timing)> = Vec::new();
        for (variant, timing) in variants.iter().zip(timings) {
            let ns = Spread::of(&timing.rounds_ns).median;
            // A limit is measured with several widths of vectors: the fastest is the bound.
            let same = |(v, ..): &&mut (&Variant, f64, Timing)| {
                !v.call.computes() && v.implementation == variant.implementation
            };
            match rows.iter_mut().find(same) {
                Some(row) if ns < row.1 => *row = (variant, ns, timing),
                Some(_) => {}
                None => rows.push((variant, ns, timing)),
            }
        }
        let rounds = |name| rows.iter().find(|(v, ..)| v.implementation == name).map(|(_, _, t)| t.rounds_ns.clone());
        let baseline = baseline(variants);
        let base = baseline.and_then(rounds);
        let limit = rounds(LIMIT).unwrap_or_default();
        let figures = rows.into_iter().map(|(variant, ns, Timing { rounds_ns, cycles })| {
            let gb_per_s_parity = (threads * config.bytes) as f64 / ns;
            Figures {
                implementation: variant.implementation,
                head: variant.head,
                gb_per_s_source: gb_per_s_parity * config.sources as f64,
                gb_per_s_parity,
                cycles,
                fraction_of_limit: paired_ratio(&limit, &rounds_ns).median,
                ratio: base.as_ref().map(|base| paired_ratio(base, &rounds_ns).median),
                rounds_ns,
            }
        });
        Self { config, threads, rows: figures.collect(), skipped, baseline }
    }

    /// The row of that name, with or without a head.
    pub(crate) fn row(&self, implementation: &str, head: bool) -> Option<&Figures> {
        self.rows.iter().find(|row| row.implementation == implementation && row.head == head)
    }

    /// One line for each row.
    pub(crate) fn json(&self) -> String {
        self.rows.iter().map(|row| format!("{}\n", self.object(row))).collect()
    }

    fn object(&self, row: &Figures) -> Value {
        let Config { sources, bytes, destination, layout, cold } = self.config;
        json!({
            "family": "xor",
            "implementation": row.implementation,
            "disks": sources + 1,
            "sources": sources,
            "bytes": bytes,
            "destination": destination.to_string(),
            "layout": layout.name(),
            "temperature": temperature(cold),
            "head": if row.head { "on" } else { "off" },
            "threads": self.threads,
            "gb_per_s_source": rounded(row.gb_per_s_source),
            "gb_per_s_parity": rounded(row.gb_per_s_parity),
            "cycles": row.cycles.map(rounded),
            "fraction_of_limit": rounded(row.fraction_of_limit),
            "ratio": row.ratio.map(rounded),
            "baseline": self.baseline,
        })
    }
}

pub(crate) fn temperature(cold: bool) -> &'static str {
    if cold { "cold" } else { "hot" }
}

/// To six significant digits: more are noise.
pub(crate) fn rounded(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}
