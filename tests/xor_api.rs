//! The safe functions: what they compute, what they refuse and how they say it.

mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{assert_same, before, expected, make_zero, slices, source, sources};
use lanesmith::codegen::spec::Destination;
use lanesmith::xor::{self, Error, Operand};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;

/// Every count that a call may treat by itself, and larger ones.
fn counts() -> impl Iterator<Item = usize> {
    (1..=40).chain([64, 255, 256, 300, 1024])
}

const LENGTHS: [usize; 12] = [0, 1, 3, 63, 64, 100, 255, 511, 513, 4096, 4097, 70_000];

fn lengths(n: usize) -> impl Iterator<Item = usize> {
    LENGTHS.into_iter().filter(move |len| n * len < 10_000_000)
}

#[test]
fn parity_and_accumulate() {
    for n in counts() {
        for len in lengths(n) {
            let data = sources(n, len);
            let mut dest = before(len);
            xor::parity(&mut dest, &slices(&data)).unwrap();
            assert_same(&dest, &expected(Destination::Overwrite, &before(len), &slices(&data)), || {
                format!("parity of {n} x {len}")
            });
            dest = before(len);
            xor::accumulate(&mut dest, &slices(&data)).unwrap();
            assert_same(&dest, &expected(Destination::Accumulate, &before(len), &slices(&data)), || {
                format!("accumulate {n} x {len}")
            });
        }
    }
}

#[test]
fn check_sees_every_bit() {
    for n in counts() {
        for len in lengths(n) {
            let mut data = sources(n, len);
            make_zero(&mut data);
            assert_eq!(xor::check(&slices(&data)), Ok(true), "{n} x {len}");
            for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|_| len > 0) {
                for bit in 0..8 {
                    let k = (at + bit) % n;
                    data[k][at] ^= 1 << bit;
                    assert_eq!(xor::check(&slices(&data)), Ok(false), "{n} x {len}, bit {bit} of byte {at}");
                    data[k][at] ^= 1 << bit;
                }
            }
        }
    }
}

#[test]
fn update_is_read_modify_write() {
    for len in LENGTHS {
        let mut data = sources(5, len);
        let mut parity = vec![0; len];
        xor::parity(&mut parity, &slices(&data)).unwrap();
        let new = source(77, len);
        xor::update(&mut parity, &data[3], &new).unwrap();
        data[3] = new;
        let mut fresh = vec![0; len];
        xor::parity(&mut fresh, &slices(&data)).unwrap();
        assert_same(&parity, &fresh, || format!("{len} bytes"));
    }
}

#[test]
fn a_lost_source_comes_back() {
    for n in [2, 5, 14, 24] {
        let data = sources(n, 1000);
        let mut parity = vec![0; 1000];
        xor::parity(&mut parity, &slices(&data)).unwrap();
        for lost in [0, n / 2, n - 1] {
            let mut survivors = slices(&data);
            survivors[lost] = &parity;
            let mut found = vec![0xEE; 1000];
            xor::parity(&mut found, &survivors).unwrap();
            assert_same(&found, &data[lost], || format!("source {lost} of {n}"));
        }
    }
}

/// What zero extension means, said with buffers that really are extended.
fn zero_extended(len: usize, sources: &[Vec<u8>]) -> Vec<u8> {
    let extended: Vec<Vec<u8>> = sources.iter().map(|s| [&s[..], &vec![0; len - s.len()]].concat()).collect();
    expected(Destination::Overwrite, &before(len), &slices(&extended))
}

#[test]
fn short_sources_act_as_if_zeros_followed() {
    let cases: [(usize, &[usize]); 9] = [
        (0, &[0, 0]),
        (100, &[100, 100, 100]),
        (100, &[100, 99, 64, 1, 0]),
        (100, &[0]),
        (100, &[0, 0, 7]),
        (512, &[300, 512, 300, 301]),
        (5000, &[4608, 4096, 4096, 4608, 4096]),
        (1, &[0, 1, 0]),
        (1000, &[10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160]),
    ];
    for (len, lens) in cases {
        let data: Vec<Vec<u8>> = lens.iter().enumerate().map(|(j, len)| source(j, *len)).collect();
        let mut dest = before(len);
        xor::parity_zero_extended(&mut dest, &slices(&data)).unwrap();
        assert_same(&dest, &zero_extended(len, &data), || format!("{len} bytes of {lens:?}"));
    }
    let data: Vec<Vec<u8>> = (0..1024).map(|j| source(j, j % 300)).collect();
    let mut dest = before(333);
    xor::parity_zero_extended(&mut dest, &slices(&data)).unwrap();
    assert_same(&dest, &zero_extended(333, &data), || "1024 sources".to_owned());
}

/// Calls every function that takes a list of sources.
fn every_list_function(dest: &mut [u8], list: &[&[u8]]) -> [Result<(), Error>; 3] {
    [xor::parity(dest, list), xor::accumulate(dest, list), xor::parity_zero_extended(dest, list)]
}

#[test]
fn the_source_count_has_two_bounds() {
    let byte = [3u8; 4];
    let mut dest = [9; 4];
    for result in every_list_function(&mut dest, &[]) {
        assert_eq!(result, Err(Error::NoSources));
    }
    assert_eq!(xor::check(&[]), Err(Error::NoSources));
    for destination in common::DESTINATIONS {
        assert_eq!(xor::describe(destination, 0, 10).map(drop), Err(Error::NoSources));
    }
    assert_eq!(Error::NoSources.to_string(), "no sources: at least 1 is needed");
    for n in [1025, 1026, 5000, 65_537] {
        let list = vec![&byte[..]; n];
        for result in every_list_function(&mut dest, &list) {
            assert_eq!(result, Err(Error::TooManySources { sources: n }));
        }
        assert_eq!(xor::check(&list), Err(Error::TooManySources { sources: n }));
        assert_eq!(xor::describe(Destination::Overwrite, n, 10).map(drop), Err(Error::TooManySources { sources: n }));
    }
    assert_eq!(dest, [9; 4]);
    assert_eq!(Error::TooManySources { sources: 1025 }.to_string(), "1025 sources are too many: at most 1024");
    let list = vec![&byte[..]; 1024];
    for result in every_list_function(&mut dest, &list) {
        assert_eq!(result, Ok(()));
    }
    assert_eq!(xor::check(&list), Ok(true));
}

#[track_caller]
fn says<T: std::fmt::Debug>(result: Result<T, Error>, text: &str) {
    assert_eq!(result.unwrap_err().to_string(), text);
}

#[test]
fn unequal_lengths_name_the_culprit_and_write_nothing() {
    for n in [4, 5, 32, 33, 300] {
        let mut data = sources(n, 4096);
        data[3].pop();
        let mut dest = before(4096);
        let list = slices(&data);
        says(xor::parity(&mut dest, &list), "source 3 has 4095 bytes, dest has 4096");
        says(xor::accumulate(&mut dest, &list), "source 3 has 4095 bytes, dest has 4096");
        says(xor::check(&list), "buffer 3 has 4095 bytes, buffer 0 has 4096");
        assert_eq!(dest, before(4096));
        // Only the first of several is named.
        data[1].push(0);
        says(xor::parity(&mut dest, &slices(&data)), "source 1 has 4097 bytes, dest has 4096");
        says(
            xor::parity_zero_extended(&mut dest, &slices(&data)),
            "source 1 has 4097 bytes, more than dest, which has 4096",
        );
        assert_eq!(dest, before(4096));
    }
    // A kernel for the count exists by now, and the lengths are still compared.
    for n in 1..=40 {
        let mut data = sources(n, 65);
        let mut dest = before(65);
        xor::parity(&mut dest, &slices(&data)).unwrap();
        dest = before(65);
        for k in 0..n {
            for len in [0, 64, 66] {
                data[k] = source(k, len);
                let text = format!("source {k} has {len} bytes, dest has 65");
                says(xor::parity(&mut dest, &slices(&data)), &text);
                says(xor::accumulate(&mut dest, &slices(&data)), &text);
                assert_eq!(dest, before(65), "{n} sources: {text}");
            }
            data[k] = source(k, 65);
        }
    }
    let data = sources(4, 100);
    let mut dest = before(101);
    xor::parity(&mut dest[..100], &slices(&data)).unwrap();
    says(xor::parity(&mut dest, &slices(&data)), "source 0 has 100 bytes, dest has 101");
    says(xor::accumulate(&mut dest[..0], &slices(&data)), "source 0 has 100 bytes, dest has 0");

    let (old, new) = (source(1, 10), source(2, 11));
    let mut parity = before(10);
    says(xor::update(&mut parity, &new, &old), "old has 11 bytes, parity has 10");
    says(xor::update(&mut parity, &old, &new), "new has 11 bytes, parity has 10");
    assert_eq!(parity, before(10));
    let operand = Operand::New;
    assert_eq!(
        xor::update(&mut parity, &old, &new),
        Err(Error::UnequalLengths { operand, len: 11, other: Operand::Parity, other_len: 10 })
    );
}

/// Every count is called for the first time by 16 threads at once; whoever compiles, all results are right.
#[test]
fn first_calls_may_race() {
    const THREADS: usize = 16;
    // No other test of this program calls these.
    let counts = || (65..=1000).filter(|n| !matches!(n, 255 | 256 | 300));
    let data = sources(1000, 64 + THREADS);
    let arrived = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let work = |thread: usize| {
        let len = 64 + thread;
        for (round, n) in counts().enumerate() {
            let list: Vec<&[u8]> = data[..n].iter().map(|s| &s[..len]).collect();
            let destination = common::DESTINATIONS[round % 3];
            let mut dest = before(len);
            // All threads begin a round together. They poll instead of sleeping, so that those that run at the moment
            // go on within nanoseconds of each other, sooner than a kernel is compiled.
            arrived.fetch_add(1, Ordering::SeqCst);
            while arrived.load(Ordering::SeqCst) < THREADS * (round + 1) {
                std::thread::yield_now();
            }
            let done = match destination {
                Destination::Overwrite => xor::parity(&mut dest, &list),
                Destination::Accumulate => xor::accumulate(&mut dest, &list),
                // Sources that differ do not XOR to zero: a wrong answer spoils the destination.
                Destination::ZeroTest => xor::check(&list).map(|zero| dest[0] ^= u8::from(zero)),
            };
            // A panic here would leave the other threads waiting.
            if done != Ok(()) || dest != expected(destination, &before(len), &list) {
                failures.lock().unwrap().push(format!("{destination} of {n} sources in thread {thread}: {done:?}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    assert_eq!(failures.into_inner().unwrap(), Vec::<String>::new());
}

/// Sources of one length, at any alignment, with a destination of that length.
fn stripes() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<u8>, usize)> {
    (1usize..40, 0usize..1500, 0usize..64)
        .prop_flat_map(|(n, len, skip)| (vec(vec(any::<u8>(), len + skip), n), vec(any::<u8>(), len), Just(skip)))
}

proptest! {
    // The cases are the same in every run: a failure in CI is a failure here.
    #![proptest_config(Config { cases: 150, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..Config::default() })]

    #[test]
    fn random_stripes((buffers, dest, skip) in stripes()) {
        let list: Vec<&[u8]> = buffers.iter().map(|b| &b[skip..]).collect();
        for destination in [Destination::Overwrite, Destination::Accumulate] {
            let mut found = dest.clone();
            match destination {
                Destination::Overwrite => xor::parity(&mut found, &list).unwrap(),
                _ => xor::accumulate(&mut found, &list).unwrap(),
            }
            prop_assert_eq!(&found, &expected(destination, &dest, &list));
        }
        prop_assert_eq!(xor::check(&list).unwrap(), lanesmith::reference::xor::is_zero(&list));
    }

    #[test]
    fn random_columns(buffers in vec(vec(any::<u8>(), 0..600), 1..20), more in 0usize..100) {
        let len = buffers.iter().map(Vec::len).max().unwrap() + more;
        let mut found = before(len);
        xor::parity_zero_extended(&mut found, &slices(&buffers)).unwrap();
        prop_assert_eq!(found, zero_extended(len, &buffers));
    }
}
