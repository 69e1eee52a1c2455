//! The loops of [`limits`](super) for x86-64, one generic body for the three vector widths.

use super::{GROUP, Kind, Width};
use core::arch::asm;
use core::marker::PhantomData;

/// A loop over so many sources: its destination, its sources and the length in bytes.
type PassFn = unsafe fn(*mut u8, &[*const u8; GROUP], usize);

/// One pass: up to [`GROUP`] sources and the loops for their number and the vector width.
#[derive(Clone, Debug)]
pub(super) struct Pass<'b> {
    /// The sources' starts; the places left over repeat the last.
    sources: [*const u8; GROUP],
    /// The length for which all of them are valid.
    shortest: usize,
    vector: usize,
    load: PassFn,
    load_store: PassFn,
    lifetime: PhantomData<&'b [u8]>,
}

impl<'b> Pass<'b> {
    /// A pass over the `group`, of 1 to [`GROUP`] sources.
    pub(super) fn new(width: Width, group: &[&'b [u8]]) -> Self {
        assert!((1..=GROUP).contains(&group.len()));
        let sources = core::array::from_fn(|k| group[k.min(group.len() - 1)].as_ptr());
        let shortest = group.iter().map(|buf| buf.len()).min().unwrap_or(0);
        let table = match width.0 {
            Kind::Zmm => &ZMM,
            Kind::Ymm => &YMM,
            Kind::Xmm | Kind::Word => &XMM,
        };
        let (load, load_store) = table[group.len() - 1];
        Self { sources, shortest, vector: width.bytes(), load, load_store, lifetime: PhantomData }
    }

    /// Loads the first `len` bytes of each source: whole vectors, and no more than the shortest has.
    #[inline]
    pub(super) fn load(&self, len: usize) {
        assert!(len <= self.shortest && len & (self.vector - 1) == 0);
        // SAFETY: the CPU has the width, as a `Width` exists only then. Every source, borrowed for 'b, is valid for
        // reads of `shortest` bytes, of which `len` are whole vectors by the assertion. This loop leaves dest alone.
        unsafe { (self.load)(core::ptr::null_mut(), &self.sources, len) }
    }

    /// Loads as much of each source as `dest` is long, under the same conditions, and stores every vector of `dest`.
    #[inline]
    pub(super) fn load_store(&self, dest: &mut [u8]) {
        let len = dest.len();
        assert!(len <= self.shortest && len & (self.vector - 1) == 0);
        // SAFETY: as in `load`; and `dest` is valid for writes of its length and, being borrowed mutably, overlaps no
        // source.
        unsafe { (self.load_store)(dest.as_mut_ptr(), &self.sources, len) }
    }
}

/// The vectors `$lines` of buffer `$k`, if the pass has so many buffers.
macro_rules! loads {
    ($mov:literal $reg:literal $bytes:literal, $k:literal, $lines:literal) => {
        concat!(
            ".if {n} > ",
            $k,
            "\n",
            ".irp line, ",
            $lines,
            "\n",
            $mov,
            " ",
            $reg,
            "\\line, [{p",
            $k,
            "} + {i} + ",
            $bytes,
            " * \\line]\n",
            ".endr\n",
            ".endif",
        )
    };
}

/// The vectors `$lines` of the destination, if the pass stores.
macro_rules! stores {
    ($mov:literal $reg:literal $bytes:literal, $lines:literal) => {
        concat!(
            ".if {store}\n",
            ".irp line, ",
            $lines,
            "\n",
            $mov,
            " [{dest} + {i} + ",
            $bytes,
            " * \\line], ",
            $reg,
            "\\line\n",
            ".endr\n",
            ".endif",
        )
    };
}

macro_rules! pass {
    ($name:ident $table:ident: $mov:literal $reg:literal $bytes:literal, $end:literal) => {
        /// One pass over `N` buffers.
        ///
        /// # Safety
        ///
        /// The CPU has this width and its state is enabled. `len` is a multiple of the vector's size; every source is
        /// valid for reads of `len` bytes, and `dest`, if `STORE`, for writes of as many that overlap no source.
        unsafe fn $name<const N: usize, const STORE: bool>(dest: *mut u8, sources: &[*const u8; GROUP], len: usize) {
            let turns_len = len - len % (4 * $bytes);
            // Unused without STORE, and then null: moving it must not claim to stay within an object.
            let dest = dest.wrapping_add(turns_len);
            let end = |k: usize| sources[k].wrapping_add(turns_len);
            // SAFETY: the loops access [−turns_len, len − turns_len) relative to the moved pointers, in whole vectors,
            // which is each buffer's first `len` bytes. The vector registers are declared clobbered, the stack is not
            // used, and the first loop is entered only with i < 0, the second only with i < rest.
            unsafe {
                asm!(
                    "test {i}, {i}",
                    "jz 3f",
                    ".p2align 6",
                    "2:",
                    loads!($mov $reg $bytes, 0, "0,1,2,3"),
                    loads!($mov $reg $bytes, 1, "0,1,2,3"),
                    loads!($mov $reg $bytes, 2, "0,1,2,3"),
                    loads!($mov $reg $bytes, 3, "0,1,2,3"),
                    loads!($mov $reg $bytes, 4, "0,1,2,3"),
                    loads!($mov $reg $bytes, 5, "0,1,2,3"),
                    loads!($mov $reg $bytes, 6, "0,1,2,3"),
                    loads!($mov $reg $bytes, 7, "0,1,2,3"),
                    stores!($mov $reg $bytes, "0,1,2,3"),
                    concat!("add {i}, 4 * ", $bytes),
                    "jnz 2b",
                    "3:",
                    "cmp {i}, {rest}",
                    "jae 5f",
                    "4:",
                    loads!($mov $reg $bytes, 0, "0"),
                    loads!($mov $reg $bytes, 1, "0"),
                    loads!($mov $reg $bytes, 2, "0"),
                    loads!($mov $reg $bytes, 3, "0"),
                    loads!($mov $reg $bytes, 4, "0"),
                    loads!($mov $reg $bytes, 5, "0"),
                    loads!($mov $reg $bytes, 6, "0"),
                    loads!($mov $reg $bytes, 7, "0"),
                    stores!($mov $reg $bytes, "0"),
                    concat!("add {i}, ", $bytes),
                    "cmp {i}, {rest}",
                    "jb 4b",
                    "5:",
                    $end,
                    n = const N,
                    store = const STORE as usize,
                    i = inout(reg) turns_len.wrapping_neg() => _,
                    rest = in(reg) len - turns_len,
                    dest = in(reg) dest,
                    p0 = in(reg) end(0),
                    p1 = in(reg) end(1),
                    p2 = in(reg) end(2),
                    p3 = in(reg) end(3),
                    p4 = in(reg) end(4),
                    p5 = in(reg) end(5),
                    p6 = in(reg) end(6),
                    p7 = in(reg) end(7),
                    // `vzeroupper` clears the upper halves of all sixteen.
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                    options(nostack),
                );
            }
        }

        /// The loops for 1 to [`GROUP`] sources, without and with the store.
        const $table: [(PassFn, PassFn); GROUP] = [
            ($name::<1, false>, $name::<1, true>),
            ($name::<2, false>, $name::<2, true>),
            ($name::<3, false>, $name::<3, true>),
            ($name::<4, false>, $name::<4, true>),
            ($name::<5, false>, $name::<5, true>),
            ($name::<6, false>, $name::<6, true>),
            ($name::<7, false>, $name::<7, true>),
            ($name::<8, false>, $name::<8, true>),
        ];
    };
}

pass!(pass_zmm ZMM: "vmovdqu64" "zmm" 64, "vzeroupper");
pass!(pass_ymm YMM: "vmovdqu" "ymm" 32, "vzeroupper");
pass!(pass_xmm XMM: "movdqu" "xmm" 16, "");
