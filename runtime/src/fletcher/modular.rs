//! The members of the family that sum modulo 2^k − 1, over pieces.

use super::combine::finish_apfs;
use super::residue::Residue;
use super::{Algorithm, Error, words};

/// s1 and s2 of `W`-byte words.
#[derive(Clone, Debug)]
struct Modular<const W: usize> {
    residue: Residue<W>,
    /// Both below the modulus.
    sums: [u64; 2],
}

impl<const W: usize> Modular<W> {
    const fn new() -> Modular<W> {
        Modular { residue: Residue::new(), sums: [0; 2] }
    }

    fn update(&mut self, piece: &[u8]) {
        let Modular { residue, sums } = self;
        residue.feed(piece, |data| words::sums::<W>(sums, data));
    }

    /// s1 and s2, an incomplete last word filled up with zeros.
    fn finish_zero_extended(mut self) -> [u64; 2] {
        if let Some(last) = self.residue.zero_extended() {
            words::sums::<W>(&mut self.sums, &last);
        }
        self.sums
    }
}

/// The checksum of an APFS object whose payload comes in pieces of any length.
#[derive(Clone, Debug)]
pub struct Fletcher64Apfs(Modular<4>);

impl Fletcher64Apfs {
    /// Without any input yet.
    pub const fn new() -> Fletcher64Apfs {
        Fletcher64Apfs(Modular::new())
    }

    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The checksum of all pieces, as the first 8 bytes of the block hold it, little-endian.
    ///
    /// # Errors
    /// [`Error::PartialWord`] if the pieces have together a length that is not a multiple of 4 bytes.
    pub fn finish(self) -> Result<u64, Error> {
        self.0.residue.none_left(Algorithm::Fletcher64Apfs)?;
        Ok(finish_apfs(self.0.sums))
    }
}

impl Default for Fletcher64Apfs {
    fn default() -> Fletcher64Apfs {
        Fletcher64Apfs::new()
    }
}

macro_rules! textbook {
    ($(#[$doc:meta])* $name:ident: $word:literal bytes -> $out:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Modular<$word>);

        impl $name {
            /// Without any input yet.
            pub const fn new() -> $name {
                $name(Modular::new())
            }

            /// Takes the next piece.
            pub fn update(&mut self, piece: &[u8]) {
                self.0.update(piece);
            }

            /// The checksum of all pieces: s2 in the upper half, s1 in the lower one.
            pub fn finish(self) -> $out {
                let [s1, s2] = self.0.finish_zero_extended();
                (s2 << (8 * $word) | s1) as $out
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new()
            }
        }
    };
}

textbook! {
    /// [Fletcher-16](super::fletcher16) of data that comes in pieces of any length.
    Fletcher16: 1 bytes -> u16
}
textbook! {
    /// [Fletcher-32](super::fletcher32) of data that comes in pieces of any length.
    Fletcher32: 2 bytes -> u32
}
textbook! {
    /// [Fletcher-64](super::fletcher64) of data that comes in pieces of any length.
    Fletcher64: 4 bytes -> u64
}
