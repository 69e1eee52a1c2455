//! A kernel compiler for storage software: XOR parity loops specialised to the exact source count, vector width and
//! layout, compiled on the first call.
//!
//! Parity of N buffers is one loop, and how good that loop can be depends on N: whether every pointer fits a register,
//! how operands pair up for three-input XORs, how much can be unrolled. So there is no loop for every N here but a
//! compiler that makes the one for yours on the first call, and an array in which the next call finds it by one atomic load.
//!
//! # Use
//!
//! ```
//! use lanesmith::xor;
//!
//! # fn main() -> Result<(), xor::Error> {
//! let disks = [[0x11u8; 4096], [0x22; 4096], [0x44; 4096]];
//! let mut p = [0; 4096];
//! xor::parity(&mut p, &disks.each_ref().map(|d| &d[..]))?;
//! assert_eq!(p, [0x77; 4096]);
//!
//! // A stripe with its parity XORs to zero.
//! assert!(xor::check(&[&disks[0], &disks[1], &disks[2], &p])?);
//!
//! // Disk 1 is lost.
//! let mut rebuilt = [0; 4096];
//! xor::parity(&mut rebuilt, &[&disks[0], &p, &disks[2]])?;
//! assert_eq!(rebuilt, disks[1]);
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | make parity, or a lost block | [`xor::parity`], [`xor::parity_zero_extended`] for columns of unequal length |
//! | add sources to a sum | [`xor::accumulate`] |
//! | change one source | [`xor::update`] |
//! | scrub | [`xor::check`] |
//! | checksum a block as ZFS or APFS does | [`fletcher::fletcher4`], [`fletcher::fletcher2`], [`fletcher::fletcher64_apfs`] |
//! | checksum data that comes in pieces, or by several threads | [`fletcher::Fletcher4`], [`fletcher::combine`] |
#![cfg_attr(feature = "jit", doc = "| choose the options of a kernel | [`xor::XorKernel`] |")]
//! | have a kernel in the binary, for a count known when it is built | [`macro@xor_kernel`] |
//! | know which tier is used, and why | [`cpu::Cpu::choose`], [`xor::describe`] |
//! | have the code as text, for any tier on any machine | [`codegen`] |
//!
//! # Errors
//!
//! Every argument is checked before the first byte is written. [`xor::Error`] is one enumeration with a variant for each
//! thing that can be wrong, with the numbers that show it:
//!
//! ```
//! use lanesmith::xor::{self, Error, Operand};
//!
//! let mut dest = [0; 4096];
//! let error = xor::parity(&mut dest, &[&[1; 4096], &[1; 4095]]).unwrap_err();
//! let source_1 = Operand::Source(1);
//! assert_eq!(error, Error::UnequalLengths { operand: source_1, len: 4095, other: Operand::Dest, other_len: 4096 });
//! assert_eq!(error.to_string(), "source 1 has 4095 bytes, dest has 4096");
//! ```
//!
//! A machine without executable memory, an unknown CPU or another architecture are not errors: static kernels or portable
//! code serve then, with the same results. Only who asks for one particular kernel is told that it cannot be had.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `jit` | yes | kernels compiled at run time (Linux on x86-64); implies `std`. Without it static kernels serve |
//! | `std` | yes | the standard library: the tier can be capped by `LANESMITH_MAX_ISA` |
//! | `rayon` | no | `fletcher::fletcher4_parallel`: a checksum on all cores; implies `std` |
//!
//! Without either the crate is `no_std` and needs `alloc`. It runs on Rust 1.88 and later.
//!
//! # Environment
//!
//! `LANESMITH_MAX_ISA` caps the tier, `LANESMITH_JIT=off` keeps code from being made at run time, and
//! `LANESMITH_PERF_MAP=1` names kernels for profilers. Nothing in the environment can raise what the CPU allows.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

pub use lanesmith_codegen as codegen;
pub use lanesmith_macros::xor_kernel;
#[cfg(feature = "jit")]
#[doc(hidden)]
pub use lanesmith_runtime::fletcher_kernel;
#[doc(hidden)]
pub use lanesmith_runtime::support as __private;
#[cfg(feature = "jit")]
pub use lanesmith_runtime::{arena, emit};
pub use lanesmith_runtime::{cpu, fletcher, reference, xor};

/// The code of README.md, run as documentation tests.
#[cfg(all(doctest, feature = "jit"))]
#[doc = include_str!("../README.md")]
struct Readme;
