//! A finished program: items, constant pool, and the spans that its plan's regions became.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::inst::Inst;
use super::scalar::Scalar;
use crate::plan::Region;
use crate::target::{FeatureSet, Target};

/// A place to branch to, numbered within its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub(super) u32);

impl Label {
    /// The label's number, from 0.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// One item of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A vector or mask instruction.
    Vector(Inst),
    /// A scalar instruction.
    Scalar(Scalar),
    /// Where a label is.
    Label(Label),
    /// A remark for the reader; no code.
    Note(String),
}

/// Constants, aligned to 64 bytes as a whole. Offsets are fixed when a constant is interned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    bytes: Vec<u8>,
}

impl Pool {
    /// The offset of `constant` at a multiple of `align` (a power of two up to 64), shared with an equal constant.
    pub fn intern(&mut self, constant: &[u8], align: usize) -> u32 {
        let shared = (0..self.bytes.len()).step_by(align).find(|&at| self.bytes[at..].starts_with(constant));
        let at = shared.unwrap_or_else(|| {
            self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
            let at = self.bytes.len();
            self.bytes.extend_from_slice(constant);
            at
        });
        at as u32
    }

    /// The constants.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The items that a region of the plan became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The region.
    pub region: Region,
    /// Indices of its items, without set-up that runs once.
    pub items: Range<usize>,
    /// Bytes of each buffer that one turn covers.
    pub bytes: u32,
    /// A loop within the turn: its items and how often it runs a turn.
    pub inner: Option<(Range<usize>, u32)>,
}

/// A kernel's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) name: String,
    pub(super) target: &'static Target,
    pub(super) items: Vec<Item>,
    pub(super) pool: Pool,
    pub(super) spans: Vec<Span>,
    pub(super) features: FeatureSet,
    pub(super) labels: u32,
}

impl Program {
    /// The name, fit for a symbol.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it was lowered for.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// The items in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The constants.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The plan's regions and where they are.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// What its instructions need, a subset of the target's features.
    pub fn features(&self) -> FeatureSet {
        self.features
    }

    /// How many labels it has.
    pub fn labels(&self) -> u32 {
        self.labels
    }
}
