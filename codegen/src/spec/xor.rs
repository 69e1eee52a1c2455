//! What a XOR kernel is to compute.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::{SpecError, SpecErrors, UnknownWord, words};

/// The largest source count of a [`XorSpec`].
pub const MAX_SOURCES: usize = 1024;

/// What becomes of the XOR of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Destination {
    /// `dest = s0 ^ s1 ^ …`
    #[default]
    Overwrite,
    /// `dest ^= s0 ^ s1 ^ …`
    Accumulate,
    /// No destination is written; the result says whether `s0 ^ s1 ^ …` is zero everywhere.
    ZeroTest,
}

/// How many passes over the destination are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// The plan decides by source count, length class and target.
    #[default]
    Auto,
    /// One pass over the destination, whatever the source count.
    Single,
    /// Groups of at most this many sources (1..=12), each one pass over the whole destination, as the Linux kernel
    /// does with 4.
    Grouped(u8),
}

/// How operands are merged into the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Merge {
    /// Three-input where the target has it.
    #[default]
    Auto,
    /// Two operands at a time with a three-input XOR. An error on a target without it.
    Ternary,
    /// One operand at a time.
    Pairwise,
}

/// How the destination is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Store {
    /// Ordinary stores.
    #[default]
    Temporal,
    /// Stores that bypass the caches. They need [`XorOptions::aligned`] of at least 64.
    NonTemporal,
}

/// Whether a masked first vector may bring the destination to vector alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Head {
    /// Where the target has byte masks and the length is worth it.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// The class of lengths that a kernel is meant for. A kernel is right for every length; the class is a hint that
/// selects the plan where the best choice depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LengthClass {
    /// One plan for all lengths.
    #[default]
    Any,
    /// The working set is expected to be in the first-level cache.
    Short,
    /// Longer than that.
    Long,
}

/// The options of a [`XorSpec`] next to its source count, each with a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct XorOptions {
    /// What becomes of the result.
    pub destination: Destination,
    /// Single pass or groups.
    pub strategy: Strategy,
    /// Vectors of the destination per loop turn: 1, 2, 4 or 8; `None` leaves it to the plan.
    pub unroll: Option<u8>,
    /// Three-input or pairwise merging.
    pub merge: Merge,
    /// Temporal or non-temporal stores.
    pub store: Store,
    /// Masked alignment head.
    pub head: Head,
    /// Promise: every buffer's first byte (at the given offset) is aligned to this power of two, 1..=4096.
    /// Breaking it is undefined behaviour in the raw entry; the safe API never promises more than it checked.
    pub aligned: u32,
    /// Promise: the length is a non-zero multiple of this power of two, 1..=65536 (1 promises nothing, not even
    /// that the length is not zero).
    pub multiple_of: u32,
    /// The class of lengths.
    pub length: LengthClass,
}

impl Default for XorOptions {
    fn default() -> XorOptions {
        XorOptions {
            destination: Destination::Overwrite,
            strategy: Strategy::Auto,
            unroll: None,
            merge: Merge::Auto,
            store: Store::Temporal,
            head: Head::Auto,
            aligned: 1,
            multiple_of: 1,
            length: LengthClass::Any,
        }
    }
}

/// XOR of a fixed number of sources.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct XorSpec {
    sources: u16,
    options: XorOptions,
}

impl XorSpec {
    /// The XOR of `sources` buffers into an overwritten destination, everything else left to the plan.
    ///
    /// # Errors
    /// [`SpecErrors`] when `sources` is not in `1..=1024`.
    pub fn new(sources: usize) -> Result<XorSpec, SpecErrors> {
        XorSpec::with(sources, XorOptions::default())
    }

    /// The XOR of `sources` buffers with the given options.
    ///
    /// # Errors
    /// [`SpecErrors`] with *every* rule that the arguments break.
    pub fn with(sources: usize, options: XorOptions) -> Result<XorSpec, SpecErrors> {
        let mut errors = Vec::new();
        let mut check = |broken: bool, error: SpecError| {
            if broken {
                errors.push(error);
            }
        };
        check(sources == 0, SpecError::NoSources);
        check(sources > MAX_SOURCES, SpecError::TooManySources { sources });
        if let Strategy::Grouped(size) = options.strategy {
            check(!(1..=12).contains(&size), SpecError::GroupSize { size });
            check(options.destination == Destination::ZeroTest, SpecError::GroupedZeroTest);
        }
        if let Some(unroll) = options.unroll {
            check(!matches!(unroll, 1 | 2 | 4 | 8), SpecError::Unroll { unroll });
        }
        let power = |n: u32, max: u32| n.is_power_of_two() && n <= max;
        check(!power(options.aligned, 4096), SpecError::Aligned { aligned: options.aligned });
        check(!power(options.multiple_of, 65536), SpecError::MultipleOf { multiple_of: options.multiple_of });
        if options.store == Store::NonTemporal {
            check(options.destination == Destination::ZeroTest, SpecError::NonTemporalZeroTest);
            check(options.aligned < 64, SpecError::NonTemporalUnaligned { aligned: options.aligned });
        }
        if errors.is_empty() { Ok(XorSpec { sources: sources as u16, options }) } else { Err(SpecErrors(errors)) }
    }

    /// The number of sources, `1..=1024`.
    pub const fn sources(&self) -> usize {
        self.sources as usize
    }

    /// The options.
    pub const fn options(&self) -> &XorOptions {
        &self.options
    }

    /// The same spec for another destination, source count and strategy: what one program of a grouped plan computes.
    pub(crate) fn part(&self, sources: usize, destination: Destination) -> XorSpec {
        XorSpec {
            sources: sources as u16,
            options: XorOptions { destination, strategy: Strategy::Single, ..self.options },
        }
    }
}

impl fmt::Display for XorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let o = &self.options;
        write!(f, "xor srcs={} destination={} strategy={}", self.sources, o.destination, o.strategy)?;
        if let Some(unroll) = o.unroll {
            write!(f, " unroll={unroll}")?;
        }
        if o.merge != Merge::Auto {
            write!(f, " merge={}", o.merge)?;
        }
        if o.store != Store::Temporal {
            write!(f, " store={}", o.store)?;
        }
        if o.head != Head::Auto {
            write!(f, " head={}", o.head)?;
        }
        if o.aligned != 1 {
            write!(f, " aligned={}", o.aligned)?;
        }
        if o.multiple_of != 1 {
            write!(f, " multiple_of={}", o.multiple_of)?;
        }
        if o.length != LengthClass::Any {
            write!(f, " length={}", o.length)?;
        }
        Ok(())
    }
}

impl fmt::Debug for XorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XorSpec({self})")
    }
}

words!(Destination, "overwrite, accumulate or zero-test",
    "overwrite" => Overwrite, "accumulate" => Accumulate, "zero-test" => ZeroTest);
words!(Merge, "auto, ternary or pairwise", "auto" => Auto, "ternary" => Ternary, "pairwise" => Pairwise);
words!(Store, "temporal or non-temporal", "temporal" => Temporal, "non-temporal" => NonTemporal);
words!(Head, "auto or off", "auto" => Auto, "off" => Off);
words!(LengthClass, "any, short or long", "any" => Any, "short" => Short, "long" => Long);

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Auto => f.pad("auto"),
            Strategy::Single => f.pad("single"),
            Strategy::Grouped(size) => write!(f, "grouped{size}"),
        }
    }
}

impl FromStr for Strategy {
    type Err = UnknownWord;

    /// `auto`, `single`, or `grouped` followed by the group size (whose range [`XorSpec::with`] checks).
    fn from_str(s: &str) -> Result<Strategy, UnknownWord> {
        let unknown = UnknownWord { expected: "auto, single, or groupedN such as grouped4" };
        match s {
            "auto" => Ok(Strategy::Auto),
            "single" => Ok(Strategy::Single),
            _ => s.strip_prefix("grouped").and_then(|n| n.parse().ok()).map(Strategy::Grouped).ok_or(unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn every_error_is_returned_at_once() {
        let options = XorOptions {
            destination: Destination::ZeroTest,
            strategy: Strategy::Grouped(13),
            unroll: Some(3),
            store: Store::NonTemporal,
            aligned: 48,
            multiple_of: 0,
            ..XorOptions::default()
        };
        let errors = XorSpec::with(0, options).unwrap_err();
        assert_eq!(errors.errors().len(), 8, "{errors}");
        assert!(errors.to_string().contains("unroll 3"));
    }

    #[test]
    fn the_source_count_has_two_bounds() {
        assert!(XorSpec::new(0).is_err());
        assert_eq!(XorSpec::new(1).unwrap().sources(), 1);
        assert_eq!(XorSpec::new(1024).unwrap().sources(), 1024);
        let errors = XorSpec::new(1025).unwrap_err();
        assert_eq!(errors.errors(), [SpecError::TooManySources { sources: 1025 }]);
    }

    #[test]
    fn strategies_round_trip_through_text() {
        for strategy in [Strategy::Auto, Strategy::Single, Strategy::Grouped(4), Strategy::Grouped(12)] {
            assert_eq!(strategy.to_string().parse::<Strategy>().unwrap(), strategy);
        }
        assert!("grouped".parse::<Strategy>().is_err());
        assert!("grouped-4".parse::<Strategy>().is_err());
    }
}
