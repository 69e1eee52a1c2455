//! Every tier's kernels on every machine: the bytes, executed by an interpreter that checks each access.
//!
//! The interpreter faults at an access outside the buffers of the call (each exactly `len` bytes, the destination
//! readable only where the contract says so), at a misaligned aligned-move, at a stack deeper than the contract's, at a
//! callee-saved register that is not restored, and at dirty upper halves on return.
#![cfg(feature = "jit")]

mod common;

use std::thread;

use common::machine::{Case, Interpreted};
use common::{DESTINATIONS, plain, spec};
use lanesmith::codegen::registry::entries;
use lanesmith::codegen::spec::{Destination, LengthClass, Strategy, XorOptions};
use lanesmith::codegen::target::Tier;

/// Source counts on both sides of every change of plan.
const COUNTS: [usize; 11] = [1, 2, 3, 5, 12, 13, 14, 23, 24, 31, 64];

/// Runs `kernel` at each length and placement.
fn sweep(kernel: &Interpreted, lengths: &[usize], offset: u64) -> usize {
    let placements = kernel.placements();
    for &len in lengths {
        for (dest, sources) in &placements {
            kernel.check(&Case { len, offset, dest: *dest, sources: sources.clone(), alias: None });
        }
    }
    lengths.len() * placements.len()
}

fn every_count(tier: Tier) {
    let mut cases = 0;
    for n in COUNTS {
        for destination in DESTINATIONS {
            let kernel = Interpreted::new(&plain(n, destination), tier);
            cases += sweep(&kernel, &kernel.lengths(), 0);
        }
    }
    eprintln!("{tier}: {cases} cases");
}

#[test]
fn every_count_on_sse2() {
    every_count(Tier::Sse2);
}

#[test]
fn every_count_on_avx2() {
    every_count(Tier::Avx2);
}

#[test]
fn every_count_on_avx512_256() {
    every_count(Tier::Avx512Vl256);
}

#[test]
fn every_count_on_avx512() {
    every_count(Tier::Avx512);
}

/// Every length through two turns of the widest loop and every tail.
#[test]
fn every_length() {
    let lengths: Vec<usize> = (0..=600).collect();
    thread::scope(|scope| {
        for tier in Tier::XOR {
            let lengths = &lengths;
            scope.spawn(move || {
                for n in [1, 5, 14] {
                    for destination in DESTINATIONS {
                        sweep(&Interpreted::new(&plain(n, destination), tier), lengths, 0);
                    }
                }
            });
        }
    });
}

/// What snapshots lock is also right, at its promises.
#[test]
fn every_kernel_of_the_registry() {
    for entry in entries().unwrap() {
        let kernel = Interpreted::new(&entry.spec, entry.tier);
        let many = entry.spec.sources() > 64;
        let lengths: Vec<usize> = kernel.lengths().into_iter().step_by(if many { 9 } else { 2 }).collect();
        sweep(&kernel, &lengths, 0);
    }
}

/// The third argument: bytes before the offset are not touched, whatever the placement.
#[test]
fn an_offset_moves_every_buffer() {
    for tier in Tier::XOR {
        for n in [1, 13, 14, 31] {
            for destination in DESTINATIONS {
                let kernel = Interpreted::new(&plain(n, destination), tier);
                for offset in [1, 64, 4095] {
                    sweep(&kernel, &[0, 1, 33, 600, 777], offset);
                }
            }
        }
    }
}

/// The destination may be one of the sources. Of several groups the first takes that source, as the caller of the
/// programs has to see to.
#[test]
fn the_destination_may_equal_a_source() {
    for tier in Tier::XOR {
        for n in [1, 2, 3, 5, 13, 14, 24, 31] {
            for destination in [Destination::Overwrite, Destination::Accumulate] {
                for strategy in [Strategy::Single, Strategy::Grouped(4)] {
                    let options = XorOptions { destination, strategy, ..XorOptions::default() };
                    let kernel = Interpreted::new(&spec(n, options), tier);
                    let groups = kernel.lowered.plan.driver.groups.len();
                    let aliases = if groups == 1 { vec![0, n / 2, n - 1] } else { vec![0] };
                    for alias in aliases.into_iter().map(Some) {
                        for (dest, sources) in kernel.placements() {
                            for len in [0, 1, 65, 513, 1000] {
                                kernel.check(&Case { len, offset: 0, dest, sources: sources.clone(), alias });
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Long kernels finish a block with every group before the next: lengths around one and two blocks.
#[test]
fn grouped_plans_in_blocks() {
    for tier in Tier::XOR {
        for n in [14, 31, 64] {
            for destination in [Destination::Overwrite, Destination::Accumulate] {
                let options = XorOptions { destination, length: LengthClass::Long, ..XorOptions::default() };
                let kernel = Interpreted::new(&spec(n, options), tier);
                assert!(kernel.lowered.plan.driver.groups.len() > 1 && kernel.lowered.plan.driver.block.is_some());
                for (dest, sources) in kernel.placements().into_iter().take(2) {
                    for len in [0, 1, 4095, 4096, 4097, 8191, 8192, 8200] {
                        kernel.check(&Case { len, offset: 0, dest, sources: sources.clone(), alias: None });
                    }
                }
            }
        }
    }
}

/// The largest counts: displacements of the pointer array and the loop over sources.
#[test]
fn large_counts() {
    for tier in Tier::XOR {
        for n in [255, 256, 257, 1023, 1024] {
            for destination in DESTINATIONS {
                let kernel = Interpreted::new(&plain(n, destination), tier);
                let (dest, sources) = kernel.placements().swap_remove(4);
                for len in [0, 1, 100, 513] {
                    kernel.check(&Case { len, offset: 0, dest, sources: sources.clone(), alias: None });
                }
            }
        }
    }
}
