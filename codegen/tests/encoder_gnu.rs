//! Our text through GNU as: a second assembler that must understand it, for whoever builds an emitted `.s` file.
//!
//! Where GNU as chooses other bytes than ours, the decoded instructions must be equal. Skipped where there is no `as`.
//! `LANESMITH_EXHAUSTIVE=1` draws every pair of levels instead of every level.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))] // elsewhere `as` is for another machine or not GNU's

mod common;

use std::process::Command;

use common::Cover;
use common::assemble::{Listing, with_gnu};
use lanesmith_codegen::asm::table::ROWS;

#[test]
fn gnu_as_reads_our_text() {
    let version = Command::new("as").arg("--version").output();
    if !version.is_ok_and(|v| String::from_utf8_lossy(&v.stdout).contains("GNU assembler")) {
        println!("skipped: no GNU as on PATH");
        return;
    }
    let cover = Cover::from_environment(Cover::Levels, Cover::Pairs);
    let listings: Vec<_> = ROWS.iter().map(|row| Listing::new(row, row, cover).unwrap()).collect();
    let assembled = with_gnu(&listings);
    let (mut other_bytes, mut failures) = (0, Vec::new());
    for (listing, bytes) in listings.iter().zip(&assembled) {
        match listing.same_instructions(bytes) {
            Ok(count) => other_bytes += count,
            Err(e) => failures.push(e),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let count: usize = listings.iter().map(|l| l.count).sum();
    println!("{count} instructions of {} rows compared, {other_bytes} with other bytes", ROWS.len());
}
