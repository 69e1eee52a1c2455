//! The machine: registers, flags and how one step follows another. What a step does is in `exec`.

use crate::domain::{Domain, Flags, Outcome};
use crate::fault::{Fault, FaultKind};
use crate::program::{Decoded, Program, text};

/// The names of the 64-bit general-purpose registers, by their number.
pub const GPR_NAMES: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// The number of rsp.
pub const RSP: usize = 4;

/// The integer arguments of the System V ABI: rdi, rsi, rdx, rcx, r8, r9.
pub const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];

/// What a System V function must restore: rbx, rbp, rsp, r12 to r15.
pub const CALLEE_SAVED: [usize; 7] = [3, 5, RSP, 12, 13, 14, 15];

/// What a run must obey besides the regions of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How far the stack pointer may go down. None by default.
    pub stack_bytes: u64,
    /// Whether the 128 bytes below the stack pointer may be used. They may not by default.
    pub red_zone: bool,
    /// Whether a function that wrote a ymm or zmm register must execute `vzeroupper` after it. It must by default.
    pub clean_upper: bool,
    /// Instructions after which a run is given up.
    pub step_limit: u64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { stack_bytes: 0, red_zone: false, clean_upper: true, step_limit: 1 << 20 }
    }
}

/// A register's value and how many of its low bytes are defined.
#[derive(Clone, Debug)]
pub(crate) struct Tracked<T> {
    pub(crate) value: T,
    pub(crate) defined: u32,
}

/// What follows an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The instruction at this offset.
    At(i64),
    /// The function has returned to its caller.
    Returned,
}

/// An interpreter of a program over a value domain.
///
/// [`run`](Machine::run) executes from the entry to `ret`; [`step`](Machine::step) executes one instruction, for a
/// caller that follows a loop by other means.
#[derive(Clone, Debug)]
pub struct Machine<'p, D: Domain> {
    pub(crate) program: &'p Program,
    pub(crate) rules: Rules,
    /// The value domain, which holds the memory.
    pub domain: D,
    pub(crate) gprs: [Tracked<D::Int>; 16],
    pub(crate) vecs: [Tracked<D::Vec>; 32],
    pub(crate) masks: [Option<D::Int>; 8],
    /// `None` is an undefined flag.
    pub(crate) flags: Flags<Option<D::Bool>>,
    /// A ymm or zmm register among the first 16 was written, and no `vzeroupper` has followed. (The upper registers do
    /// not count: legacy SSE instructions cannot name them, so they cost no transition.)
    pub(crate) dirty_upper: bool,
    entry: [D::Int; CALLEE_SAVED.len()],
    offset: i64,
    steps: u64,
    pub(crate) loads: u64,
    pub(crate) stores: u64,
}

impl<'p, D: Domain> Machine<'p, D> {
    /// A machine at the entry of a System V function: at most six arguments, the callee-saved registers in the order of
    /// [`CALLEE_SAVED`] (which includes rsp), everything else undefined. The direction flag is not modelled, for no
    /// supported instruction can change it.
    ///
    /// # Panics
    ///
    /// If there are more than six arguments.
    pub fn at_entry(
        program: &'p Program,
        mut domain: D,
        rules: Rules,
        arguments: &[D::Int],
        callee_saved: [D::Int; CALLEE_SAVED.len()],
    ) -> Self {
        assert!(arguments.len() <= ARGUMENTS.len(), "{} arguments, at most 6 are supported", arguments.len());
        let zero = domain.int(0);
        let zeros = domain.vec(&[0; 64]);
        let mut gprs = std::array::from_fn(|_| Tracked { value: zero.clone(), defined: 0 });
        let saved = CALLEE_SAVED.iter().zip(&callee_saved);
        for (&register, value) in ARGUMENTS.iter().zip(arguments).chain(saved) {
            gprs[register] = Tracked { value: value.clone(), defined: 8 };
        }
        Machine {
            program,
            rules,
            domain,
            gprs,
            vecs: std::array::from_fn(|_| Tracked { value: zeros.clone(), defined: 0 }),
            masks: Default::default(),
            flags: Flags { cf: None, pf: None, zf: None, sf: None, of: None },
            dirty_upper: false,
            entry: callee_saved,
            offset: 0,
            steps: 0,
            loads: 0,
            stores: 0,
        }
    }

    /// Executes until the function returns.
    pub fn run(&mut self) -> Result<(), Fault> {
        while self.step()? != Flow::Returned {}
        Ok(())
    }

    /// Executes one instruction.
    pub fn step(&mut self) -> Result<Flow, Fault> {
        let program = self.program;
        let Some(decoded) = program.at(self.offset) else {
            let kind = FaultKind::OutsideCode { target: self.offset };
            return Err(Fault { offset: self.offset as u64, instruction: String::new(), steps: self.steps, kind });
        };
        match self.step_decoded(decoded) {
            Ok(flow) => {
                self.steps += 1;
                if let Flow::At(offset) = flow {
                    self.offset = offset;
                }
                Ok(flow)
            }
            Err(kind) => {
                let instruction = text(&decoded.insn, self.program.base());
                Err(Fault { offset: self.offset as u64, instruction, steps: self.steps, kind })
            }
        }
    }

    fn step_decoded(&mut self, decoded: &Decoded) -> Outcome<Flow> {
        if self.steps >= self.rules.step_limit {
            return Err(FaultKind::StepLimit(self.rules.step_limit));
        }
        let flow = self.execute(decoded)?;
        match flow {
            Flow::At(target) if self.program.at(target).is_none() => Err(FaultKind::OutsideCode { target }),
            Flow::At(_) => Ok(flow),
            Flow::Returned => self.check_return().map(|()| flow),
        }
    }

    /// What the caller relies on. The return address needs no check: no access to it is possible.
    fn check_return(&self) -> Outcome<()> {
        for (&register, entry) in CALLEE_SAVED.iter().zip(&self.entry) {
            let now = &self.gprs[register];
            if now.defined < 8 || !self.domain.same(&now.value, entry) {
                return Err(match register {
                    RSP => FaultKind::Unbalanced,
                    _ => FaultKind::NotRestored(GPR_NAMES[register]),
                });
            }
        }
        if self.rules.clean_upper && self.dirty_upper {
            return Err(FaultKind::DirtyUpper);
        }
        Ok(())
    }

    /// Offset of the next instruction.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Instructions executed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Loads executed (also those whose mask is empty, and those of read-modify-write instructions).
    pub fn loads(&self) -> u64 {
        self.loads
    }

    /// Stores executed (also those whose mask is empty).
    pub fn stores(&self) -> u64 {
        self.stores
    }

    /// A general-purpose register by its number; `None` if not all of it is defined.
    pub fn gpr(&self, number: usize) -> Option<&D::Int> {
        let register = &self.gprs[number];
        (register.defined == 8).then_some(&register.value)
    }

    /// A vector register by its number; `None` if not all of it is defined.
    pub fn vec(&self, number: usize) -> Option<&D::Vec> {
        let register = &self.vecs[number];
        (register.defined == 64).then_some(&register.value)
    }
}
