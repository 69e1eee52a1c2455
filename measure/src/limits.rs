//! The machine's own bounds: what loading N buffers costs when nothing is computed.
//!
//! A kernel that must read N buffers can be no faster than [`Loads::load`] over the same buffers, and one that also writes a
//! destination no faster than [`Loads::load_store`]. The loops are assembly, so that the compiler neither drops a load nor
//! adds one. A pass takes up to [`GROUP`] buffers, each pointer in a register, and a turn loads four vectors from each:
//!
//! ```text
//! pointers moved to the end of the whole turns; i = −bytes in whole turns
//! turn:  for each buffer p:  v0..v3 = p[i .. i + 4 vectors]
//!        (load_store, first pass:  dest[i .. i + 4 vectors] = v0..v3)
//!        i += 4 vectors, until i = 0
//! then one vector a turn for the rest
//! ```
//!
//! Four loads or more stand against one fused addition and branch, so the loads are what limits the loop.
//!
//! The widest vectors are not the fastest loads on every machine: one whose ports pass 32 bytes each may load a zmm no
//! faster than two ymm, or a little slower. The bound of a kernel is the best of all [`Width`]s. Where the buffers do
//! not fit in the cache, another order of accesses may hit more lines and come out a little below it.

use std::fmt;

/// The buffers that one pass reads side by side. More buffers are spread evenly over several passes.
pub const GROUP: usize = 8;

/// A vector width that this CPU has. Values come from detection only, which is what makes [`Loads`] safe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(Kind);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
enum Kind {
    Word,
    Xmm,
    Ymm,
    Zmm,
}

impl Width {
    /// The widths of this CPU, the narrowest first: `xmm`, `ymm`, `zmm` on x86-64, and eight-byte words elsewhere.
    pub fn available() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let mut widths = vec![Self(Kind::Xmm)];
            if std::is_x86_feature_detected!("avx") {
                widths.push(Self(Kind::Ymm));
            }
            if std::is_x86_feature_detected!("avx512f") {
                widths.push(Self(Kind::Zmm));
            }
            widths
        }
        #[cfg(not(target_arch = "x86_64"))]
        vec![Self(Kind::Word)]
    }

    /// The widest of them.
    pub fn widest() -> Self {
        Self::available().last().copied().unwrap_or(Self(Kind::Word))
    }

    /// The bytes of one vector.
    pub fn bytes(self) -> usize {
        match self.0 {
            Kind::Word => 8,
            Kind::Xmm => 16,
            Kind::Ymm => 32,
            Kind::Zmm => 64,
        }
    }

    /// The name of the register class.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Word => "word",
            Kind::Xmm => "xmm",
            Kind::Ymm => "ymm",
            Kind::Zmm => "zmm",
        }
    }
}

impl fmt::Debug for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Width({})", self.name())
    }
}

/// Loads over a set of buffers, prepared once so that a timed call does little else than load.
#[derive(Clone, Debug)]
pub struct Loads<'b> {
    width: Width,
    count: usize,
    len: usize,
    passes: Vec<loops::Pass<'b>>,
}

impl<'b> Loads<'b> {
    /// Prepares vector loads of `width` over `bufs`, up to the length of the shortest rounded down to whole vectors.
    pub fn new(width: Width, bufs: &[&'b [u8]]) -> Self {
        let len = whole_vectors(width, bufs.iter().map(|buf| buf.len()).min().unwrap_or(0));
        let passes = groups(bufs).map(|group| loops::Pass::new(width, group)).collect();
        Self { width, count: bufs.len(), len, passes }
    }

    /// Loads every byte once. Returns the number of bytes loaded.
    #[inline]
    pub fn load(&self) -> usize {
        for pass in &self.passes {
            pass.load(self.len);
        }
        self.len * self.count
    }

    /// The same loads, and one store for each vector of `dest`; a shorter `dest` shortens the loads. Returns the number
    /// of bytes loaded. Without buffers nothing is stored.
    ///
    /// `dest` gets a copy of the last buffer of the first pass: what is stored was loaded just before, as in a kernel.
    #[inline]
    pub fn load_store(&self, dest: &mut [u8]) -> usize {
        let len = whole_vectors(self.width, self.len.min(dest.len()));
        if let Some((first, others)) = self.passes.split_first() {
            first.load_store(&mut dest[..len]);
            for pass in others {
                pass.load(len);
            }
        }
        len * self.count
    }
}

/// Loads the buffers once with the widest vectors, prepared anew on each call: a short call is better timed with
/// [`Loads`], whose lengths and result are the same.
pub fn load(bufs: &[&[u8]]) -> usize {
    Loads::new(Width::widest(), bufs).load()
}

/// Loads the buffers and stores `dest` once with the widest vectors, prepared anew on each call; see
/// [`Loads::load_store`].
pub fn load_store(dest: &mut [u8], bufs: &[&[u8]]) -> usize {
    Loads::new(Width::widest(), bufs).load_store(dest)
}

fn whole_vectors(width: Width, len: usize) -> usize {
    len & !(width.bytes() - 1)
}

/// Splits `bufs` into as few groups as [`GROUP`] allows, whose sizes differ by one at most, larger groups first.
fn groups<'s, 'b>(bufs: &'s [&'b [u8]]) -> impl Iterator<Item = &'s [&'b [u8]]> {
    let count = bufs.len().div_ceil(GROUP);
    let mut left = bufs;
    (0..count).map(move |taken| {
        let (group, rest) = left.split_at(left.len().div_ceil(count - taken));
        left = rest;
        group
    })
}

#[cfg(target_arch = "x86_64")]
#[path = "limits_x86_64.rs"]
mod loops;

/// A stand-in without assembly: words through `black_box`, which costs more than the load itself on most cores.
#[cfg(not(target_arch = "x86_64"))]
mod loops {
    use super::Width;
    use std::hint::black_box;

    #[derive(Clone, Debug)]
    pub(super) struct Pass<'b>(Vec<&'b [u8]>);

    impl<'b> Pass<'b> {
        pub(super) fn new(_: Width, group: &[&'b [u8]]) -> Self {
            Self(group.to_vec())
        }

        pub(super) fn load(&self, len: usize) {
            for buf in &self.0 {
                for word in buf[..len].chunks_exact(8) {
                    black_box(word.first_chunk::<8>().map(|bytes| u64::from_ne_bytes(*bytes)));
                }
            }
        }

        pub(super) fn load_store(&self, dest: &mut [u8]) {
            self.load(dest.len());
            if let Some(last) = self.0.last() {
                dest.copy_from_slice(&last[..dest.len()]);
            }
        }
    }
}
