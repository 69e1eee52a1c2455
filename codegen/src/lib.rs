//! From a kernel's specification to its instructions: the pure half of lanesmith.
//!
//! ```text
//! KernelSpec ──plan(target)──▶ Plan ──lower──▶ Program ──┬─ text ────▶ an assembler, a listing
//!                                                        └─ encode ──▶ machine code
//! ```
//!
//! Nothing here reads a clock, the environment or the CPU: the same spec and target give the same text and the same
//! bytes on every machine.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod asm;
pub mod cost;
pub mod encode;
pub mod kernel;
pub mod listing;
pub mod plan;
pub mod registry;
pub mod spec;
pub mod target;
pub mod text;
