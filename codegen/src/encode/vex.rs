//! VEX: two bytes where nothing but R, vvvv, L and pp is needed, otherwise three. Register fields are inverted.

use alloc::vec::Vec;

use super::modrm::{extensions, number};
use crate::asm::table::{Field, Length};
use crate::asm::{Inst, Width};

pub(super) fn prefix(inst: &Inst, out: &mut Vec<u8>) {
    let row = inst.row();
    let e = extensions(inst);
    let vvvv = !number(inst.operand(Field::Vvvv)) & 0xF;
    let l = match row.length {
        Length::Vector => u8::from(inst.width() == Width::W256),
        Length::L0 => 0,
        Length::L1 => 1,
    };
    let last = vvvv << 3 | l << 2 | row.prefix as u8;
    if row.two_byte_vex() && e.index == 0 && e.base == 0 {
        // C5:  R̅ v̅v̅v̅v̅ L p p
        out.extend([0xC5, (e.reg ^ 1) << 7 | last]);
    } else {
        // C4:  R̅ X̅ B̅ m m m m m   W v̅v̅v̅v̅ L p p
        let first = (e.reg ^ 1) << 7 | (e.index ^ 1) << 6 | (e.base ^ 1) << 5 | row.map as u8;
        out.extend([0xC4, first, u8::from(row.w) << 7 | last]);
    }
}
