//! Random states of the CPU.

/// Bytes of a page, and of the memory that an instruction may access.
pub(super) const PAGE: usize = 4096;

/// Status flags by their bit in rflags: CF, PF, ZF, SF, OF. (AF is set at random too, but not compared.)
pub(super) const FLAG_BITS: [(&str, u32); 5] = [("CF", 0), ("PF", 2), ("ZF", 6), ("SF", 7), ("OF", 11)];

/// The state that an instruction reads and writes, laid out for the trampoline in `cpu`.
#[repr(C, align(64))]
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) vecs: [[u8; 64]; 32],
    pub(super) masks: [u64; 8],
    pub(super) gprs: [u64; 16],
    pub(super) rflags: u64,
}

impl State {
    pub(super) const ZERO: State = State { vecs: [[0; 64]; 32], masks: [0; 8], gprs: [0; 16], rflags: 2 };
}

/// SplitMix64: every seed is as good as any other, and a run can be repeated by its number.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64, run: u32) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(run) << 32)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// An integer: random, or one that sits on an edge of some size.
    fn int(&mut self) -> u64 {
        let edge = [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63];
        match self.below(6) {
            0 => edge[self.below(edge.len() as u64) as usize],
            1 => edge[self.below(edge.len() as u64) as usize].wrapping_neg(),
            2 => self.below(80),
            3 => 1 << self.below(64),
            _ => self.next(),
        }
    }

    /// An opmask: nothing, everything, the first bits, few bits, or random.
    fn mask(&mut self) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => (1 << self.below(64)) - 1,
            3 => 1 << self.below(64),
            4 => u64::MAX >> self.below(64),
            _ => self.next(),
        }
    }

    /// Bytes: random, or of few values, or all the same.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        let kind = self.below(5);
        let same = [0, 0xff, 0x80, self.next() as u8][self.below(4) as usize];
        for word in bytes.chunks_exact_mut(8) {
            let value = match kind {
                0 => u64::from_ne_bytes([same; 8]),
                // Each byte 0 or 0xff.
                1 => (self.next() & 0x0101_0101_0101_0101) * 0xff,
                // Few bits.
                2 => self.next() & self.next() & self.next() & self.next() & self.next(),
                _ => self.next(),
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// A state in which vectors repeat each other, or do so but for one byte, more often than chance would have it.
    pub(super) fn state(&mut self) -> State {
        let mut state = State::ZERO;
        for i in 0..state.vecs.len() {
            if i > 0 && self.below(3) == 0 {
                state.vecs[i] = state.vecs[self.below(i as u64) as usize];
                if self.below(2) == 0 {
                    state.vecs[i][self.below(64) as usize] ^= self.next() as u8;
                }
            } else {
                let mut bytes = [0; 64];
                self.fill(&mut bytes);
                state.vecs[i] = bytes;
            }
        }
        state.masks = std::array::from_fn(|_| self.mask());
        for i in 0..state.gprs.len() {
            let earlier = self.below(i as u64 + 1) as usize;
            state.gprs[i] = if self.below(4) == 0 { state.gprs[earlier] } else { self.int() };
        }
        let settable = FLAG_BITS.iter().fold(1 << 4, |bits, (_, bit)| bits | 1 << bit);
        state.rflags = self.next() & settable | 0x202;
        state
    }

    /// An address for an access: mostly inside the page, often aligned, sometimes across or beyond its ends.
    pub(super) fn target(&mut self, page: u64) -> u64 {
        let size = PAGE as u64;
        let address = match self.below(8) {
            0 => page.wrapping_sub(64) + self.below(128),
            1 => page + size - 64 + self.below(96),
            _ => page + 64 + self.below(size - 192),
        };
        let align = [1, 1, 8, 16, 32, 64][self.below(6) as usize];
        address & !(align - 1)
    }
}
