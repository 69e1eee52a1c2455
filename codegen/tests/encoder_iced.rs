//! The encoder against iced-x86: what we encode, an independent decoder must read as what was asked, and its own
//! encoder must write with the same bytes.
//!
//! The default run draws every pair of registers, address parts, displacements, writemasks and immediates. With
//! `LANESMITH_EXHAUSTIVE=1` it draws the full product of registers, base, index, scale and displacement for every
//! row and width (minutes).

mod common;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use common::decode::Oracle;
use common::mutate::mutants;
use common::{Cover, forms};
use lanesmith_codegen::asm::table::ROWS;

#[test]
fn decoder_agrees() {
    // First the columns that describe a row as a whole.
    let mut oracle = Oracle::new();
    let failures: Vec<String> = ROWS.iter().filter_map(|row| oracle.row(row, Cover::Levels).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));

    let cover = Cover::from_environment(Cover::Pairs, Cover::Product);
    let forms: Vec<_> = ROWS.iter().flat_map(|row| forms(row)).collect();
    let (next, total) = (AtomicUsize::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        let work = || {
            let mut oracle = Oracle::new();
            while let Some(form) = forms.get(next.fetch_add(1, Ordering::Relaxed)) {
                match oracle.form(form, cover) {
                    Ok((_, count)) => total.fetch_add(count, Ordering::Relaxed),
                    Err(e) => panic!("{}: {e}", form.row.mnemonic),
                };
            }
        };
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    println!("{cover:?}: {} instructions of {} rows compared", total.into_inner(), ROWS.len());
}

/// Every column of every row matters to the oracle.
#[test]
fn decoder_rejects_every_mutant() {
    let mut oracle = Oracle::new();
    let (mut rejected, mut accepted) = (0, Vec::new());
    for row in ROWS {
        for mutant in mutants(row) {
            match oracle.row(mutant.row, Cover::Levels) {
                Ok(_) => accepted.push(format!("{} {:?}: {}", row.mnemonic, row.encoding, mutant.column)),
                Err(_) => rejected += 1,
            }
        }
    }
    println!("{rejected} mutants rejected");
    assert!(accepted.is_empty(), "{} mutants accepted:\n{}", accepted.len(), accepted.join("\n"));
}
