//! From the sums of lanes to the sums of all words.
//!
//! Write ⟨n, k⟩ for n(n+1)…(n+k−1)/k!, which is C(n+k−1, k). The recurrence over n words x₀ … leaves in a, b, c, d the
//! sums of ⟨n−p, k⟩·x_p for k = 0 … 3: the last word counts once in each, the one before it ⟨2, k⟩ times.
//!
//! A lane that takes word g of each of the turns, S words apart, has ⟨σ, k⟩·x instead, where σ counts turns from the end
//! (the last one is 1); and n − p = S·(σ−1) + h, with h = S − g the word's place in its turn, counted from the end as
//! well. By Vandermonde's identity
//!
//! ```text
//! ⟨S(σ−1) + h, k⟩ = Σ_m ⟨h, m⟩·⟨S(σ−1), k−m⟩,    ⟨S(σ−1), j⟩ = Σ_o T[j][o]·⟨σ, o⟩
//! ```
//!
//! so that the totals need, of the lanes' k-th sums, Σ_g ⟨h, m⟩·(sum of lane g): which is the recurrence once more, over
//! the lanes. T is Newton's backward formula: `T[j][o]` is the o-th backward difference of ⟨S(σ−1), j⟩ at σ = 0. It is an
//! integer, for ⟨·, j⟩ takes integers to integers.

use super::MAX_STATE_LANES;
use crate::plan::fletcher::{FletcherPlan, ORDERS};
use crate::spec::Formulation;

/// ⟨n, k⟩ for any integer n.
fn rising(n: i128, k: usize) -> i128 {
    let k = k as i128;
    let product: i128 = (0..k).map(|i| n + i).product();
    let factorial: i128 = (1..=k).product();
    assert!(product % factorial == 0, "⟨{n}, {k}⟩ is an integer");
    product / factorial
}

/// `table[j][o]`: how often the o-th sum of a lane enters ⟨S(σ−1), j⟩, for lanes whose words are `stride` apart.
fn table(stride: u32) -> [[u64; ORDERS]; ORDERS] {
    let value = |sigma: i128, j: usize| rising(i128::from(stride) * (sigma - 1), j);
    // The o-th backward difference at 0 is Σ_i (−1)^i·C(o, i)·value(−i), and C(o, i) = ⟨o−i+1, i⟩.
    let difference = |j: usize, o: usize| -> i128 {
        let term = |i: usize| rising((o - i + 1) as i128, i) * value(-(i as i128), j);
        (0..=o).map(|i| if i % 2 == 0 { term(i) } else { -term(i) }).sum()
    };
    // As a sum modulo 2⁶⁴ sees it.
    core::array::from_fn(|j| core::array::from_fn(|o| difference(j, o) as u64))
}

/// How the state of a plan becomes a, b, c, d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    split: bool,
    lanes: usize,
    table: [[u64; ORDERS]; ORDERS],
}

impl Fold {
    /// The fold of a plan.
    pub fn new(plan: &FletcherPlan) -> Fold {
        let split = plan.formulation == Formulation::Split;
        Fold { split, lanes: plan.lanes as usize, table: table(plan.stride) }
    }

    /// a, b, c, d of a state, whose 64-bit elements are in the order of memory. Those beyond
    /// [`FletcherPlan::state_lanes`] do not count.
    #[allow(clippy::needless_range_loop)] // the indices are the formula's
    pub fn totals(&self, state: &[u64; MAX_STATE_LANES]) -> [u64; ORDERS] {
        let moments = match (self.lanes, self.split) {
            (2, false) => moments::<2, false>(state),
            (4, false) => moments::<4, false>(state),
            (_, false) => moments::<8, false>(state),
            (2, true) => moments::<2, true>(state),
            (4, true) => moments::<4, true>(state),
            (_, true) => moments::<8, true>(state),
        };
        let mut totals = [0u64; ORDERS];
        for k in 0..ORDERS {
            for m in 0..=k {
                for o in 0..=k - m {
                    totals[k] = totals[k].wrapping_add(self.table[k - m][o].wrapping_mul(moments[o][m]));
                }
            }
        }
        totals
    }
}

/// `moments[o][m]`: the sum of ⟨h, m⟩ times the o-th sum of each lane, for m + o < [`ORDERS`].
///
/// A call of the kernel on a few kilobytes takes some hundred cycles: counts of lanes that the compiler knows, and no
/// moment that is not needed, make this a small part of them.
fn moments<const LANES: usize, const SPLIT: bool>(state: &[u64; MAX_STATE_LANES]) -> [[u64; ORDERS]; ORDERS] {
    #[inline(always)]
    fn of<const MOMENTS: usize, const LANES: usize, const SPLIT: bool>(
        state: &[u64; MAX_STATE_LANES],
    ) -> [u64; ORDERS] {
        let whole = (ORDERS - MOMENTS) * LANES;
        let upper = whole + ORDERS * LANES;
        let mut moments = [0; MOMENTS];
        for lane in 0..LANES {
            if SPLIT {
                step(&mut moments, state[whole + lane].wrapping_sub(state[upper + lane] << 32));
                step(&mut moments, state[upper + lane]);
            } else {
                step(&mut moments, state[whole + lane]);
            }
        }
        core::array::from_fn(|m| if m < MOMENTS { moments[m] } else { 0 })
    }
    [
        of::<4, LANES, SPLIT>(state),
        of::<3, LANES, SPLIT>(state),
        of::<2, LANES, SPLIT>(state),
        of::<1, LANES, SPLIT>(state),
    ]
}

/// The recurrence itself: `a += w; b += a; c += b; d += c`.
#[inline]
pub fn step<const N: usize>(sums: &mut [u64; N], word: u64) {
    let mut carried = word;
    for sum in sums {
        *sum = sum.wrapping_add(carried);
        carried = *sum;
    }
}

/// a, b, c, d of a plan's state: [`Fold::totals`] of [`Fold::new`].
pub fn fold(plan: &FletcherPlan, state: &[u64; MAX_STATE_LANES]) -> [u64; ORDERS] {
    Fold::new(plan).totals(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::fletcher::{FletcherTuning, plan};
    use crate::spec::{Algorithm, FletcherOptions, FletcherSpec};
    use crate::target::Tier;
    use std::vec::Vec;

    fn plans() -> Vec<FletcherPlan> {
        let mut plans = Vec::new();
        for tier in Tier::FLETCHER {
            for formulation in [Formulation::Lanes, Formulation::Split] {
                let options = FletcherOptions { formulation, ..FletcherOptions::default() };
                let spec = FletcherSpec::with(Algorithm::Fletcher4, options).unwrap();
                plans.push(plan(&spec, tier.target(), &FletcherTuning::DEFAULT));
            }
        }
        plans
    }

    /// The weights of one word at each place of each of the last turns, against the definition.
    #[test]
    fn a_single_word_counts_as_often_as_the_recurrence_says() {
        for plan in plans() {
            let stride = plan.stride as usize;
            for sigma in 1..=70 {
                for g in 0..stride {
                    // The lanes' own recurrence, over turns.
                    let mut sums = [0; ORDERS];
                    step(&mut sums, 0xDEAD_BEEF);
                    (1..sigma).for_each(|_| step(&mut sums, 0));
                    let mut state = [0; MAX_STATE_LANES];
                    let lanes = plan.lanes as usize;
                    for (o, sum) in sums.into_iter().enumerate() {
                        if plan.formulation == Formulation::Split && g % 2 == 0 {
                            state[o * lanes + g / 2] = sum;
                        } else if plan.formulation == Formulation::Split {
                            state[o * lanes + g / 2] = sum << 32;
                            state[(ORDERS + o) * lanes + g / 2] = sum;
                        } else {
                            state[o * lanes + g] = sum;
                        }
                    }
                    // And the recurrence over all words.
                    let mut expected = [0; ORDERS];
                    step(&mut expected, 0xDEAD_BEEF);
                    (0..stride * sigma - g - 1).for_each(|_| step(&mut expected, 0));
                    assert_eq!(fold(&plan, &state), expected, "{plan}: word {g}, turn {sigma} from the end");
                }
            }
        }
    }

    /// For four words a turn: b = Σ4B−gA, c = Σ16C−(6,10,14,18)B+(0,0,1,3)A, and
    /// d = Σ64D−(48,64,80,96)C+(4,10,20,34)B−(0,0,0,1)A.
    #[test]
    fn coefficients_of_four_lanes() {
        let plan = plans().into_iter().find(|p| p.stride == 4 && p.formulation == Formulation::Lanes).unwrap();
        let of = |lane: usize, o: usize| {
            let mut state = [0; MAX_STATE_LANES];
            state[o * 4 + lane] = 1;
            fold(&plan, &state).map(|total| total as i64)
        };
        let by_lane = |o| [0, 1, 2, 3].map(|lane| of(lane, o));
        assert_eq!(by_lane(0), [[1, 0, 0, 0], [1, -1, 0, 0], [1, -2, 1, 0], [1, -3, 3, -1]]);
        assert_eq!(by_lane(1), [[0, 4, -6, 4], [0, 4, -10, 10], [0, 4, -14, 20], [0, 4, -18, 34]]);
        assert_eq!(by_lane(2), [[0, 0, 16, -48], [0, 0, 16, -64], [0, 0, 16, -80], [0, 0, 16, -96]]);
        assert_eq!(by_lane(3), [[0, 0, 0, 64]; 4]);
    }
}
