//! Fletcher-4 and Fletcher-2, over pieces.

use super::residue::Residue;
use super::{Algorithm, Error, words};

/// ZFS's Fletcher-4 of data that comes in pieces of any length.
///
/// ```
/// use lanesmith_runtime::fletcher::{Fletcher4, fletcher4};
///
/// # fn main() -> Result<(), lanesmith_runtime::fletcher::Error> {
/// let data = [7; 4096];
/// let mut sum = Fletcher4::new();
/// sum.update(&data[..1001]);
/// sum.update(&data[1001..]);
/// assert_eq!(sum.finish()?, fletcher4(&data)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Fletcher4 {
    residue: Residue<4>,
    state: [u64; 4],
    byteswap: bool,
}

impl Fletcher4 {
    /// For little-endian words.
    pub const fn new() -> Fletcher4 {
        Fletcher4 { residue: Residue::new(), state: [0; 4], byteswap: false }
    }

    /// For big-endian words.
    pub const fn byteswap() -> Fletcher4 {
        Fletcher4 { byteswap: true, ..Fletcher4::new() }
    }

    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        let Fletcher4 { residue, state, byteswap } = self;
        residue.feed(piece, |data| words::fletcher4(state, data, *byteswap));
    }

    /// a, b, c, d of all pieces.
    ///
    /// # Errors
    /// [`Error::PartialWord`] if the pieces have together a length that is not a multiple of 4 bytes.
    pub fn finish(self) -> Result<[u64; 4], Error> {
        let algorithm = if self.byteswap { Algorithm::Fletcher4Byteswap } else { Algorithm::Fletcher4 };
        self.residue.none_left(algorithm)?;
        Ok(self.state)
    }
}

impl Default for Fletcher4 {
    fn default() -> Fletcher4 {
        Fletcher4::new()
    }
}

/// ZFS's Fletcher-2 of data that comes in pieces of any length.
#[derive(Clone, Debug)]
pub struct Fletcher2 {
    residue: Residue<16>,
    state: [u64; 4],
    byteswap: bool,
}

impl Fletcher2 {
    /// For little-endian words.
    pub const fn new() -> Fletcher2 {
        Fletcher2 { residue: Residue::new(), state: [0; 4], byteswap: false }
    }

    /// For big-endian words.
    pub const fn byteswap() -> Fletcher2 {
        Fletcher2 { byteswap: true, ..Fletcher2::new() }
    }

    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        let Fletcher2 { residue, state, byteswap } = self;
        residue.feed(piece, |data| words::fletcher2(state, data, *byteswap));
    }

    /// a0, a1, b0, b1 of all pieces, in ZFS's order.
    ///
    /// # Errors
    /// [`Error::PartialWord`] if the pieces have together a length that is not a multiple of 16 bytes.
    pub fn finish(self) -> Result<[u64; 4], Error> {
        let algorithm = if self.byteswap { Algorithm::Fletcher2Byteswap } else { Algorithm::Fletcher2 };
        self.residue.none_left(algorithm)?;
        Ok(self.state)
    }
}

impl Default for Fletcher2 {
    fn default() -> Fletcher2 {
        Fletcher2::new()
    }
}
