//! A program that depends on nothing but lanesmith and forbids unsafe code.
#![forbid(unsafe_code)]
#![deny(warnings)]

use lanesmith::xor_kernel;

#[xor_kernel(srcs = 5)]
fn parity(dest: &mut [u8], srcs: [&[u8]; 5]);

#[xor_kernel(srcs = 5, width = 512)]
fn parity_512(dest: &mut [u8], srcs: [&[u8]; 5]) -> Result<(), lanesmith::xor::Error>;

/// Several programs and their driver.
#[xor_kernel(srcs = 9, strategy = grouped4, destination = accumulate)]
fn add(dest: &mut [u8], srcs: [&[u8]; 9]);

#[xor_kernel(srcs = 6, destination = zero_test)]
fn consistent(srcs: [&[u8]; 6]) -> bool;

fn main() -> Result<(), lanesmith::xor::Error> {
    let disks = [1, 2, 4, 8, 16].map(|byte| [byte; 1000]);
    let srcs = disks.each_ref().map(|disk| &disk[..]);
    let mut p = [0; 1000];
    parity(&mut p, srcs);
    assert_eq!(p, [31; 1000]);
    p = [0; 1000];
    parity_512(&mut p, srcs)?;
    assert_eq!(p, [31; 1000]);
    let [a, b, c, d, e] = srcs;
    assert!(consistent([a, b, c, d, e, &p]));
    add(&mut p, [a, b, c, d, e, a, b, c, d]);
    assert_eq!(p, [15; 1000]);
    assert!(!consistent([a, b, c, d, e, &p]));
    lanesmith::xor::parity(&mut p, &srcs)?;
    assert_eq!(p, [31; 1000]);
    println!("all right");
    Ok(())
}
