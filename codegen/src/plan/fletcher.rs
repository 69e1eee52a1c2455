//! The plan of a Fletcher kernel: how words reach the lanes, which sums are kept where, and how far the loop is unrolled.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::{Bound, Part, Region, Role};
use crate::asm::Vector;
use crate::spec::{FletcherSpec, Formulation};
use crate::target::Target;

/// How the words of a step reach the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Half a vector of words, widened as it is loaded: word `i` into lane `i`.
    Widened,
    /// A vector of words interleaved with zeros: its first half, then its second half, each a word a lane.
    Interleaved {
        /// Holds zero.
        zero: Vector,
    },
    /// A vector of words as it is: two to a lane. It is loaded if an operation on it cannot take it from memory.
    Raw {
        /// Whether it is loaded into a register first.
        loaded: bool,
    },
}

/// How the bytes of big-endian words are reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swap {
    /// They are not: words are little-endian.
    None,
    /// By one shuffle.
    Shuffle {
        /// Holds the shuffle's control.
        control: Vector,
    },
    /// By two rotations and a ternary.
    Rotations {
        /// Holds the ternary's mask.
        mask: Vector,
    },
    /// By two shifts, an OR and two shuffles of words.
    Shifts,
}

/// The order of a sum: a, b, c, d.
pub const ORDERS: usize = 4;

/// The plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FletcherPlan {
    /// What it is for.
    pub spec: FletcherSpec,
    /// The target.
    pub target: &'static Target,
    /// The formulation, never [`Formulation::Auto`].
    pub formulation: Formulation,
    /// Bytes of data that a step takes.
    pub step_bytes: u32,
    /// 64-bit lanes of a vector.
    pub lanes: u32,
    /// Words that enter the lanes at once: the distance of two words that follow each other in a lane.
    pub stride: u32,
    /// How words reach the lanes.
    pub input: Input,
    /// How bytes are reversed.
    pub swap: Swap,
    /// The registers of a, b, c and d: of the lanes as they are, and for [`Formulation::Split`] then of their upper
    /// halves. The state in memory is these vectors in this order.
    pub sums: Vec<[Vector; ORDERS]>,
    /// The words of a step.
    pub words: Vector,
    /// Their upper halves, or the second half of them; clobbered while bytes are reversed.
    pub high: Vector,
    /// The loops: the unrolled one if there is one, then single steps.
    pub regions: Vec<Region>,
}

/// Thresholds of the Fletcher plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FletcherTuning {
    /// What [`Formulation::Auto`] means.
    pub formulation: Formulation,
    /// Steps a turn of [`Formulation::Lanes`]: one, as in the implementation that it reproduces.
    pub unroll_lanes: u8,
    /// Steps a turn of [`Formulation::Split`].
    pub unroll_split: u8,
}

impl FletcherTuning {
    /// The tuning in use when nothing else is said.
    pub const DEFAULT: FletcherTuning =
        FletcherTuning { formulation: Formulation::Split, unroll_lanes: 1, unroll_split: 4 };
}

/// Hands out vector registers from 0 on.
struct Registers(u8);

impl Registers {
    /// The next one. No plan needs more than twelve, so every target has it.
    fn take(&mut self) -> Vector {
        let register =
            Vector::new(self.0).unwrap_or_else(|| unreachable!("a plan needs no more than twelve registers"));
        self.0 += 1;
        register
    }
}

/// The plan of `spec` on `target`.
pub fn plan(spec: &FletcherSpec, target: &'static Target, tuning: &FletcherTuning) -> FletcherPlan {
    let options = spec.options();
    let split = match options.formulation {
        Formulation::Auto => tuning.formulation != Formulation::Lanes,
        asked => asked == Formulation::Split,
    };
    let mut registers = Registers(0);
    let mut sums = || core::array::from_fn(|_| registers.take());
    let sums = if split { vec![sums(), sums()] } else { vec![sums()] };
    let (words, high) = (registers.take(), registers.take());
    let swap = match options.byteswap {
        false => Swap::None,
        true if target.byte_shuffles => Swap::Shuffle { control: registers.take() },
        true if target.ternary => Swap::Rotations { mask: registers.take() },
        true => Swap::Shifts,
    };
    let input = match split {
        // Rotations and shifts by a constant take their source from memory or not, alike.
        true => Input::Raw { loaded: !target.shifts_memory || matches!(swap, Swap::Shuffle { .. }) },
        false if target.widens => Input::Widened,
        false => Input::Interleaved { zero: registers.take() },
    };
    let lanes = target.vector_bytes / 8;
    let step_bytes = if input == Input::Widened { target.vector_bytes / 2 } else { target.vector_bytes };
    let unroll = options.unroll.unwrap_or(if split { tuning.unroll_split } else { tuning.unroll_lanes }).into();
    let turn = |unroll: u32| {
        let bound = Bound::AtLeast(unroll * step_bytes);
        Region { role: Role::Loop, unroll, part: Part::Full, bound }
    };
    FletcherPlan {
        spec: *spec,
        target,
        formulation: if split { Formulation::Split } else { Formulation::Lanes },
        step_bytes,
        lanes,
        stride: if split { 2 * lanes } else { lanes },
        input,
        swap,
        sums,
        words,
        high,
        regions: if unroll == 1 { vec![turn(1)] } else { vec![turn(unroll), turn(1)] },
    }
}

impl FletcherPlan {
    /// 64-bit elements of the state.
    pub fn state_lanes(&self) -> usize {
        self.sums.len() * ORDERS * self.lanes as usize
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Widened => f.write_str("words widened from memory"),
            Input::Interleaved { zero } => write!(f, "words interleaved with zeros ({zero:?}), half by half"),
            Input::Raw { loaded: true } => f.write_str("words two to a lane, loaded"),
            Input::Raw { loaded: false } => f.write_str("words two to a lane, from memory at each use"),
        }
    }
}

impl fmt::Display for Swap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Swap::None => f.write_str("bytes as they are"),
            Swap::Shuffle { control } => write!(f, "bytes reversed by a shuffle ({control:?})"),
            Swap::Rotations { mask } => write!(f, "bytes reversed by rotations ({mask:?})"),
            Swap::Shifts => f.write_str("bytes reversed by shifts"),
        }
    }
}

impl fmt::Display for FletcherPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {}", self.spec, self.target.name)?;
        let FletcherPlan { formulation, step_bytes, lanes, stride, input, swap, words, high, .. } = self;
        writeln!(
            f,
            "{formulation}: {step_bytes} bytes a step, {lanes} lanes, {stride} words from turn to turn of a lane"
        )?;
        writeln!(f, "{input}; {swap}")?;
        write!(f, "sums")?;
        self.sums.iter().try_for_each(|sums| write!(f, " {sums:?}"))?;
        write!(f, ", words {words:?}, high {high:?}")?;
        self.regions.iter().try_for_each(|region| write!(f, "\n[{region}]"))
    }
}
