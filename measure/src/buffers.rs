//! Buffers at promised addresses, and the reader that pushes them out of the L1 cache.

use crate::shuffle::XorShift;
use std::hint::black_box;

/// The alignment that layouts start from, in bytes: the size of a small page, and the distance at which two addresses
/// share a set of a 32 or 48 KiB L1 cache.
pub const PAGE: usize = 4096;

/// Where the buffers of one call lie relative to pages. Buffer 0 is the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Every buffer starts a page, as storage software's do. All then compete for the same sets of the L1 cache.
    Aligned,
    /// Buffer k starts 64·(k mod 64) bytes into its own page-aligned area: vector-aligned, spread over the sets.
    Staggered,
    /// Every buffer starts one byte into its own page-aligned area: no vector is aligned, all are congruent.
    Offset1,
}

impl Layout {
    /// All layouts, in the order in which benches show them.
    pub const ALL: [Self; 3] = [Self::Aligned, Self::Staggered, Self::Offset1];

    /// The name in rows and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aligned => "aligned",
            Self::Staggered => "staggered",
            Self::Offset1 => "offset1",
        }
    }

    /// The distance of buffer `k` from the page boundary before it, in bytes.
    pub fn offset(self, k: usize) -> usize {
        match self {
            Self::Aligned => 0,
            Self::Staggered => 64 * (k % 64),
            Self::Offset1 => 1,
        }
    }
}

/// One destination and N sources of equal length in one allocation, laid out as a [`Layout`] promises and filled
/// deterministically: two `Buffers` of the same shape hold the same bytes.
#[derive(Debug)]
pub struct Buffers {
    memory: Vec<u8>,
    /// The first page boundary within `memory`.
    base: usize,
    /// The distance between the areas of two buffers: whole pages.
    area: usize,
    count: usize,
    len: usize,
    layout: Layout,
}

impl Buffers {
    /// A destination and `sources` sources of `len` bytes each.
    ///
    /// # Panics
    ///
    /// If the sizes together exceed the address space, as `Vec` does.
    pub fn new(sources: usize, len: usize, layout: Layout) -> Self {
        let count = sources + 1;
        // A buffer of no bytes still gets a page: its address must be the promised one too.
        let widest = (0..count.min(64)).map(|k| layout.offset(k)).max().unwrap_or(0);
        let area = (len + widest).max(1).next_multiple_of(PAGE);
        let memory = vec![0; area * count + PAGE];
        let base = memory.as_ptr().addr().wrapping_neg() % PAGE;
        let mut buffers = Self { memory, base, area, count, len, layout };
        for (k, buffer) in buffers.slices_mut().enumerate() {
            XorShift::new((k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).fill(buffer);
        }
        buffers
    }

    /// The destination, and the sources in order.
    pub fn dest_and_sources(&mut self) -> (&mut [u8], Vec<&[u8]>) {
        let mut slices = self.slices_mut();
        let dest = slices.next().unwrap_or_default();
        (dest, slices.map(|source| &*source).collect())
    }

    /// The sources alone, for what only reads.
    pub fn sources(&self) -> Vec<&[u8]> {
        let (area, len, layout) = (self.area, self.len, self.layout);
        let areas = self.memory[self.base..].chunks_exact(area).take(self.count).enumerate();
        areas.skip(1).map(|(k, area)| &area[layout.offset(k)..][..len]).collect()
    }

    /// The destination and the sources, one after the other, all writable.
    pub fn slices_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (len, layout) = (self.len, self.layout);
        let areas = self.memory[self.base..].chunks_exact_mut(self.area).take(self.count).enumerate();
        areas.map(move |(k, area)| &mut area[layout.offset(k)..][..len])
    }

    /// The length of each buffer in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffers have no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of sources.
    pub fn source_count(&self) -> usize {
        self.count - 1
    }

    /// The layout asked for.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

/// Reads 256 KiB of its own, so that what lay in the L1 data cache lies in the L2 cache only: larger than any L1 of
/// today, smaller than any L2. The first-level TLB forgets its entries too.
#[derive(Debug)]
pub struct L1Evictor(Vec<u8>);

impl L1Evictor {
    /// An evictor with its memory touched.
    pub fn new() -> Self {
        // Not zeros: untouched zero pages would all be the same physical page, which fits any cache.
        Self(vec![0xa5; 256 * 1024])
    }

    /// Evicts the L1 data cache of the core that runs this.
    pub fn evict(&self) {
        let sum = self.0.iter().step_by(64).fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        black_box(sum);
    }
}

impl Default for L1Evictor {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_have_the_promised_addresses() {
        for layout in Layout::ALL {
            for (sources, len) in [(1, 0), (1, 1), (3, 4095), (12, 4096), (12, 4097), (70, 512)] {
                let mut buffers = Buffers::new(sources, len, layout);
                let (dest, rest) = buffers.dest_and_sources();
                assert_eq!(rest.len(), sources);
                let all: Vec<&[u8]> = std::iter::once(&*dest).chain(rest).collect();
                for (k, buffer) in all.iter().enumerate() {
                    assert_eq!(buffer.len(), len);
                    let expected = match layout {
                        Layout::Aligned => 0,
                        Layout::Staggered => 64 * k % PAGE,
                        Layout::Offset1 => 1,
                    };
                    assert_eq!(buffer.as_ptr().addr() % PAGE, expected, "{layout:?} buffer {k} of {len} bytes");
                }
                for pair in all.windows(2) {
                    assert!(pair[0].as_ptr().addr() + len <= pair[1].as_ptr().addr(), "buffers overlap");
                }
            }
        }
    }

    #[test]
    fn contents_are_deterministic_distinct_and_the_same_in_every_layout() {
        let mut first = Buffers::new(3, 1000, Layout::Aligned);
        let mut second = Buffers::new(3, 1000, Layout::Offset1);
        assert!(first.slices_mut().eq(second.slices_mut()));
        let (dest, sources) = first.dest_and_sources();
        assert_ne!(dest, sources[0]);
        assert_ne!(sources[0], sources[1]);
        assert_eq!(sources, second.sources());
    }

    #[test]
    fn accessors_report_the_shape() {
        let buffers = Buffers::new(5, 64, Layout::Staggered);
        assert_eq!((buffers.source_count(), buffers.len(), buffers.is_empty()), (5, 64, false));
        assert_eq!((buffers.layout(), buffers.layout().name()), (Layout::Staggered, "staggered"));
        assert!(Buffers::new(0, 0, Layout::Aligned).is_empty());
        L1Evictor::default().evict();
    }
}
