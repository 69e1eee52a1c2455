//! The independent judge of lanesmith's kernels: an interpreter of decoded x86-64 instructions.
//!
//! ```text
//! bytes ── Program::decode ──▶ instructions ── Machine<D> ──▶ Ok(RunReport) or a Fault that names the culprit
//!                                                 │
//!                                                 └─ D: Domain = what a register holds: bytes ([`Concrete`]) or a formula
//! ```
//!
//! It reads machine code and nothing else: neither the plan nor the program that the code came from. It runs on every
//! machine, whatever instructions that machine has. A run fails at the first thing that a kernel must not do: an access
//! outside the declared [`Region`]s, a misaligned operand where hardware faults, a read of a register or a flag that
//! nothing has defined, a callee-saved register that does not come back, an instruction that is not in the table.
//!
//! To run a kernel, decode it once and use [`run_sysv`]:
//!
//! ```
//! use lanesmith_verify::{Access, Code, Memory, Program, Region, Rules, run_sysv};
//!
//! // mov rax, [rsi]; mov [rdi], rax; ret
//! let program = Program::decode(Code::new(&[0x48, 0x8b, 0x06, 0x48, 0x89, 0x07, 0xc3]));
//! let mut memory = Memory::new();
//! memory.add(Region::new("dest", 0x1000, vec![0; 8], Access::Write)).unwrap();
//! memory.add(Region::new("source 0", 0x2000, vec![7; 8], Access::Read)).unwrap();
//!
//! let report = run_sysv(&program, &[0x1000, 0x2000], &mut memory, &Rules::default()).unwrap();
//! assert_eq!(memory.bytes("dest").unwrap(), [7; 8]);
//! assert_eq!(report.steps, 3);
//!
//! let fault = run_sysv(&program, &[0x1001, 0x2000], &mut memory, &Rules::default()).unwrap_err();
//! assert_eq!(
//!     fault.to_string(),
//!     "+0x3 `mov [rdi],rax`: writes 8 bytes at 0x1001, outside every region; dest is 0x1000..0x1008"
//! );
//! ```
//!
//! Rooms, in the order of their imports: [`fault`], [`domain`] (what a value domain supplies), `table` (one row per
//! mnemonic), [`program`] (decoding), [`machine`] and `exec` (what each row does), [`concrete`] and [`memory`] (the domain
//! of bytes), [`sysv`] (the front), `oracle` (the comparison with the CPU, feature `cpu-oracle`).

// Only the oracle may contain unsafe code: it runs the instruction under test.
#![deny(unsafe_code)]

pub mod concrete;
pub mod domain;
mod exec;
pub mod fault;
pub mod machine;
pub mod memory;
#[cfg(feature = "cpu-oracle")]
pub mod oracle;
pub mod program;
pub mod sysv;
mod table;

pub use concrete::Concrete;
pub use domain::Domain;
pub use fault::{Fault, FaultKind};
pub use machine::Machine;
pub use memory::{Access, Memory, Region};
pub use program::{Code, Program};
pub use sysv::{Rules, RunReport, run_sysv};
