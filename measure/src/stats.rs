//! Order statistics: medians and percentiles, because a timing's mean measures the interruptions.

/// The 10th, 50th and 90th percentile of a set of figures. All are NaN for an empty set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The value that one figure in ten stays below.
    pub p10: f64,
    /// The middle value.
    pub median: f64,
    /// The value that one figure in ten exceeds.
    pub p90: f64,
}

impl Spread {
    /// The spread of `figures`, in any order.
    pub fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self { p10: percentile(&sorted, 0.1), median: percentile(&sorted, 0.5), p90: percentile(&sorted, 0.9) }
    }
}

/// The value below which the fraction `p` (clamped to 0 ≤ p ≤ 1) of the ascending `sorted` figures lies, interpolated
/// between neighbours, so that `p` = 0.5 is the usual median. NaN for an empty slice.
pub fn percentile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * position.fract()
}

/// The spread of `baseline[r] / row[r]` over the rounds r that both have: above 1 the row is faster than the baseline.
///
/// Pairing within a round cancels what both suffered in it; a ratio of two medians would keep it.
pub fn paired_ratio(baseline: &[f64], row: &[f64]) -> Spread {
    let ratios: Vec<f64> = baseline.iter().zip(row).map(|(base, time)| base / time).collect();
    Spread::of(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_one_and_none() {
        assert_eq!(Spread::of(&[9.0, 1.0, 5.0]).median, 5.0);
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of(&[7.0]), Spread { p10: 7.0, median: 7.0, p90: 7.0 });
        assert!(Spread::of(&[]).median.is_nan());
    }

    #[test]
    fn percentiles_interpolate_and_clamp() {
        let figures: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(Spread::of(&figures), Spread { p10: 1.0, median: 5.0, p90: 9.0 });
        let sorted = [0.0, 10.0];
        assert_eq!(percentile(&sorted, 0.25), 2.5);
        assert_eq!(percentile(&sorted, -1.0), 0.0);
        assert_eq!(percentile(&sorted, 2.0), 10.0);
    }

    #[test]
    fn the_ratio_is_paired_by_round_not_taken_of_medians() {
        // The row takes half of the baseline's time in every round, but the rounds differ a hundredfold.
        let baseline = [2.0, 200.0, 20.0];
        let row = [1.0, 100.0, 10.0];
        assert_eq!(paired_ratio(&baseline, &row), Spread { p10: 2.0, median: 2.0, p90: 2.0 });
        // Reordered, the medians still divide to 2; the pairs do not.
        assert_eq!(paired_ratio(&baseline, &[100.0, 10.0, 1.0]).median, 20.0);
        assert_eq!(paired_ratio(&[1.0, 3.0], &[1.0, 3.0]).median, 1.0);
    }
}
