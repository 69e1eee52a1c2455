//! What a Fletcher kernel is to compute.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::{SpecError, SpecErrors, UnknownWord, words};

/// Which checksum of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Algorithm {
    /// Four 64-bit sums over 32-bit words, as ZFS has it: `a += w; b += a; c += b; d += c` for each word `w`.
    #[default]
    Fletcher4,
}

/// How the recurrence is spread over vector lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Formulation {
    /// The plan decides.
    #[default]
    Auto,
    /// Each 64-bit lane runs the recurrence on one word of every vector, widened: what OpenZFS does.
    Lanes,
    /// Each 64-bit lane runs it on two words at once, unwidened, and beside it on the upper one alone.
    Split,
}

words!(Algorithm, "fletcher4", "fletcher4" => Fletcher4);
words!(Formulation, "auto, lanes or split", "auto" => Auto, "lanes" => Lanes, "split" => Split);

/// The options of a [`FletcherSpec`] next to its algorithm, each with a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FletcherOptions {
    /// Whether words are big-endian; otherwise they are little-endian.
    pub byteswap: bool,
    /// How the recurrence is spread over vector lanes.
    pub formulation: Formulation,
    /// Steps per loop turn: 1, 2, 4 or 8; `None` leaves it to the plan.
    pub unroll: Option<u8>,
}

/// A Fletcher checksum.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FletcherSpec {
    algorithm: Algorithm,
    options: FletcherOptions,
}

impl FletcherSpec {
    /// Fletcher-4 of little-endian words, or of big-endian ones under `byteswap`, everything else left to the plan.
    pub const fn fletcher4(byteswap: bool) -> FletcherSpec {
        let options = FletcherOptions { byteswap, formulation: Formulation::Auto, unroll: None };
        FletcherSpec { algorithm: Algorithm::Fletcher4, options }
    }

    /// A checksum with the given options.
    ///
    /// # Errors
    /// [`SpecErrors`] with *every* rule that the arguments break.
    pub fn with(algorithm: Algorithm, options: FletcherOptions) -> Result<FletcherSpec, SpecErrors> {
        let mut errors = Vec::new();
        if let Some(unroll) = options.unroll
            && !matches!(unroll, 1 | 2 | 4 | 8)
        {
            errors.push(SpecError::Unroll { unroll });
        }
        if errors.is_empty() { Ok(FletcherSpec { algorithm, options }) } else { Err(SpecErrors(errors)) }
    }

    /// The algorithm.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The options.
    pub const fn options(&self) -> &FletcherOptions {
        &self.options
    }
}

impl fmt::Display for FletcherSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FletcherOptions { byteswap, formulation, unroll } = self.options;
        let order = if byteswap { "byteswap" } else { "native" };
        write!(f, "fletcher algorithm={} order={order} formulation={formulation}", self.algorithm)?;
        unroll.map_or(Ok(()), |unroll| write!(f, " unroll={unroll}"))
    }
}

impl fmt::Debug for FletcherSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FletcherSpec({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_unroll_is_a_small_power_of_two() {
        for unroll in 0..=16 {
            let options = FletcherOptions { unroll: Some(unroll), ..FletcherOptions::default() };
            let spec = FletcherSpec::with(Algorithm::Fletcher4, options);
            match unroll {
                1 | 2 | 4 | 8 => assert_eq!(spec.unwrap().options().unroll, Some(unroll)),
                _ => assert_eq!(spec.unwrap_err().errors(), [SpecError::Unroll { unroll }]),
            }
        }
    }

    #[test]
    fn it_reads_well() {
        let options = FletcherOptions { byteswap: true, formulation: Formulation::Split, unroll: Some(2) };
        let spec = FletcherSpec::with(Algorithm::Fletcher4, options).unwrap();
        assert_eq!(spec.to_string(), "fletcher algorithm=fletcher4 order=byteswap formulation=split unroll=2");
    }
}
