//! From a kernel's specification to its instructions: the pure half of lanesmith.
//!
//! ```text
//! KernelSpec ──plan(target)──▶ Plan ──lower──▶ Program ──┬─ text ────▶ an assembler, a listing
//!                                                        └─ encode ──▶ machine code
//! ```
//!
//! ```
//! use lanesmith_codegen::kernel::xor::compile;
//! use lanesmith_codegen::plan::xor::XorTuning;
//! use lanesmith_codegen::spec::XorSpec;
//! use lanesmith_codegen::target::Tier;
//! use lanesmith_codegen::text;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let spec = XorSpec::new(5)?;
//! let lowered = compile(&spec, Tier::Avx512, &XorTuning::DEFAULT)?;
//! println!("{}\n{}", lowered.plan, lowered.contracts[0]);
//! let body = text::body(&lowered.programs[0], "pool");
//! assert!(body.starts_with("endbr64\n") && body.ends_with("ret\n"));
//! # Ok(())
//! # }
//! ```
//!
//! [`text::body`] is what a build script writes into `naked_asm!`, so that a crate has its kernels compiled in and does
//! not depend on lanesmith at run time: see `docs/build-script.md` and the crate `examples/build-script` of the repository.
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
