//! The judge of every other test, judged by hand.

use lanesmith::reference::xor::{accumulate, is_zero, parity};

// Written out in binary: each bit of the result is 1 where an odd number of the bits above it are.
const A: [u8; 3] = [0b0000_1111, 0b1010_1010, 0b1111_1111];
const B: [u8; 3] = [0b0011_0011, 0b0101_0101, 0b1111_1111];
const C: [u8; 3] = [0b0101_0101, 0b0000_0001, 0b1111_1111];
const A_B_C: [u8; 3] = [0b0110_1001, 0b1111_1110, 0b1111_1111];
const A_B: [u8; 3] = [0b0011_1100, 0b1111_1111, 0b0000_0000];

#[test]
fn parity_overwrites() {
    let mut dest = [0xEE; 3];
    parity(&mut dest, &[&A, &B, &C]);
    assert_eq!(dest, A_B_C);
    parity(&mut dest, &[&A, &B]);
    assert_eq!(dest, A_B);
    parity(&mut dest, &[&C]);
    assert_eq!(dest, C);
    parity(&mut dest, &[]);
    assert_eq!(dest, [0; 3]);
}

#[test]
fn accumulate_keeps_the_destination() {
    let mut dest = C;
    accumulate(&mut dest, &[&A, &B]);
    assert_eq!(dest, A_B_C);
    accumulate(&mut dest, &[&A_B_C]);
    assert_eq!(dest, [0; 3]);
    accumulate(&mut dest, &[]);
    assert_eq!(dest, [0; 3]);
}

#[test]
fn is_zero_sees_every_bit() {
    assert!(is_zero(&[&A, &B, &C, &A_B_C]));
    assert!(is_zero(&[&A, &A]));
    assert!(is_zero(&[&[0; 3]]));
    assert!(is_zero(&[&[]]));
    assert!(!is_zero(&[&A]));
    for bit in 0..24 {
        let mut changed = A_B_C;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(!is_zero(&[&A, &B, &C, &changed]), "bit {bit}");
    }
}
