//! Machine code of vector instructions: a table row and its operands to bytes.
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 (prefixes, ModRM, SIB,
//! VEX, EVEX and the compressed displacement).

mod evex;
mod legacy;
mod modrm;
mod vex;

use alloc::vec::Vec;

use crate::asm::table::{Encoding, Field};
use crate::asm::{Inst, Operand};

/// A RIP-relative operand whose displacement is not yet known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolFixup {
    /// Where the 32-bit displacement is, counted from the instruction's first byte.
    pub field_at: usize,
    /// Bytes between the end of the displacement and the end of the instruction: an immediate.
    pub trailing: usize,
    /// The offset in the constant pool that it must reach.
    pub offset: u32,
}

/// Appends the bytes of `inst` to `out`.
pub fn encode(inst: &Inst, out: &mut Vec<u8>) -> Option<PoolFixup> {
    let start = out.len();
    let displacement_scale = match inst.row().encoding {
        Encoding::Legacy => {
            legacy::prefix(inst, out);
            1
        }
        Encoding::Vex => {
            vex::prefix(inst, out);
            1
        }
        Encoding::Evex => {
            evex::prefix(inst, out);
            modrm::memory_bytes(inst)
        }
    };
    out.push(inst.row().opcode);
    if inst.row().slots.is_empty() {
        return None;
    }
    let field = modrm::modrm(inst, displacement_scale, out);
    let immediate = match inst.operand(Field::Imm) {
        Some(Operand::Imm(n)) => {
            out.push(n);
            1
        }
        _ => 0,
    };
    field.map(|(at, offset)| PoolFixup { field_at: at - start, trailing: immediate, offset })
}
