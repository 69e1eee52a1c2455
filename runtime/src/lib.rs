//! CPU dispatch, executable memory and the safe API of lanesmith.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "jit")]
pub mod arena;
pub mod cpu;
#[cfg(feature = "jit")]
pub mod emit;
pub mod fletcher;
#[cfg(feature = "jit")]
#[doc(hidden)]
pub mod fletcher_kernel;
#[cfg(all(feature = "jit", unix))]
pub mod perf_map;
pub mod reference;
#[cfg_attr(not(all(target_arch = "x86_64", target_feature = "sse2")), path = "statics/none.rs")]
mod statics;
#[doc(hidden)]
pub mod support;
pub mod xor;
