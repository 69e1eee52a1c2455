//! Why a run stopped: a [`Fault`] names the instruction and the culprit.

use std::fmt;

/// A run that did something that it must not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Offset of the instruction from the start of the code.
    pub offset: u64,
    /// The instruction in Intel syntax.
    pub instruction: String,
    /// Instructions executed before this one.
    pub steps: u64,
    /// What it did.
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{:#x} `{}`: {}", self.offset, self.instruction, self.kind)
    }
}

impl std::error::Error for Fault {}

/// Whether an access reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the two words say it
pub enum Direction {
    Read,
    Write,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Read => "reads",
            Direction::Write => "writes",
        })
    }
}

/// A region's name and place, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The region's name.
    pub name: String,
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {:#x}..{:#x}", self.name, self.start, self.end)
    }
}

/// What an instruction did that it must not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The table has no such instruction, or not in this form.
    Unsupported,
    /// The bytes are no instruction.
    Invalid,
    /// Execution leaves the code: the offset is not before its end. (The instruction named is the one that left, except
    /// when the very first offset is outside.)
    OutsideCode {
        /// Where execution went, as an offset from the start of the code.
        target: i64,
    },
    /// An access that lies in no region, or not in a single one.
    OutOfBounds {
        /// Load or store.
        direction: Direction,
        /// The first byte that was asked for.
        address: u64,
        /// Bytes asked for; for a masked access those from its first active byte to its last.
        bytes: u32,
        /// The region that is nearest to it.
        nearest: Option<Box<Place>>,
    },
    /// A load from a region that may not be read, or a store to one that may not be written.
    Forbidden {
        /// Load or store.
        direction: Direction,
        /// The first byte of the access.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// The region.
        region: Box<Place>,
    },
    /// An address that hardware demands to be aligned and is not.
    Misaligned {
        /// The address.
        address: u64,
        /// The alignment demanded, in bytes.
        align: u32,
    },
    /// The stack pointer leaves the part of the stack that the rules allow, or is not a multiple of 8.
    StackPointer {
        /// The new stack pointer minus its value on entry.
        offset: i64,
        /// Bytes allowed below the value on entry.
        allowed: u64,
    },
    /// An access to the stack below the stack pointer (or below the red zone where the rules allow one), or above the
    /// stack frame: the return address and what lies beyond belong to the caller.
    OutsideFrame {
        /// Load or store.
        direction: Direction,
        /// The access's address minus the stack pointer's value on entry.
        offset: i64,
        /// Bytes of the access.
        bytes: u32,
    },
    /// A load of a stack byte that nothing has written.
    UninitialisedStack {
        /// The byte's address minus the stack pointer's value on entry.
        offset: i64,
    },
    /// A read of a register that nothing has defined, or not in this width.
    UndefinedRegister(String),
    /// A condition on a flag that the last instruction to touch it left undefined, or that nothing has defined.
    UndefinedFlag(&'static str),
    /// `ret` with a stack pointer that is not where it was on entry.
    Unbalanced,
    /// `ret` with a callee-saved register that differs from its value on entry.
    NotRestored(&'static str),
    /// `ret` after a write of a ymm or zmm register without `vzeroupper` after it.
    DirtyUpper,
    /// More instructions than the rules allow.
    StepLimit(u64),
    /// The value domain cannot express what the instruction does.
    Unmodelled(String),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Unsupported => f.write_str("is not supported by the interpreter"),
            FaultKind::Invalid => f.write_str("is not an instruction"),
            FaultKind::OutsideCode { target } => write!(f, "execution leaves the code, to offset {target:#x}"),
            FaultKind::OutOfBounds { direction, address, bytes, nearest } => {
                write!(f, "{direction} {bytes} bytes at {address:#x}, outside every region")?;
                nearest.as_ref().map_or(Ok(()), |place| write!(f, "; {place}"))
            }
            FaultKind::Forbidden { direction, address, bytes, region } => {
                let may = match direction {
                    Direction::Read => "read",
                    Direction::Write => "written",
                };
                write!(f, "{direction} {bytes} bytes at {address:#x}, but {} may not be {may}; {region}", region.name)
            }
            FaultKind::Misaligned { address, align } => {
                write!(f, "the address {address:#x} must be a multiple of {align}")
            }
            FaultKind::StackPointer { offset, allowed } => {
                write!(f, "moves rsp to {offset} from its value on entry; it may go down by {allowed}, in steps of 8")
            }
            FaultKind::OutsideFrame { direction, offset, bytes } => {
                write!(f, "{direction} {bytes} bytes of the stack outside its frame, at {offset} from rsp on entry")
            }
            FaultKind::UninitialisedStack { offset } => {
                write!(f, "reads a stack byte that was never written, at {offset} from rsp on entry")
            }
            FaultKind::UndefinedRegister(name) => write!(f, "reads {name}, which is undefined"),
            FaultKind::UndefinedFlag(name) => write!(f, "depends on {name}, which is undefined"),
            FaultKind::Unbalanced => f.write_str("returns with rsp not where it was on entry"),
            FaultKind::NotRestored(name) => write!(f, "returns without restoring {name}"),
            FaultKind::DirtyUpper => f.write_str("returns with dirty upper halves: vzeroupper is missing"),
            FaultKind::StepLimit(limit) => write!(f, "is the instruction after the limit of {limit}"),
            FaultKind::Unmodelled(why) => write!(f, "cannot be modelled: {why}"),
        }
    }
}
