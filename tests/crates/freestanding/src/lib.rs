//! A library without the standard library.
#![no_std]
#![forbid(unsafe_code)]
#![deny(warnings)]

use lanesmith::xor_kernel;

/// `dest = s0 ^ s1 ^ s2`
#[xor_kernel(srcs = 3)]
pub fn parity(dest: &mut [u8], srcs: [&[u8]; 3]);

/// `dest ^= s0 ^ … ^ s6`, in groups.
#[xor_kernel(srcs = 7, strategy = grouped4, destination = accumulate, tier = "avx2")]
pub fn add(dest: &mut [u8], srcs: [&[u8]; 7]) -> Result<(), lanesmith::xor::Error>;

/// Whether the XOR is zero everywhere.
#[xor_kernel(srcs = 3, destination = zero_test, aligned = 16, multiple_of = 16)]
pub fn consistent(srcs: [&[u8]; 3]) -> bool;
