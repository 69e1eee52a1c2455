//! The encoder against LLVM, the compiler's own assembler: for the text that we write it must produce our bytes, all
//! of them. That also judges what a decoder cannot: which of several right encodings is chosen.
//!
//! Every pair of registers, address parts, displacements, writemasks and immediates is drawn. The compiler is `RUSTC`
//! or `rustc`; without one these tests fail.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))] // reads x86-64 ELF objects of the host

mod common;

use common::Cover;
use common::assemble::{Listing, with_rustc};
use common::mutate::{byte_mutants, choice_mutants, leak};
use lanesmith_codegen::asm::table::{self, ROWS, Row};

#[test]
fn llvm_writes_our_bytes() {
    let listings: Vec<_> = ROWS.iter().map(|row| Listing::literal(row, Cover::Pairs).unwrap()).collect();
    let assembled = with_rustc(&listings);
    let failures: Vec<_> = listings.iter().zip(&assembled).filter_map(|(l, bytes)| l.same_bytes(bytes).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let count: usize = listings.iter().map(|l| l.count).sum();
    println!("{count} instructions of {} rows compared", ROWS.len());
}

/// Every column that becomes bits, and every column that makes a choice among encodings, matters to the oracle.
#[test]
fn llvm_rejects_every_mutant() {
    // `vpandn` has the shape of `vpxor`, but its sources must not be swapped.
    let vpandn: &'static Row = leak(Row { mnemonic: "vpandn", opcode: 0xDF, commutative: false, ..table::VPXOR });
    let swapped = leak(Row { commutative: true, ..*vpandn });

    let rows: Vec<&'static Row> = ROWS.iter().copied().chain([vpandn]).collect();
    let mut choices: Vec<_> = ROWS.iter().flat_map(|row| choice_mutants(row)).map(|m| (m.column, m.row)).collect();
    choices.push(("commutative".into(), swapped));
    let every_row = rows.iter().copied().chain(choices.iter().map(|(_, row)| *row));
    let listings: Vec<_> = every_row.map(|row| Listing::literal(row, Cover::Levels).unwrap()).collect();
    let assembled = with_rustc(&listings);

    let (mut rejected, mut accepted) = (0, Vec::new());
    let mut judge = |row: &Row, column: &str, verdict: Result<(), String>| match verdict {
        Ok(()) => accepted.push(format!("{} {:?}: {column}", row.mnemonic, row.encoding)),
        Err(_) => rejected += 1,
    };
    for (row, (listing, bytes)) in rows.iter().zip(listings.iter().zip(&assembled)) {
        assert_eq!(listing.same_bytes(bytes), Ok(()));
        for mutant in byte_mutants(row) {
            // A mutant that refuses an instruction of the row is as wrong as one with other bytes.
            let listing = Listing::new(row, mutant.row, Cover::Levels).map_err(|e| e.to_string());
            judge(row, &mutant.column, listing.and_then(|l| l.same_bytes(bytes)));
        }
    }
    for ((column, row), (listing, bytes)) in choices.iter().zip(listings.iter().zip(&assembled).skip(rows.len())) {
        judge(row, column, listing.same_bytes(bytes));
    }
    println!("{rejected} mutants rejected, {} of them choices", choices.len());
    assert!(accepted.is_empty(), "{} mutants accepted:\n{}", accepted.len(), accepted.join("\n"));
}
