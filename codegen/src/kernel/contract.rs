//! What a kernel promises and demands: read by the docs, by the interpreter and by proofs.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

use crate::asm::{Gpr, Item, Operand, Program, Scalar};
use crate::target::FeatureSet;

/// Whether a buffer is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Access {
    Read,
    Write,
    ReadWrite,
}

/// A buffer of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// What it is.
    pub name: &'static str,
    /// How many there are.
    pub count: usize,
    /// Which bytes are accessed, in terms of the arguments.
    pub bytes: &'static str,
    /// What is done to them.
    pub access: Access,
    /// The alignment that the caller promises, in bytes.
    pub aligned: u32,
}

/// The contract of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The C prototype, `extern "sysv64"` on every system.
    pub prototype: &'static str,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// What is promised of the length.
    pub length: &'static str,
    /// The multiple that the length is promised to be; 1 promises nothing.
    pub multiple_of: u32,
    /// What may alias what.
    pub aliasing: &'static str,
    /// What the return value means.
    pub result: &'static str,
    /// Bytes of stack used below the return address.
    pub stack: u32,
    /// What the CPU must have.
    pub features: FeatureSet,
    /// Vector registers written.
    pub vectors: Vec<u8>,
    /// Opmask registers written.
    pub masks: Vec<u8>,
    /// General-purpose registers written and not restored.
    pub gprs: Vec<Gpr>,
}

impl Contract {
    /// Fills in what follows from the program's instructions.
    pub(crate) fn derive(self, program: &Program) -> Contract {
        let mut vectors = BTreeSet::new();
        let mut masks = BTreeSet::new();
        let mut gprs = BTreeSet::new();
        let mut saved = BTreeSet::new();
        for item in program.items() {
            match item {
                Item::Vector(inst) => {
                    for (operand, slot) in inst.operands().iter().zip(inst.row().slots) {
                        match operand {
                            _ if slot.role == crate::asm::table::Role::Read => {}
                            Operand::Vector(v) => drop(vectors.insert(v.number())),
                            Operand::Mask(k) => drop(masks.insert(k.number())),
                            Operand::Gpr(r) => drop(gprs.insert(*r)),
                            _ => {}
                        }
                    }
                }
                Item::Scalar(Scalar::Push(r)) => drop(saved.insert(*r)),
                Item::Scalar(scalar) => gprs.extend(scalar.written()),
                Item::Label(_) | Item::Note(_) => {}
            }
        }
        Contract {
            stack: saved.len() as u32 * 8,
            features: program.features(),
            vectors: vectors.into_iter().collect(),
            masks: masks.into_iter().collect(),
            gprs: gprs.difference(&saved).copied().collect(),
            ..self
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.prototype)?;
        for buffer in &self.buffers {
            let access = match buffer.access {
                Access::Read => "reads",
                Access::Write => "writes",
                Access::ReadWrite => "reads and writes",
            };
            write!(f, "{access} {}", buffer.name)?;
            if buffer.count != 1 {
                write!(f, " x{}", buffer.count)?;
            }
            writeln!(f, ": {}, aligned {}", buffer.bytes, buffer.aligned)?;
        }
        writeln!(f, "length: {}", self.length)?;
        writeln!(f, "aliasing: {}", self.aliasing)?;
        writeln!(f, "result: {}", self.result)?;
        write!(f, "clobbers: flags")?;
        for register in &self.gprs {
            write!(f, " {}", register.name(64))?;
        }
        if let (Some(first), Some(last)) = (self.vectors.first(), self.vectors.last()) {
            write!(f, ", {} vector registers {first}..={last}", self.vectors.len())?;
        }
        for mask in &self.masks {
            write!(f, " k{mask}")?;
        }
        write!(f, "; stack {} bytes", self.stack)
    }
}
