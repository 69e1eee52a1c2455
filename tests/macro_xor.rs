//! Functions made by the attribute `xor_kernel`: what they compute, what they refuse and how they say it.

mod common;

use common::{assert_same, before, expected, make_zero, slices, sources};
use lanesmith::codegen::spec::Destination::{self, Accumulate, Overwrite};
use lanesmith::xor::{Error, Operand};
use lanesmith::xor_kernel;

/// Both sides of every vector, turn and block.
const LENGTHS: [usize; 20] =
    [0, 1, 2, 15, 16, 31, 33, 63, 64, 65, 127, 255, 256, 257, 511, 513, 1023, 4096, 4099, 70_001];

/// `count` slices of `data` as the array that a function takes.
fn array<const N: usize>(data: &[Vec<u8>]) -> [&[u8]; N] {
    std::array::from_fn(|k| &data[k][..])
}

/// Compares `f` with the reference at every length and at several alignments.
fn same<const N: usize>(name: &str, destination: Destination, f: impl Fn(&mut [u8], [&[u8]; N])) {
    for len in LENGTHS {
        for skip in [0, 1, 32] {
            let data = sources(N, len + skip);
            let data: Vec<Vec<u8>> = data.into_iter().map(|d| d[skip..].to_vec()).collect();
            let mut dest = before(len + skip);
            let want = expected(destination, &dest[skip..], &slices(&data));
            f(&mut dest[skip..], array(&data));
            assert_same(&dest[skip..], &want, || format!("{name}: {N} sources of {len} bytes, skip {skip}"));
            assert_same(&dest[..skip], &before(len + skip)[..skip], || format!("{name}: before the destination"));
        }
    }
}

fn same_test<const N: usize>(name: &str, f: impl Fn([&[u8]; N]) -> bool) {
    for len in LENGTHS {
        let mut data = sources(N, len);
        make_zero(&mut data);
        assert!(f(array(&data)), "{name}: {N} sources of {len} bytes");
        for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|_| len > 0) {
            data[at % N][at] ^= 1 << (at % 8);
            assert!(!f(array(&data)), "{name}: {N} sources of {len} bytes, byte {at}");
            data[at % N][at] ^= 1 << (at % 8);
        }
    }
}

/// A module with the three destinations for one source count and one set of further arguments, and a test of them.
macro_rules! kernels {
    ($($module:ident $n:literal ($($argument:tt)*))+) => {$(
        mod $module {
            use super::*;

            #[xor_kernel(srcs = $n, $($argument)*)]
            fn parity(dest: &mut [u8], srcs: [&[u8]; $n]);

            #[xor_kernel(srcs = $n, destination = accumulate, $($argument)*)]
            fn accumulate(dest: &mut [u8], srcs: [&[u8]; $n]);

            #[xor_kernel(srcs = $n, destination = zero_test, $($argument)*)]
            fn consistent(srcs: [&[u8]; $n]) -> bool;

            #[test]
            fn equals_the_reference() {
                same(stringify!($module), Overwrite, parity);
                same(stringify!($module), Accumulate, accumulate);
                same_test(stringify!($module), consistent);
            }
        }
    )+};
}

kernels! {
    auto_1 1 ()
    auto_2 2 (width = auto)
    auto_7 7 ()
    auto_16 16 ()
    auto_23 23 ()
    auto_64 64 ()
    auto_1024 1024 ()
    width_128 5 (width = 128)
    width_256 5 (width = 256)
    width_512 5 (width = 512)
    tier_sse2 13 (tier = "sse2")
    tier_avx2 13 (tier = "avx2")
    tier_avx512_256 13 (tier = "avx512-256")
    tier_avx512 13 (tier = "avx512")
    unroll_1 3 (unroll = 1)
    unroll_8 3 (unroll = 8)
    pairwise 6 (merge = pairwise)
    ternary 6 (merge = ternary, width = 512)
    no_head 5 (head = off)
    short 8 (length = short)
    long_zero_test 8 (length = long)
    many_options 9 (strategy = single, unroll = 2, merge = auto, store = temporal, head = auto, aligned = 1,
        multiple_of = 1, length = any, crate = ::lanesmith)
}

/// Plans of several programs.
mod grouped {
    use super::*;

    #[xor_kernel(srcs = 7, strategy = grouped4)]
    fn parity_7(dest: &mut [u8], srcs: [&[u8]; 7]);
    #[xor_kernel(srcs = 9, strategy = grouped4, destination = accumulate, width = 256)]
    fn accumulate_9(dest: &mut [u8], srcs: [&[u8]; 9]);
    #[xor_kernel(srcs = 30, length = long)]
    fn parity_30(dest: &mut [u8], srcs: [&[u8]; 30]);
    #[xor_kernel(srcs = 31, length = long, destination = accumulate)]
    fn accumulate_31(dest: &mut [u8], srcs: [&[u8]; 31]);

    #[test]
    fn equals_the_reference() {
        same("grouped4", Overwrite, parity_7);
        same("grouped4", Accumulate, accumulate_9);
        same("blocks", Overwrite, parity_30);
        same("blocks", Accumulate, accumulate_31);
    }
}

#[xor_kernel(srcs = 3)]
fn plain(dest: &mut [u8], srcs: [&[u8]; 3]);
#[xor_kernel(srcs = 3)]
#[must_use]
fn fallible(output: &mut [u8], inputs: [&[u8]; 3]) -> Result<(), Error>;
#[xor_kernel(srcs = 3, destination = zero_test)]
fn test_plain(buffers: [&[u8]; 3]) -> bool;
#[xor_kernel(srcs = 3, destination = zero_test)]
fn test_fallible(buffers: [&[u8]; 3]) -> std::result::Result<bool, lanesmith::xor::Error>;
#[xor_kernel(srcs = 1)]
fn unit(dest: &mut [u8], srcs: [&[u8]; 1]) -> ();

/// An error of the user, into which that of the kernel goes.
#[derive(Debug, PartialEq)]
struct Own(String);

impl From<Error> for Own {
    fn from(error: Error) -> Own {
        Own(error.to_string())
    }
}

#[xor_kernel(srcs = 3)]
fn converted(dest: &mut [u8], srcs: [&[u8]; 3]) -> Result<(), Own>;

/// The text with which `f` panics, and where.
fn panic_of(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(f).expect_err("it should panic");
    panic.downcast_ref::<String>().cloned().expect("a text")
}

#[test]
fn unequal_lengths_are_refused_before_anything_is_written() {
    let mut dest = [9; 100];
    let (a, b, c) = ([1; 100], [2; 100], [3; 99]);
    let error = Error::UnequalLengths { operand: Operand::Source(2), len: 99, other: Operand::Dest, other_len: 100 };
    assert_eq!(fallible(&mut dest, [&a, &b, &c]), Err(error));
    let text = "source 2 has 99 bytes, dest has 100";
    assert_eq!(panic_of(move || plain(&mut [0; 100], [&a, &b, &c])), text);
    assert_eq!(converted(&mut dest, [&a, &b, &c]), Err(Own(text.to_owned())));
    assert_eq!(dest, [9; 100]);

    let text = "buffer 2 has 99 bytes, buffer 0 has 100";
    assert_eq!(test_fallible([&a, &b, &c]).unwrap_err().to_string(), text);
    assert_eq!(panic_of(move || assert!(test_plain([&a, &b, &c]))), text);
    assert_eq!(test_fallible([&a, &b, &a]), Ok(false));
    assert_eq!(test_fallible([&a, &b, &[3; 100]]), Ok(true));
    unit(&mut dest, [&a]);
    assert_eq!(dest, [1; 100]);
}

#[test]
fn a_panic_names_the_caller() {
    let (send, receive) = std::sync::mpsc::channel();
    let before = std::panic::take_hook();
    let here = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == here {
            send.send(info.location().map(|l| (l.file().to_owned(), l.line()))).ok();
        }
    }));
    let line = line!() + 1;
    panic_of(|| plain(&mut [0; 2], [&[1; 1], &[2; 2], &[3; 2]]));
    std::panic::set_hook(before);
    assert_eq!(receive.try_recv(), Ok(Some((file!().to_owned(), line))));
}

mod promises {
    use super::*;

    #[xor_kernel(srcs = 2, aligned = 64, multiple_of = 512)]
    fn both(dest: &mut [u8], srcs: [&[u8]; 2]) -> Result<(), Error>;
    #[xor_kernel(srcs = 2, aligned = 64, store = non_temporal)]
    fn streamed(dest: &mut [u8], srcs: [&[u8]; 2]);
    #[xor_kernel(srcs = 2, aligned = 16, destination = zero_test)]
    fn aligned_test(srcs: [&[u8]; 2]) -> bool;
    /// The Linux kernel's loop for 6 buffers.
    #[xor_kernel(srcs = 5, aligned = 64, multiple_of = 512, strategy = grouped4, destination = accumulate, head = off)]
    fn linux(dest: &mut [u8], srcs: [&[u8]; 5]);

    #[repr(align(64))]
    struct Aligned([u8; 2048]);

    #[test]
    fn they_are_checked_at_every_call() {
        let (a, b) = (Aligned([1; 2048]), Aligned([2; 2048]));
        let mut dest = Aligned([9; 2048]);
        assert_eq!(both(&mut dest.0[..1024], [&a.0[..1024], &b.0[1024..]]), Ok(()));
        assert_eq!(dest.0[..1024], [3; 1024]);
        assert_eq!(dest.0[1024..], [9; 1024]);

        let says = |result: Result<(), Error>, text: &str| assert_eq!(result.unwrap_err().to_string(), text);
        let multiple = "the length 1000 is not the promised non-zero multiple of 512";
        says(both(&mut dest.0[..1000], [&a.0[..1000], &b.0[..1000]]), multiple);
        let multiple = "the length 0 is not the promised non-zero multiple of 512";
        says(both(&mut [], [&[], &[]]), multiple);
        let source = "source 1 at offset 0 is not aligned to the promised 64 bytes";
        says(both(&mut dest.0[..512], [&a.0[..512], &b.0[32..544]]), source);
        let to = "dest at offset 0 is not aligned to the promised 64 bytes";
        says(both(&mut dest.0[1..513], [&a.0[..512], &b.0[..512]]), to);
        assert_eq!(dest.0[1024..], [9; 1024]);

        streamed(&mut dest.0, [&a.0, &b.0]);
        assert_eq!(dest.0, [3; 2048]);
        assert_eq!(panic_of(|| streamed(&mut Aligned([0; 2048]).0[1..], [&[0; 2047], &[0; 2047]])), to);
        assert!(aligned_test([&a.0[16..90], &a.0[32..106]]));
        let text = "buffer 1 at offset 0 is not aligned to the promised 16 bytes";
        assert_eq!(panic_of(|| assert!(aligned_test([&a.0[16..17], &a.0[1..2]]))), text);

        linux(&mut dest.0, [&a.0, &b.0, &a.0, &b.0, &a.0]);
        assert_eq!(dest.0, [2; 2048]);
    }
}

/// Where a function may stand.
mod places {
    use super::xor_kernel;

    pub(super) mod inner {
        #[lanesmith::xor_kernel(srcs = 2)]
        /// Visible one level up.
        #[inline(never)]
        pub(in super::super) fn visible(dest: &mut [u8], srcs: [&[u8]; 2]);
    }

    pub(super) struct Stripe;

    impl Stripe {
        #[xor_kernel(srcs = 2)]
        pub(super) fn parity(dest: &mut [u8], srcs: [&[u8]; 2]);
    }

    pub(super) trait Sum {
        #[xor_kernel(srcs = 2, destination = accumulate)]
        fn sum(dest: &mut [u8], srcs: [&[u8]; 2]);
    }

    impl Sum for Stripe {}

    #[cfg(any())]
    #[xor_kernel(srcs = 2)]
    fn left_out(dest: &mut [u8], srcs: [&[u8]; 2]);

    /// Names of the user that the expansion must not meet.
    #[allow(non_snake_case, non_upper_case_globals, dead_code, non_camel_case_types)]
    pub(super) mod hostile {
        pub(in super::super) struct Option;
        struct Result;
        struct u64;
        struct usize;
        mod core {}
        mod std {}
        const dest: () = ();
        static POOL: () = ();
        fn lanesmith_xor_2_overwrite_avx512() {}

        #[lanesmith::xor_kernel(srcs = 2)]
        pub(in super::super) fn program(KERNEL: &mut [u8], sources: [&[u8]; 2]);
        #[lanesmith::xor_kernel(srcs = 14, length = long)]
        pub(in super::super) fn driver_Avx512(len: &mut [u8], offset: [&[u8]; 14]);
    }
}

#[test]
fn a_function_may_stand_anywhere() {
    use places::Sum as _;

    #[xor_kernel(srcs = 2)]
    fn local(dest: &mut [u8], srcs: [&[u8]; 2]);

    let _ = places::hostile::Option;
    type OfTwo = fn(&mut [u8], [&[u8]; 2]);
    let functions: [OfTwo; 5] = [
        places::inner::visible,
        places::Stripe::parity,
        <places::Stripe as places::Sum>::sum,
        places::hostile::program,
        local,
    ];
    for f in functions {
        let mut dest = [0; 3];
        f(&mut dest, [&[1, 2, 3], &[4, 4, 4]]);
        assert_eq!(dest, [5, 6, 7]);
    }
    places::Stripe::sum(&mut [0; 1], [&[1], &[2]]);
    let mut dest = [0; 3];
    places::hostile::driver_Avx512(&mut dest, [&[1, 2, 3]; 14]);
    assert_eq!(dest, [0; 3]);
}

#[test]
fn first_calls_may_race() {
    #[xor_kernel(srcs = 4)]
    fn raced(dest: &mut [u8], srcs: [&[u8]; 4]);

    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let mut dest = [0; 500];
                raced(&mut dest, [&[1; 500], &[2; 500], &[4; 500], &[8; 500]]);
                assert_eq!(dest, [15; 500]);
            });
        }
    });
}

/// A CPU without the tier that is preferred or named takes the next one down: what such a CPU runs, run here.
#[test]
#[cfg(feature = "std")]
fn every_fallback_equals_the_reference() {
    for tier in ["sse2", "avx2", "avx512-256"] {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["equals_the_reference", "--skip", "every_fallback"])
            .env("LANESMITH_MAX_ISA", tier)
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && !out.contains(" 0 passed"), "{tier}: {out}");
    }
}
