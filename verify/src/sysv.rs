//! The front: run a System V function on given bytes.

use crate::concrete::{Concrete, Stack};
use crate::fault::Fault;
use crate::machine::{CALLEE_SAVED, Machine, RSP};
use crate::memory::Memory;
use crate::program::Program;

pub use crate::machine::Rules;

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// What it returned; `None` if rax was never defined, or not all of it.
    pub rax: Option<u64>,
    /// Instructions executed.
    pub steps: u64,
    /// Loads executed.
    pub loads: u64,
    /// Stores executed.
    pub stores: u64,
}

/// Calls the code at offset 0 as `extern "sysv64" fn` with up to six integer arguments, and checks everything that
/// [`FaultKind`](crate::FaultKind) names. On a fault, memory is left as it was then.
///
/// # Panics
///
/// If there are more than six arguments.
pub fn run_sysv(program: &Program, arguments: &[u64], memory: &mut Memory, rules: &Rules) -> Result<RunReport, Fault> {
    // Values that no address, length or mask of a kernel resembles: using one is as good as a fault.
    let saved = CALLEE_SAVED.map(|r| if r == RSP { Stack::ENTRY } else { 0xca11_ee00_5a7e_d000 + r as u64 });
    let domain = Concrete::new(memory, program, Some(Stack::new(rules)));
    let mut machine = Machine::at_entry(program, domain, *rules, arguments, saved);
    machine.run()?;
    Ok(RunReport {
        rax: machine.gpr(0).copied(),
        steps: machine.steps(),
        loads: machine.loads(),
        stores: machine.stores(),
    })
}
