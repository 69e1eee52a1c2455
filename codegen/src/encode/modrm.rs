//! ModRM, SIB and displacement, common to all prefix schemes.

use alloc::vec::Vec;

use crate::asm::table::Field;
use crate::asm::{Inst, Mem, Operand};

/// An operand's register number, 0 where the field has none.
pub(super) fn number(operand: Option<Operand>) -> u8 {
    match operand {
        Some(Operand::Vector(v)) => v.number(),
        Some(Operand::Gpr(r)) => r.number(),
        Some(Operand::Mask(k)) => k.number(),
        Some(Operand::Mem(_) | Operand::Imm(_)) | None => 0,
    }
}

/// The extension bits of the three registers that ModRM and SIB name: (reg, index, rm or base), each 0 or 1.
pub(super) struct Extensions {
    pub(super) reg: u8,
    pub(super) index: u8,
    pub(super) base: u8,
}

pub(super) fn extensions(inst: &Inst) -> Extensions {
    let reg = number(inst.operand(Field::Reg)) >> 3 & 1;
    let (index, base) = match inst.operand(Field::Rm) {
        Some(Operand::Mem(Mem::Base { base, index, .. })) => {
            (index.map_or(0, |i| i.register.number() >> 3), base.number() >> 3)
        }
        Some(Operand::Mem(Mem::Pool { .. })) => (0, 0),
        other => (0, number(other) >> 3 & 1),
    };
    Extensions { reg, index, base }
}

/// The size of the memory operand.
pub(super) fn memory_bytes(inst: &Inst) -> i32 {
    inst.row().mem_bytes.of(inst.width()) as i32
}

/// Appends ModRM and what follows it. An 8-bit displacement counts in units of `scale` bytes. For a pool operand,
/// returns where the displacement is and the pool offset.
pub(super) fn modrm(inst: &Inst, scale: i32, out: &mut Vec<u8>) -> Option<(usize, u32)> {
    let reg = (inst.row().extension.unwrap_or_else(|| number(inst.operand(Field::Reg))) & 7) << 3;
    let (base, index, displacement) = match inst.operand(Field::Rm) {
        Some(Operand::Mem(Mem::Pool { offset })) => {
            out.push(reg | 0b101);
            out.extend([0; 4]);
            return Some((out.len() - 4, offset));
        }
        Some(Operand::Mem(Mem::Base { base, index, displacement })) => (base.number(), index, displacement),
        register => {
            out.push(0b11 << 6 | reg | number(register) & 7);
            return None;
        }
    };
    let compressed = (displacement % scale == 0).then_some(displacement / scale).and_then(|d| i8::try_from(d).ok());
    // Without a displacement, base rbp or r13 means something else.
    let mode = match compressed {
        Some(0) if base & 7 != 5 => 0b00,
        Some(_) => 0b01,
        None => 0b10,
    };
    match index {
        // rsp and r12 as a base are only reached through SIB; index 100 is none.
        None if base & 7 != 4 => out.push(mode << 6 | reg | base & 7),
        _ => {
            let (scale, index) = index.map_or((0, 4), |i| (i.shift, i.register.number() & 7));
            out.push(mode << 6 | reg | 0b100);
            out.push(scale << 6 | index << 3 | base & 7);
        }
    }
    match (mode, compressed) {
        (0b01, Some(d)) => out.push(d as u8),
        (0b10, _) => out.extend(displacement.to_le_bytes()),
        _ => {}
    }
    None
}
