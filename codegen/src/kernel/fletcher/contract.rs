//! The contract of a Fletcher program.

use alloc::vec;

use super::STATE_ALIGNED;
use crate::asm::Program;
use crate::kernel::contract::{Access, Buffer, Contract};
use crate::plan::fletcher::FletcherPlan;

/// The contract of a plan and its program.
pub fn contract(plan: &FletcherPlan, program: &Program) -> Contract {
    let state = match plan.state_lanes() {
        8 => "64 bytes",
        16 => "128 bytes",
        32 => "256 bytes",
        _ => "512 bytes",
    };
    let data = match plan.step_bytes {
        16 => "steps*16 bytes",
        32 => "steps*32 bytes",
        _ => "steps*64 bytes",
    };
    let buffer = |name, bytes, access, aligned| Buffer { name, count: 1, bytes, access, aligned };
    Contract {
        prototype: "void f(uint8_t *state, const uint8_t *data, size_t steps)",
        buffers: vec![buffer("state", state, Access::ReadWrite, STATE_ALIGNED), buffer("data", data, Access::Read, 1)],
        length: "any number of steps, zero too",
        multiple_of: 1,
        aliasing: "data may not overlap the state",
        result: "none",
        stack: 0,
        features: program.features(),
        vectors: vec![],
        masks: vec![],
        gprs: vec![],
    }
    .derive(program)
}
