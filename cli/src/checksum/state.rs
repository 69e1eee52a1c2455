//! Any checksum of the family, chosen at run time.

use lanesmith::fletcher::{Algorithm, Error, Fletcher2, Fletcher4, Fletcher16, Fletcher32, Fletcher64, Fletcher64Apfs};

/// A checksum under way.
pub(super) enum State {
    Fletcher4(Fletcher4),
    Fletcher2(Fletcher2),
    Fletcher64Apfs(Fletcher64Apfs),
    Fletcher16(Fletcher16),
    Fletcher32(Fletcher32),
    Fletcher64(Fletcher64),
}

impl State {
    pub(super) fn new(algorithm: Algorithm) -> State {
        match algorithm {
            Algorithm::Fletcher4 => State::Fletcher4(Fletcher4::new()),
            Algorithm::Fletcher4Byteswap => State::Fletcher4(Fletcher4::byteswap()),
            Algorithm::Fletcher2 => State::Fletcher2(Fletcher2::new()),
            Algorithm::Fletcher2Byteswap => State::Fletcher2(Fletcher2::byteswap()),
            Algorithm::Fletcher64Apfs => State::Fletcher64Apfs(Fletcher64Apfs::new()),
            Algorithm::Fletcher16 => State::Fletcher16(Fletcher16::new()),
            Algorithm::Fletcher32 => State::Fletcher32(Fletcher32::new()),
            Algorithm::Fletcher64 => State::Fletcher64(Fletcher64::new()),
        }
    }

    pub(super) fn update(&mut self, piece: &[u8]) {
        match self {
            State::Fletcher4(sum) => sum.update(piece),
            State::Fletcher2(sum) => sum.update(piece),
            State::Fletcher64Apfs(sum) => sum.update(piece),
            State::Fletcher16(sum) => sum.update(piece),
            State::Fletcher32(sum) => sum.update(piece),
            State::Fletcher64(sum) => sum.update(piece),
        }
    }

    /// The words of the checksum in hexadecimal, each with all its digits.
    pub(super) fn finish(self) -> Result<String, Error> {
        let words = |words: [u64; 4]| words.map(|word| format!("{word:016x}")).join(":");
        Ok(match self {
            State::Fletcher4(sum) => words(sum.finish()?),
            State::Fletcher2(sum) => words(sum.finish()?),
            State::Fletcher64Apfs(sum) => format!("{:016x}", sum.finish()?),
            State::Fletcher16(sum) => format!("{:04x}", sum.finish()),
            State::Fletcher32(sum) => format!("{:08x}", sum.finish()),
            State::Fletcher64(sum) => format!("{:016x}", sum.finish()),
        })
    }
}
