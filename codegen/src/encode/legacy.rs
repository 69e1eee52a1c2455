//! Legacy SSE: mandatory prefix, REX, map escape.

use alloc::vec::Vec;

use super::modrm::extensions;
use crate::asm::Inst;
use crate::asm::table::{Map, Prefix};

pub(super) fn prefix(inst: &Inst, out: &mut Vec<u8>) {
    let row = inst.row();
    match row.prefix {
        Prefix::None => {}
        Prefix::P66 => out.push(0x66),
        Prefix::F3 => out.push(0xF3),
        Prefix::F2 => out.push(0xF2),
    }
    // REX:  0 1 0 0 W R X B
    let e = extensions(inst);
    let rex = u8::from(row.w) << 3 | e.reg << 2 | e.index << 1 | e.base;
    if rex != 0 {
        out.push(0x40 | rex);
    }
    out.push(0x0F);
    match row.map {
        Map::M0F => {}
        Map::M0F38 => out.push(0x38),
        Map::M0F3A => out.push(0x3A),
    }
}
