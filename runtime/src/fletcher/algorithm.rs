//! The members of the family, and what can be wrong with their input.

use core::fmt;
use core::str::FromStr;

/// A checksum of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ZFS's Fletcher-4 of little-endian 32-bit words.
    Fletcher4,
    /// ZFS's Fletcher-4 of big-endian 32-bit words.
    Fletcher4Byteswap,
    /// ZFS's Fletcher-2 of pairs of little-endian 64-bit words.
    Fletcher2,
    /// ZFS's Fletcher-2 of pairs of big-endian 64-bit words.
    Fletcher2Byteswap,
    /// The checksum of APFS objects.
    Fletcher64Apfs,
    /// Fletcher-16: bytes, modulo 255.
    Fletcher16,
    /// Fletcher-32: little-endian 16-bit words, modulo 65535.
    Fletcher32,
    /// Fletcher-64: little-endian 32-bit words, modulo 2^32 − 1.
    Fletcher64,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 8] = [
        Algorithm::Fletcher4,
        Algorithm::Fletcher4Byteswap,
        Algorithm::Fletcher2,
        Algorithm::Fletcher2Byteswap,
        Algorithm::Fletcher64Apfs,
        Algorithm::Fletcher16,
        Algorithm::Fletcher32,
        Algorithm::Fletcher64,
    ];

    /// The name, as the program takes it and errors give it.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Fletcher4 => "fletcher4",
            Algorithm::Fletcher4Byteswap => "fletcher4-byteswap",
            Algorithm::Fletcher2 => "fletcher2",
            Algorithm::Fletcher2Byteswap => "fletcher2-byteswap",
            Algorithm::Fletcher64Apfs => "fletcher64-apfs",
            Algorithm::Fletcher16 => "fletcher16",
            Algorithm::Fletcher32 => "fletcher32",
            Algorithm::Fletcher64 => "fletcher64",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no [`Algorithm`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no checksum of this family has that name")]
pub struct UnknownAlgorithm;

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name).ok_or(UnknownAlgorithm)
    }
}

/// Why there is no checksum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input does not end with a whole word.
    #[error("{algorithm}: {total} bytes are not a whole number of words of {word} bytes")]
    PartialWord {
        /// The checksum that was asked for.
        algorithm: Algorithm,
        /// The length of the whole input in bytes.
        total: u64,
        /// What it must be a multiple of, in bytes: a word, or the pair of words of Fletcher-2.
        word: usize,
    },
}
