//! EVEX: four bytes. Register fields are inverted; R′, V′ and (for a register in rm) X give the fifth bits.

use alloc::vec::Vec;

use super::modrm::{extensions, number};
use crate::asm::table::Field;
use crate::asm::{Inst, Operand};

pub(super) fn prefix(inst: &Inst, out: &mut Vec<u8>) {
    let row = inst.row();
    let e = extensions(inst);
    let reg_high = number(inst.operand(Field::Reg)) >> 4 & 1;
    let index = match inst.operand(Field::Rm) {
        Some(Operand::Mem(_)) | None => e.index,
        register => number(register) >> 4 & 1,
    };
    let vvvv = number(inst.operand(Field::Vvvv));
    let (mask, zeroing) = inst.masking().map_or((0, 0), |m| (m.mask.number(), u8::from(m.zeroing)));
    // 62:  R̅ X̅ B̅ R̅′ 0 m m m   W v̅v̅v̅v̅ 1 p p   z L′L b V̅′ a a a
    out.extend([
        0x62,
        (e.reg ^ 1) << 7 | (index ^ 1) << 6 | (e.base ^ 1) << 5 | (reg_high ^ 1) << 4 | row.map as u8,
        u8::from(row.w) << 7 | (!vvvv & 0xF) << 3 | 1 << 2 | row.prefix as u8,
        zeroing << 7 | (inst.width() as u8) << 5 | (vvvv >> 4 & 1 ^ 1) << 3 | mask,
    ]);
}
