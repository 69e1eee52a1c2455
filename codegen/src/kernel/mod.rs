//! Kernels: a contract, and a lowering that reads like the algorithm.

pub mod contract;
pub mod fletcher;
pub mod xor;

pub use contract::{Access, Buffer, Contract};
