//! Intel syntax, as GNU as and LLVM accept it after `.intel_syntax noprefix`.

use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write};

use crate::asm::table::Class;
use crate::asm::{Gpr, Inst, Item, Label, Mem, Operand, Program, Scalar};

/// How names appear in text.
#[derive(Clone, Copy, Debug)]
pub struct Syntax<'a> {
    /// What stands before a label's number; with an empty prefix labels are numeric (`2:`, `2b`, `2f`), without
    /// the digits `0` and `1`, which could read as binary.
    pub label_prefix: &'a str,
    /// The symbol of the constant pool.
    pub pool: &'a str,
}

impl Syntax<'_> {
    fn define(&self, label: Label) -> String {
        match self.label_prefix {
            "" => numeric(label.number()),
            prefix => format!("{prefix}{}", label.number()),
        }
    }

    /// A reference from before (`ahead`) or after the label.
    fn refer(&self, label: Label, ahead: bool) -> String {
        let direction = match (self.label_prefix, ahead) {
            ("", true) => "f",
            ("", false) => "b",
            _ => "",
        };
        format!("{}{direction}", self.define(label))
    }
}

/// The name of numeric label `number`: its octal digits, each two higher. A name of the digits 0 and 1 alone, such as 10,
/// could read as a binary number with the `b` of a reference behind it, and Rust 1.88 refuses it.
fn numeric(number: u32) -> String {
    format!("{number:o}").bytes().map(|digit| char::from(digit + 2)).collect()
}

/// A size keyword.
fn keyword(bytes: u32) -> &'static str {
    match bytes {
        1 => "byte",
        2 => "word",
        4 => "dword",
        8 => "qword",
        16 => "xmmword",
        32 => "ymmword",
        _ => "zmmword",
    }
}

fn address(mem: Mem, syntax: &Syntax<'_>) -> String {
    match mem {
        Mem::Pool { offset: 0 } => format!("[rip + {}]", syntax.pool),
        Mem::Pool { offset } => format!("[rip + {} + {offset}]", syntax.pool),
        Mem::Base { base, index, displacement } => {
            let mut s = format!("[{}", base.name(64));
            if let Some(index) = index {
                let _ = write!(s, " + {}", index.register.name(64));
                if index.shift > 0 {
                    let _ = write!(s, "*{}", 1 << index.shift);
                }
            }
            match displacement {
                0 => {}
                d if d < 0 => drop(write!(s, " - {}", d.unsigned_abs())),
                d => drop(write!(s, " + {d}")),
            }
            s.push(']');
            s
        }
    }
}

fn pointer(bytes: u32, mem: Mem, syntax: &Syntax<'_>) -> String {
    format!("{} ptr {}", keyword(bytes), address(mem, syntax))
}

/// The text of a vector instruction.
pub fn inst(inst: &Inst, syntax: &Syntax<'_>) -> String {
    let row = inst.row();
    let mut s = String::from(row.mnemonic);
    for (i, (operand, slot)) in inst.operands().iter().zip(row.slots).enumerate() {
        s.push_str(if i == 0 { " " } else { ", " });
        let _ = match *operand {
            Operand::Vector(v) => {
                let letter = match slot.class {
                    Class::Xmm => 'x',
                    Class::Half => inst.width().half().letter(),
                    _ => inst.width().letter(),
                };
                write!(s, "{letter}mm{}", v.number())
            }
            Operand::Gpr(r) => write!(s, "{}", r.name(if slot.class == Class::Gpr64 { 64 } else { 32 })),
            Operand::Mask(k) => write!(s, "{k:?}"),
            Operand::Imm(n) => write!(s, "0x{n:02x}"),
            Operand::Mem(mem) => {
                write!(s, "{}", pointer(row.mem_bytes.of(inst.width()), mem, syntax))
            }
        };
        if i == 0
            && let Some(masking) = inst.masking()
        {
            let _ = write!(s, " {{{:?}}}{}", masking.mask, if masking.zeroing { " {z}" } else { "" });
        }
    }
    s
}

/// The text of a scalar instruction; `ahead` says whether a label is still to come.
pub fn scalar(scalar: &Scalar, syntax: &Syntax<'_>, ahead: impl Fn(Label) -> bool) -> String {
    let r = |r: Gpr| r.name(64);
    let r32 = |r: Gpr| r.name(32);
    match *scalar {
        Scalar::Mov(a, b) => format!("mov {}, {}", r(a), r(b)),
        Scalar::MovImm(a, n) => format!("mov {}, {n}", r(a)),
        Scalar::Load(a, m) => format!("mov {}, {}", r(a), pointer(8, m, syntax)),
        Scalar::Add(a, b) => format!("add {}, {}", r(a), r(b)),
        Scalar::AddImm(a, n) => format!("add {}, {n}", r(a)),
        Scalar::Sub(a, b) => format!("sub {}, {}", r(a), r(b)),
        Scalar::Neg(a) => format!("neg {}", r(a)),
        Scalar::AndImm(a, n) => format!("and {}, {n}", r(a)),
        Scalar::XorImm(a, n) => format!("xor {}, {n}", r(a)),
        Scalar::Zero(a) => format!("xor {0}, {0}", r32(a)),
        Scalar::Cmp(a, b) => format!("cmp {}, {}", r(a), r(b)),
        Scalar::CmpImm(a, n) => format!("cmp {}, {n}", r(a)),
        Scalar::Test(a) => format!("test {0}, {0}", r(a)),
        Scalar::Lea(a, m) => format!("lea {}, {}", r(a), address(m, syntax)),
        Scalar::Shlx(bits, a, b, c) => shift("shlx", bits.count(), a, b, c),
        Scalar::Shrx(bits, a, b, c) => shift("shrx", bits.count(), a, b, c),
        Scalar::LoadByte(a, m) => format!("movzx {}, {}", r32(a), pointer(1, m, syntax)),
        Scalar::LoadWord(a, m) => format!("movzx {}, {}", r32(a), pointer(2, m, syntax)),
        Scalar::StoreByte(m, a) => format!("mov {}, {}", pointer(1, m, syntax), a.name(8)),
        Scalar::StoreWord(m, a) => format!("mov {}, {}", pointer(2, m, syntax), a.name(16)),
        Scalar::Set(condition, a) => format!("set{} {}", condition.suffix(), a.name(8)),
        Scalar::Push(a) => format!("push {}", r(a)),
        Scalar::Pop(a) => format!("pop {}", r(a)),
        Scalar::Branch(condition, l) => format!("j{} {}", condition.suffix(), syntax.refer(l, ahead(l))),
        Scalar::Jump(l) => format!("jmp {}", syntax.refer(l, ahead(l))),
        Scalar::Ret => String::from("ret"),
        Scalar::Endbr64 => String::from("endbr64"),
        Scalar::Sfence => String::from("sfence"),
    }
}

fn shift(mnemonic: &str, bits: u32, a: Gpr, b: Gpr, c: Gpr) -> String {
    format!("{mnemonic} {}, {}, {}", a.name(bits), b.name(bits), c.name(bits))
}

/// Each item of `program` with its text; labels end in a colon, notes are given as they are.
pub fn items<'p>(program: &'p Program, syntax: Syntax<'p>) -> impl Iterator<Item = (&'p Item, String)> {
    let items = program.items();
    let defined_at = move |label: Label| items.iter().position(|i| *i == Item::Label(label));
    items.iter().enumerate().map(move |(at, item)| {
        let text = match item {
            Item::Vector(i) => inst(i, &syntax),
            Item::Scalar(s) => scalar(s, &syntax, |label| defined_at(label).is_some_and(|d| d > at)),
            Item::Label(label) => format!("{}:", syntax.define(*label)),
            Item::Note(note) => note.clone(),
        };
        (item, text)
    })
}

/// The body of a `naked_asm!` or `global_asm!` block: one line per item, numeric labels, no comments.
///
/// The text has braces (writemasks); escape them when it is to be a format string, as `asm!` templates are.
pub fn body(program: &Program, pool: &str) -> String {
    let mut out = String::new();
    for (item, text) in items(program, Syntax { label_prefix: "", pool }) {
        if !matches!(item, Item::Note(_)) {
            let _ = writeln!(out, "{text}");
        }
    }
    out
}

/// A whole assembly file for GNU as or LLVM: directives, the function `program.name()`, its constants.
pub fn file(program: &Program) -> String {
    let mut out = String::new();
    write_file(&mut out, program).ok();
    out
}

fn write_file(out: &mut String, program: &Program) -> fmt::Result {
    let name = program.name();
    let pool = format!(".L{name}_pool");
    let prefix = format!(".L{name}_");
    writeln!(out, "    .intel_syntax noprefix\n    .text\n    .globl {name}\n    .type {name}, @function")?;
    writeln!(out, "    .p2align 6\n{name}:")?;
    for (item, text) in items(program, Syntax { label_prefix: &prefix, pool: &pool }) {
        match item {
            Item::Label(_) => writeln!(out, "{text}")?,
            Item::Note(_) => writeln!(out, "    # {text}")?,
            _ => writeln!(out, "    {text}")?,
        }
    }
    writeln!(out, "    .size {name}, .-{name}")?;
    if !program.pool().bytes().is_empty() {
        writeln!(out, "    .section .rodata\n    .p2align 6\n{pool}:")?;
        for row in program.pool().bytes().chunks(16) {
            out.push_str("    .byte ");
            for (i, byte) in row.iter().enumerate() {
                write!(out, "{}{byte}", if i > 0 { "," } else { "" })?;
            }
            out.push('\n');
        }
    }
    writeln!(out, "    .section .note.GNU-stack,\"\",@progbits")
}
