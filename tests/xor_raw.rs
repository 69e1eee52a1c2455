//! The raw entry: a destination that is one of the sources, overlaps that are refused, offsets, broken promises.
#![cfg(feature = "jit")]

mod common;

use common::{Block, assert_same, before, expected, plain, slices, sources, spec, tiers_here};
use lanesmith::codegen::spec::{Destination, LengthClass, Strategy, XorOptions};
use lanesmith::codegen::target::Tier;
use lanesmith::xor::{Error, Operand, XorKernel};

const WRITING: [Destination; 2] = [Destination::Overwrite, Destination::Accumulate];

/// Plans with one program and with several, over the whole length and in blocks.
fn plans(destination: Destination) -> [XorOptions; 4] {
    let single = XorOptions { destination, ..XorOptions::default() };
    let grouped = XorOptions { strategy: Strategy::Grouped(4), ..single };
    let pairs = XorOptions { strategy: Strategy::Grouped(2), ..single };
    [single, grouped, pairs, XorOptions { length: LengthClass::Long, ..single }]
}

/// Pointers to buffers that a kernel may read, and write where the destination is one of them.
fn pointers(buffers: &mut [Vec<u8>]) -> Vec<*mut u8> {
    buffers.iter_mut().map(|b| b.as_mut_ptr()).collect()
}

fn constant(pointers: &[*mut u8]) -> Vec<*const u8> {
    pointers.iter().map(|p| p.cast_const()).collect()
}

#[test]
fn the_destination_may_equal_one_source() {
    for tier in tiers_here() {
        for destination in WRITING {
            for options in plans(destination) {
                for n in [1, 2, 3, 5, 9, 13, 14, 24, 31] {
                    let kernel = XorKernel::compile_for(&spec(n, options), tier).unwrap();
                    for alias in [0, n / 2, n - 1] {
                        for len in [0, 1, 63, 64, 200, 513, 1000, 4096, 9000] {
                            equal_to(&kernel, alias, len);
                        }
                    }
                }
            }
        }
    }
}

fn equal_to(kernel: &XorKernel, alias: usize, len: usize) {
    let (n, destination) = (kernel.spec().sources(), kernel.spec().options().destination);
    let original = sources(n, len);
    let want = expected(destination, &original[alias], &slices(&original));
    let mut buffers = original.clone();
    let all = pointers(&mut buffers);
    // SAFETY: each pointer is to `len` bytes of its own vector, which nothing else accesses; the destination is one of
    // them exactly.
    let done = unsafe { kernel.run_raw(all[alias], &constant(&all), 0, len) };
    let what = || format!("{} on {}, {len} bytes, dest = source {alias}", kernel.spec(), kernel.tier());
    done.unwrap_or_else(|e| panic!("{}: {e}", what()));
    assert_same(&buffers[alias], &want, what);
    for (k, (found, kept)) in buffers.iter().zip(&original).enumerate().filter(|(k, _)| *k != alias) {
        assert_same(found, kept, || format!("{}: source {k}", what()));
    }
}

#[test]
fn other_overlaps_are_refused_and_nothing_is_written() {
    const LEN: usize = 300;
    for tier in tiers_here() {
        for destination in WRITING {
            for options in plans(destination) {
                for n in [1, 2, 9, 14] {
                    let kernel = XorKernel::compile_for(&spec(n, options), tier).unwrap();
                    let mut shared = common::source(1, 3 * LEN);
                    let kept = shared.clone();
                    let other = common::source(2, LEN);
                    let middle = shared.as_mut_ptr().wrapping_add(LEN);
                    for culprit in [0, n - 1] {
                        for distance in [-299, -64, -1, 1, 64, 299isize] {
                            let mut list = vec![other.as_ptr(); n];
                            list[culprit] = middle.wrapping_offset(distance).cast_const();
                            // SAFETY: every buffer is LEN bytes within `shared` or `other`; the overlap is refused.
                            let done = unsafe { kernel.run_raw(middle, &list, 0, LEN) };
                            assert_eq!(done, Err(Error::Overlap { operand: Operand::Source(culprit) }), "{distance}");
                        }
                        for distance in [-300, 300isize] {
                            let mut list = vec![other.as_ptr(); n];
                            list[culprit] = middle.wrapping_offset(distance).cast_const();
                            // SAFETY: as above, and the buffers only touch. The destination is put back below.
                            assert!(unsafe { kernel.run_raw(middle, &list, 0, LEN) }.is_ok(), "{distance}");
                            shared[LEN..2 * LEN].copy_from_slice(&kept[LEN..2 * LEN]);
                        }
                    }
                    assert_same(&shared, &kept, || format!("{} on {tier}", kernel.spec()));
                }
            }
        }
    }
}

#[test]
fn the_destination_may_not_equal_two_sources() {
    let tier = tiers_here()[0];
    let mut buffer = vec![1; 64];
    let kept = buffer.clone();
    let other = [2; 64];
    for options in plans(Destination::Overwrite) {
        let kernel = XorKernel::compile_for(&spec(5, options), tier).unwrap();
        let dest = buffer.as_mut_ptr();
        let list = [other.as_ptr(), dest, other.as_ptr(), dest, other.as_ptr()];
        // SAFETY: every buffer has 64 bytes; the second alias is refused before anything is written.
        let done = unsafe { kernel.run_raw(dest, &list, 0, 64) };
        assert_eq!(done, Err(Error::Overlap { operand: Operand::Source(3) }));
    }
    assert_eq!(buffer, kept);
    let text = Error::Overlap { operand: Operand::Source(3) }.to_string();
    assert_eq!(
        text,
        "dest overlaps source 3 partly, or a second time: it may be disjoint from it or equal one source exactly"
    );
}

/// Bytes before the offset and behind the end keep their value.
#[test]
fn an_offset_moves_every_buffer() {
    const ROOM: usize = 6000;
    for tier in tiers_here() {
        for destination in WRITING {
            for options in plans(destination) {
                for n in [1, 4, 13, 14, 24] {
                    let kernel = XorKernel::compile_for(&spec(n, options), tier).unwrap();
                    for (offset, len) in [(0, 10), (1, 0), (1, 600), (64, 64), (777, 1), (100, 5000)] {
                        let mut buffers = sources(n, ROOM);
                        let list = constant(&pointers(&mut buffers));
                        let mut dest = before(ROOM);
                        // SAFETY: `offset + len` is less than ROOM, the size of each buffer.
                        unsafe { kernel.run_raw(dest.as_mut_ptr(), &list, offset, len) }.unwrap();
                        let mut want = before(ROOM);
                        let part = offset..offset + len;
                        let parts: Vec<&[u8]> = buffers.iter().map(|b| &b[part.clone()]).collect();
                        let new = expected(destination, &want[part.clone()], &parts);
                        want[part].copy_from_slice(&new);
                        assert_same(&dest, &want, || format!("{} on {tier}, {len} bytes at {offset}", kernel.spec()));
                    }
                }
            }
        }
    }
}

/// The result is a zero test's; other kernels return 0.
#[test]
fn results() {
    for tier in tiers_here() {
        let mut buffers = sources(3, 100);
        let list = constant(&pointers(&mut buffers));
        for options in plans(Destination::Overwrite) {
            let kernel = XorKernel::compile_for(&spec(3, options), tier).unwrap();
            let mut dest = [0; 100];
            // SAFETY: every buffer has 100 bytes.
            assert_eq!(unsafe { kernel.run_raw(dest.as_mut_ptr(), &list, 0, 100) }, Ok(0), "{tier} {}", kernel.spec());
        }
        let test = XorKernel::compile_for(&plain(3, Destination::ZeroTest), tier).unwrap();
        let twice = [list[0], list[0], list[1]];
        let nowhere = std::ptr::null_mut();
        // SAFETY: as above; a zero test ignores the destination.
        assert_ne!(unsafe { test.run_raw(nowhere, &twice, 0, 100) }, Ok(0));
        common::make_zero(&mut buffers);
        let list = constant(&pointers(&mut buffers));
        // SAFETY: as above.
        assert_eq!(unsafe { test.run_raw(nowhere, &list, 0, 100) }, Ok(0));
        // SAFETY: as above, at an offset.
        assert_eq!(unsafe { test.run_raw(nowhere, &list, 33, 67) }, Ok(0));
        buffers[1][32] ^= 1;
        let list = constant(&pointers(&mut buffers));
        // SAFETY: as above, at an offset.
        assert_eq!(unsafe { test.run_raw(nowhere, &list, 33, 67) }, Ok(0));
        // SAFETY: as above, at an offset.
        assert_ne!(unsafe { test.run_raw(nowhere, &list, 32, 68) }, Ok(0));
    }
}

fn aligned_kernel(destination: Destination, tier: Tier) -> XorKernel {
    let options = XorOptions { destination, aligned: 64, multiple_of: 512, ..XorOptions::default() };
    XorKernel::compile_for(&spec(3, options), tier).unwrap()
}

#[test]
fn a_broken_promise_is_refused() {
    let tier = tiers_here()[0];
    let kernel = aligned_kernel(Destination::Overwrite, tier);
    let blocks: Vec<Block> = (0..3).map(|_| Block::new(2048)).collect();
    let mut dest = Block::new(2048);
    let mut run = |dest_at: usize, at: [usize; 3], len: usize| {
        let list: Vec<&[u8]> = blocks.iter().zip(at).map(|(b, at)| b.at(at, len)).collect();
        dest.at_mut(dest_at, len).fill(0xAB);
        let done = kernel.run(dest.at_mut(dest_at, len), &list);
        let untouched = dest.at(dest_at, len).iter().all(|b| *b == 0xAB);
        assert_eq!(untouched, done.is_err() || len == 0, "{done:?}");
        done.map_err(|e| e.to_string())
    };
    assert_eq!(run(0, [64, 128, 192], 1024), Ok(()));
    let message = |text: &str| Err(text.to_owned());
    assert_eq!(run(32, [0, 0, 0], 512), message("dest at offset 0 is not aligned to the promised 64 bytes"));
    assert_eq!(run(0, [0, 0, 1], 512), message("source 2 at offset 0 is not aligned to the promised 64 bytes"));
    assert_eq!(run(0, [0, 63, 1], 512), message("source 1 at offset 0 is not aligned to the promised 64 bytes"));
    assert_eq!(run(0, [0, 0, 0], 0), message("the length 0 is not the promised non-zero multiple of 512"));
    assert_eq!(run(0, [0, 0, 0], 511), message("the length 511 is not the promised non-zero multiple of 512"));
    assert_eq!(run(0, [0, 0, 0], 513), message("the length 513 is not the promised non-zero multiple of 512"));
    let equal = Err("source 1 has 511 bytes, dest has 512".to_owned());
    let short: Vec<&[u8]> = vec![blocks[0].at(0, 512), blocks[1].at(0, 511), blocks[2].at(0, 512)];
    assert_eq!(kernel.run(dest.at_mut(0, 512), &short).map_err(|e| e.to_string()), equal);
}

/// The alignment is promised at the offset, not at the pointer.
#[test]
fn alignment_is_that_of_the_first_byte() {
    let tier = tiers_here()[0];
    let kernel = aligned_kernel(Destination::Accumulate, tier);
    let blocks: Vec<Block> = (0..3).map(|_| Block::new(2048)).collect();
    let mut dest = Block::new(2048);
    let list: Vec<*const u8> = blocks.iter().map(|b| b.at(56, 1024).as_ptr()).collect();
    let to = dest.at_mut(56, 1024).as_mut_ptr();
    // SAFETY: 1,024 bytes from byte 56 of blocks of 2,048.
    assert_eq!(unsafe { kernel.run_raw(to, &list, 8, 512) }.map(drop), Ok(()));
    // SAFETY: as above; the promise is found to be broken.
    let broken = unsafe { kernel.run_raw(to, &list, 9, 512) };
    assert_eq!(broken, Err(Error::Misaligned { operand: Operand::Dest, offset: 9, promised: 64 }));
}

#[test]
fn a_zero_test_names_buffers() {
    let tier = tiers_here()[0];
    let kernel = aligned_kernel(Destination::ZeroTest, tier);
    let blocks: Vec<Block> = (0..3).map(|_| Block::new(2048)).collect();
    let list: Vec<&[u8]> = [0, 8, 0].iter().zip(&blocks).map(|(at, b)| b.at(*at, 512)).collect();
    let found = kernel.check(&list).map_err(|e| e.to_string());
    assert_eq!(found, Err("buffer 1 at offset 0 is not aligned to the promised 64 bytes".to_owned()));
}
