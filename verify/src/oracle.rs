//! The CPU as the judge of the interpreter: one instruction on random states, executed by both, everything compared.
//!
//! [`compare()`] takes the bytes of one instruction, so that the rows of any encoder table can be fed to it. A run loads
//! all general-purpose registers, status flags, vector registers and opmasks with random values (and patterns that make
//! elements equal, zero or all ones), points the memory operand into or just outside a page between two inaccessible
//! ones, executes, and compares all of that and the page. Faults are compared too: where hardware refuses an address for
//! its alignment or because it is outside the page, so must the interpreter, and nowhere else.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod compare;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod state;

use std::fmt;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use compare::compare;

/// What a comparison came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The two agreed on every run.
    Agreed {
        /// Executions.
        runs: u32,
        /// Executions on which both faulted.
        faults: u32,
    },
    /// There was nothing to compare.
    Skipped(Skip),
}

/// Why there was nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The bytes are not exactly one instruction.
    NotOneInstruction,
    /// The interpreter does not support this instruction.
    Unsupported(String),
    /// This CPU lacks a feature (by iced's name), or the oracle does not know how to look for it.
    Feature(String),
    /// Branches are not executed.
    Branch(String),
    /// A memory operand that no register can point into the page.
    FixedAddress(String),
    /// Not Linux on x86-64.
    Platform,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skip::NotOneInstruction => f.write_str("these bytes are not one instruction"),
            Skip::Unsupported(text) => write!(f, "`{text}` is not supported by the interpreter"),
            Skip::Feature(name) => write!(f, "this CPU lacks {name}"),
            Skip::Branch(text) => write!(f, "`{text}` is a branch"),
            Skip::FixedAddress(text) => write!(f, "no register of `{text}` can move its address"),
            Skip::Platform => f.write_str("the CPU is compared on Linux, x86-64 only"),
        }
    }
}

/// An instruction that the interpreter and the CPU execute differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The instruction in Intel syntax.
    pub instruction: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The run, counted from zero: seed and number repeat it, but for the address of the page.
    pub run: u32,
    /// What differs, a line each.
    pub differences: Vec<String>,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {:02x?}, run {}:", self.instruction, self.bytes, self.run)?;
        self.differences.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for Disagreement {}

/// Compares nothing on this platform.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn compare(_bytes: &[u8], _runs: u32, _seed: u64) -> Result<Verdict, Disagreement> {
    Ok(Verdict::Skipped(Skip::Platform))
}
