//! A kernel compiler for storage software: XOR parity loops specialised to the exact source count, vector width and
//! layout, compiled on first call.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub use lanesmith_codegen as codegen;
#[cfg(feature = "jit")]
pub use lanesmith_runtime::{arena, emit};
pub use lanesmith_runtime::{cpu, reference, xor};
