//! What a reviewer reads: what was asked, what it costs, and the instructions by group.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use crate::asm::{Item, Program};
use crate::cost::Cost;
use crate::kernel::Contract;
use crate::text::{self, Syntax};

/// The listing of one program of a plan. `asked` is the spec and target, `code_len` the size of its machine code.
pub fn listing(asked: &str, program: &Program, contract: &Contract, code_len: usize) -> String {
    let mut out = String::new();
    for line in asked.lines() {
        let _ = writeln!(out, "; {line}");
    }
    let _ = writeln!(out, "; program: {}", program.name());
    let _ = writeln!(out, "; features: {}", program.features());
    for span in program.spans() {
        let _ = writeln!(out, "; turn of [{}]: {}", span.region, Cost::of(program, span));
    }
    let pool = program.pool().bytes().len();
    let _ = writeln!(out, "; code: {code_len} bytes, constants: {pool} bytes");
    for line in format!("{contract}").lines() {
        let _ = writeln!(out, "; {line}");
    }
    for (item, text) in text::items(program, Syntax { label_prefix: "L", pool: "pool" }) {
        let _ = match item {
            Item::Note(_) => writeln!(out, "\n  ; {text}"),
            Item::Label(_) => writeln!(out, "{text}"),
            _ => writeln!(out, "  {text}"),
        };
    }
    out
}
