//! A seeded xorshift generator: the order of slices and the contents of buffers repeat from run to run.

/// Marsaglia's 64-bit xorshift (shifts 13, 7, 17), of period 2^64 − 1. Not for secrets.
#[derive(Clone, Debug)]
pub struct XorShift(u64);

impl XorShift {
    /// A generator whose sequence depends on `seed` alone. Zero, the one state that never moves, is replaced.
    pub fn new(seed: u64) -> Self {
        Self(if seed == 0 { 0x9e37_79b9_7f4a_7c15 } else { seed })
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Puts `items` in a random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            // The bias of the remainder is below 2^-50 for any list that a benchmark has.
            items.swap(end, (self.next_u64() % (end as u64 + 1)) as usize);
        }
    }

    /// Overwrites `bytes` with the sequence, eight bytes at a step, little-endian.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.next_u64().to_le_bytes()[..piece.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders(seed: u64) -> Vec<Vec<usize>> {
        let mut random = XorShift::new(seed);
        let mut order: Vec<usize> = (0..8).collect();
        (0..50)
            .map(|_| {
                random.shuffle(&mut order);
                order.clone()
            })
            .collect()
    }

    #[test]
    fn shuffles_are_deterministic_permutations() {
        let first = orders(1);
        assert_eq!(first, orders(1));
        assert_ne!(first, orders(2));
        for order in &first {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..8).collect::<Vec<_>>());
        }
        // Each item leads some round: a row that always ran first would own the cold caches.
        for item in 0..8 {
            assert!(first.iter().any(|order| order[0] == item), "item {item} never comes first");
        }
    }

    #[test]
    fn empty_and_single_lists_are_left_alone() {
        let mut random = XorShift::new(0);
        random.shuffle::<u8>(&mut []);
        let mut one = [5];
        random.shuffle(&mut one);
        assert_eq!(one, [5]);
    }

    #[test]
    fn fill_reaches_the_last_byte_of_every_length() {
        for len in 0..40 {
            let mut once = vec![0; len];
            let mut again = vec![0xff; len];
            XorShift::new(3).fill(&mut once);
            XorShift::new(3).fill(&mut again);
            assert_eq!(once, again);
        }
    }
}
