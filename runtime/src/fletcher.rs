//! Fletcher's checksums: the safe API.
//!
//! | function | sums | of | modulo | length |
//! |---|---|---|---|---|
//! | [`fletcher4`], [`fletcher4_byteswap`] | four, as ZFS | 32-bit words | 2^64 | a multiple of 4 bytes |
//! | [`fletcher2`], [`fletcher2_byteswap`] | two of each half, as ZFS | pairs of 64-bit words | 2^64 | a multiple of 16 bytes |
//! | [`fletcher64_apfs`] | two, as APFS | 32-bit words | 2^32 − 1 | a multiple of 4 bytes |
//! | [`fletcher16`] | two | bytes | 255 | any |
//! | [`fletcher32`] | two | 16-bit words | 65535 | any, the last word filled up with a zero |
//! | [`fletcher64`] | two | 32-bit words | 2^32 − 1 | any, the last word filled up with zeros |
//!
//! Words are little-endian, on every machine; those of the functions `…_byteswap` are big-endian. Buffers may have any
//! alignment. Every function has a type for data that comes in pieces, such as [`Fletcher4`], and a function that makes
//! the checksum of two pieces from those of each, such as [`combine`]. All sums are 0 at the start, and so is the
//! checksum of no data, except that of APFS.
//!
//! ```
//! # fn main() -> Result<(), lanesmith_runtime::fletcher::Error> {
//! use lanesmith_runtime::fletcher::{combine, fletcher4};
//!
//! // The words 1 and 2.
//! let data = [1, 0, 0, 0, 2, 0, 0, 0];
//! assert_eq!(fletcher4(&data)?, [3, 4, 5, 6]);
//! assert_eq!(combine(fletcher4(&data[..4])?, fletcher4(&data[4..])?, 1), [3, 4, 5, 6]);
//!
//! let error = fletcher4(&data[..7]).unwrap_err();
//! assert_eq!(error.to_string(), "fletcher4: 7 bytes are not a whole number of words of 4 bytes");
//! # Ok(())
//! # }
//! ```
//!
//! # An incomplete last word
//!
//! ZFS's checksums and that of APFS are defined for whole words, and blocks consist of them. OpenZFS's `fletcher_4_native`
//! asserts that in a debug build; otherwise it sums `size / sizeof (uint32_t)` words and ignores the bytes after them.
//! Its `fletcher_2_native` takes two 64-bit words a turn until it has taken `size / sizeof (uint64_t)` of them, so that
//! with an odd number of words it reads 8 bytes beyond the buffer. Neither is done here: such a length is
//! [`Error::PartialWord`]. Whoever needs the former result cuts the buffer.

mod algorithm;
mod combine;
mod modular;
#[cfg(feature = "rayon")]
mod parallel;
mod residue;
mod words;
mod zfs;

pub use algorithm::{Algorithm, Error, UnknownAlgorithm};
pub use combine::{
    combine, combine_fletcher2, combine_fletcher16, combine_fletcher32, combine_fletcher64, combine_fletcher64_apfs,
};
pub use modular::{Fletcher16, Fletcher32, Fletcher64, Fletcher64Apfs};
#[cfg(feature = "rayon")]
pub use parallel::{fletcher4_byteswap_parallel, fletcher4_parallel};
pub use zfs::{Fletcher2, Fletcher4};

/// ZFS's Fletcher-4 of little-endian words: a, b, c, d after `a += w; b += a; c += b; d += c` for each, modulo 2^64.
///
/// # Errors
/// [`Error::PartialWord`] if the length is not a multiple of 4 bytes.
pub fn fletcher4(data: &[u8]) -> Result<[u64; 4], Error> {
    let mut sum = Fletcher4::new();
    sum.update(data);
    sum.finish()
}

/// [`fletcher4`] of big-endian words: what ZFS computes for a block that was written on a machine of the other byte order.
///
/// # Errors
/// [`Error::PartialWord`] if the length is not a multiple of 4 bytes.
pub fn fletcher4_byteswap(data: &[u8]) -> Result<[u64; 4], Error> {
    let mut sum = Fletcher4::byteswap();
    sum.update(data);
    sum.finish()
}

/// ZFS's Fletcher-2 of little-endian words: a0, a1, b0, b1 after `a0 += w0; a1 += w1; b0 += a0; b1 += a1` for each pair
/// of 64-bit words, modulo 2^64.
///
/// # Errors
/// [`Error::PartialWord`] if the length is not a multiple of 16 bytes.
pub fn fletcher2(data: &[u8]) -> Result<[u64; 4], Error> {
    let mut sum = Fletcher2::new();
    sum.update(data);
    sum.finish()
}

/// [`fletcher2`] of big-endian words.
///
/// # Errors
/// [`Error::PartialWord`] if the length is not a multiple of 16 bytes.
pub fn fletcher2_byteswap(data: &[u8]) -> Result<[u64; 4], Error> {
    let mut sum = Fletcher2::byteswap();
    sum.update(data);
    sum.finish()
}

/// The checksum of an APFS object. `payload` is the object without its first 8 bytes, where the checksum itself is stored,
/// little-endian.
///
/// With s1 and s2 the sums modulo M = 2^32 − 1 as of [`fletcher64`], c1 = M − (s1 + s2) % M and c2 = M − (s1 + c1) % M; the
/// result is `c2 << 32 | c1`. Each half is 1 to M, so the checksum of zeros is `0xFFFF_FFFF_FFFF_FFFF`. (Apple File System
/// Reference, Objects.)
///
/// # Errors
/// [`Error::PartialWord`] if the length is not a multiple of 4 bytes.
pub fn fletcher64_apfs(payload: &[u8]) -> Result<u64, Error> {
    let mut sum = Fletcher64Apfs::new();
    sum.update(payload);
    sum.finish()
}

/// Fletcher-16: `s2 << 8 | s1`, where `s1 += byte; s2 += s1` for every byte, modulo 255, both 0 at the start.
///
/// A sum of 255 is given as 0. Others start with 0xFF, take modulo 256, or store check bytes that make the sums zero.
/// (J. G. Fletcher, *An Arithmetic Checksum for Serial Transmissions*, IEEE Transactions on Communications 30, 1982.)
pub fn fletcher16(data: &[u8]) -> u16 {
    let mut sum = Fletcher16::new();
    sum.update(data);
    sum.finish()
}

/// Fletcher-32: `s2 << 16 | s1`, where `s1 += w; s2 += s1` for every little-endian 16-bit word, modulo 65535, both 0 at the
/// start. An odd last byte is followed by a zero.
///
/// A sum of 65535 is given as 0. Others start with 0xFFFF, take big-endian words, or sum bytes. The variant is the one
/// whose values the article *Fletcher's checksum* of Wikipedia lists: `f04fc729` for `abcde`.
pub fn fletcher32(data: &[u8]) -> u32 {
    let mut sum = Fletcher32::new();
    sum.update(data);
    sum.finish()
}

/// Fletcher-64: `s2 << 32 | s1`, where `s1 += w; s2 += s1` for every little-endian 32-bit word, modulo 2^32 − 1, both 0 at
/// the start. An incomplete last word is filled up with zeros.
///
/// A sum of 2^32 − 1 is given as 0. The variant is the one whose values the article *Fletcher's checksum* of Wikipedia
/// lists: `c8c6c527646362c6` for `abcde`. What APFS stores is [`fletcher64_apfs`].
pub fn fletcher64(data: &[u8]) -> u64 {
    let mut sum = Fletcher64::new();
    sum.update(data);
    sum.finish()
}
