//! What a turn costs, counted in the program.

use core::fmt;
use core::ops::Range;

use crate::asm::table::Role as OperandRole;
use crate::asm::{Item, Program, Span};

/// Counts of one turn of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of each buffer.
    pub bytes: u32,
    /// All instructions.
    pub instructions: u32,
    /// Those that only steer: counts, compares and branches.
    pub control: u32,
    /// Memory operands read.
    pub loads: u32,
    /// Memory operands written.
    pub stores: u32,
}

impl Cost {
    /// The cost of one turn of `span`.
    pub fn of(program: &Program, span: &Span) -> Cost {
        let mut cost = Cost { bytes: span.bytes, ..Cost::default() };
        cost.add(program, span.items.clone(), 1);
        if let Some((inner, turns)) = &span.inner {
            // The outer count has the inner loop once.
            cost.add(program, inner.clone(), turns - 1);
        }
        cost
    }

    fn add(&mut self, program: &Program, items: Range<usize>, times: u32) {
        for item in &program.items()[items] {
            let (memory, control) = match item {
                Item::Vector(inst) => (inst.memory().map(|(_, role)| role != OperandRole::Read), false),
                Item::Scalar(scalar) => (scalar.memory().map(|(_, written)| written), scalar.is_control()),
                Item::Label(_) | Item::Note(_) => continue,
            };
            self.instructions += times;
            self.control += times * u32::from(control);
            self.loads += times * u32::from(memory == Some(false));
            self.stores += times * u32::from(memory == Some(true));
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes, {} instructions, {} of them loop control, {} loads, {} stores",
            self.bytes, self.instructions, self.control, self.loads, self.stores
        )
    }
}
