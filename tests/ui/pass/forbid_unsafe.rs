#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications, clippy::all)]
//! The user's lints do not judge the expansion.

use lanesmith::xor_kernel;

/// Documented.
#[xor_kernel(srcs = 3, strategy = grouped2)]
#[must_use]
pub(crate) fn parity(dest: &mut [u8], srcs: [&[u8]; 3]) -> Result<(), lanesmith::xor::Error>;

mod stripes {
    #[lanesmith::xor_kernel(srcs = 3, destination = zero_test)]
    pub(super) fn consistent(buffers: [&[u8]; 3]) -> bool;
}

fn main() {
    let mut dest = [0; 2];
    assert!(parity(&mut dest, [&[1, 2], &[4, 4], &[8, 8]]).is_ok());
    assert_eq!(dest, [13, 14]);
    assert!(stripes::consistent([&[1], &[2], &[3]]));
}
