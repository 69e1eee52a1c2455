//! Collects a program. The first error is kept and returned at the end, so that a lowering reads like its algorithm.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::inst::{Inst, Masking, Operand};
use super::mem::Mem;
use super::program::{Item, Label, Pool, Program, Span};
use super::reg::Width;
use super::scalar::Scalar;
use super::table::Row;
use crate::plan::Region;
use crate::target::{Feature, FeatureSet, Target};

/// An instruction that cannot be built: a fault of the generator, found when the program is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AsmError {
    /// An operand does not fit its slot.
    Operand {
        /// The instruction.
        mnemonic: &'static str,
        /// Which operand, from 0.
        slot: usize,
    },
    /// The row has no form of this width.
    Width {
        /// The instruction.
        mnemonic: &'static str,
        /// The width.
        width: Width,
    },
    /// The row cannot be masked this way.
    Masking {
        /// The instruction.
        mnemonic: &'static str,
    },
    /// The target has no instruction for it.
    NoForm {
        /// What was to be done.
        what: &'static str,
        /// The target.
        target: &'static str,
    },
    /// The instructions need what the target does not have.
    Features {
        /// The features missing.
        missing: FeatureSet,
    },
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AsmError::Operand { mnemonic, slot } => write!(f, "{mnemonic}: operand {slot} does not fit"),
            AsmError::Width { mnemonic, width } => write!(f, "{mnemonic}: no {} bit form", width.bytes() * 8),
            AsmError::Masking { mnemonic } => write!(f, "{mnemonic}: cannot be masked so"),
            AsmError::NoForm { what, target } => write!(f, "{target} has no instruction for {what}"),
            AsmError::Features { missing } => write!(f, "the program needs {missing}, which its target lacks"),
        }
    }
}

impl core::error::Error for AsmError {}

/// A program under construction.
#[derive(Debug)]
pub struct Builder {
    target: &'static Target,
    items: Vec<Item>,
    pool: Pool,
    spans: Vec<Span>,
    labels: u32,
    features: FeatureSet,
    error: Option<AsmError>,
}

impl Builder {
    /// An empty program for `target`.
    pub fn new(target: &'static Target) -> Builder {
        Builder {
            target,
            items: Vec::with_capacity(256),
            pool: Pool::default(),
            spans: Vec::new(),
            labels: 0,
            features: FeatureSet::EMPTY,
            error: None,
        }
    }

    /// What the program is for.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// Keeps `error` unless there is one already.
    pub fn fail(&mut self, error: AsmError) {
        self.error.get_or_insert(error);
    }

    /// Appends a vector instruction.
    pub fn vector(&mut self, row: &'static Row, width: Width, operands: &[Operand], masking: Option<Masking>) {
        match Inst::masked(row, width, operands, masking) {
            Ok(inst) => {
                self.features = self.features.union(inst.features());
                self.items.push(Item::Vector(inst));
            }
            Err(error) => self.fail(error),
        }
    }

    /// Appends a scalar instruction.
    pub fn scalar(&mut self, scalar: Scalar) {
        if matches!(scalar, Scalar::Shlx(..) | Scalar::Shrx(..)) {
            self.features = self.features.with(Feature::Bmi2);
        }
        self.items.push(Item::Scalar(scalar));
    }

    /// Appends a remark.
    pub fn note(&mut self, text: impl Into<String>) {
        self.items.push(Item::Note(text.into()));
    }

    /// A new label, not yet placed.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Places `label` here.
    pub fn place(&mut self, label: Label) {
        self.items.push(Item::Label(label));
    }

    /// A new label, placed here.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    /// The pool operand of `constant`.
    pub fn intern(&mut self, constant: &[u8], align: usize) -> Mem {
        Mem::Pool { offset: self.pool.intern(constant, align) }
    }

    /// How many items there are.
    pub fn position(&self) -> usize {
        self.items.len()
    }

    /// Records that the items since `start` are one turn of `region`.
    pub fn span(&mut self, region: Region, start: usize, bytes: u32, inner: Option<(core::ops::Range<usize>, u32)>) {
        self.spans.push(Span { region, items: start..self.items.len(), bytes, inner });
    }

    /// The program.
    ///
    /// # Errors
    /// The first error met, or features that the target lacks.
    pub fn finish(self, name: String) -> Result<Program, AsmError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let missing = self.features.minus(self.target.features);
        if !missing.is_empty() {
            return Err(AsmError::Features { missing });
        }
        Ok(Program {
            name,
            target: self.target,
            items: self.items,
            pool: self.pool,
            spans: self.spans,
            features: self.features,
            labels: self.labels,
        })
    }
}
