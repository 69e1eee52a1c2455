//! What pieces of any length leave: the bytes of a word of which the rest is still to come.

use super::{Algorithm, Error};

/// Cuts pieces into whole words of `W` bytes, a power of two.
#[derive(Clone, Debug)]
pub(super) struct Residue<const W: usize> {
    /// The first `total % W` bytes of the word that is not complete yet.
    bytes: [u8; W],
    /// The bytes of all pieces so far.
    total: u64,
}

impl<const W: usize> Residue<W> {
    pub(super) const fn new() -> Residue<W> {
        assert!(W.is_power_of_two());
        Residue { bytes: [0; W], total: 0 }
    }

    /// Takes a piece, and gives all words that it completes to `words`, in at most two slices that are not empty.
    pub(super) fn feed(&mut self, mut piece: &[u8], mut words: impl FnMut(&[u8])) {
        let held = self.held();
        self.total = self.total.wrapping_add(piece.len() as u64);
        if held > 0 {
            let (first, rest) = piece.split_at(piece.len().min(W - held));
            self.bytes[held..held + first.len()].copy_from_slice(first);
            if held + first.len() < W {
                return;
            }
            words(&self.bytes);
            piece = rest;
        }
        let (whole, rest) = piece.split_at(piece.len() - piece.len() % W);
        if !whole.is_empty() {
            words(whole);
        }
        self.bytes[..rest.len()].copy_from_slice(rest);
    }

    /// Fails if a word is incomplete.
    pub(super) fn none_left(&self, algorithm: Algorithm) -> Result<(), Error> {
        match self.held() {
            0 => Ok(()),
            _ => Err(Error::PartialWord { algorithm, total: self.total, word: W }),
        }
    }

    /// The incomplete word, if there is one, filled up with zeros.
    pub(super) fn zero_extended(mut self) -> Option<[u8; W]> {
        let held = self.held();
        self.bytes[held..].fill(0);
        (held > 0).then_some(self.bytes)
    }

    fn held(&self) -> usize {
        // Exact even after `total` has wrapped, because `W` divides 2^64.
        (self.total % W as u64) as usize
    }
}
