//! Rows with one column changed, to see an oracle turn red.

use lanesmith_codegen::asm::Width;
use lanesmith_codegen::asm::table::{
    Alignment, Class, Encoding, Field, Length, Map, MemBytes, MemRule, Prefix, Role, Row, Slot, Widths,
};
use lanesmith_codegen::encode::encode;
use lanesmith_codegen::target::{Feature, FeatureSet};

use super::{Cover, forms};

/// A copy of a row that differs in one column.
pub(crate) struct Mutant {
    pub(crate) column: String,
    pub(crate) row: &'static Row,
}

/// A row as long-lived as those of the table.
pub(crate) fn leak(row: Row) -> &'static Row {
    Box::leak(Box::new(row))
}

/// A copy of a row with some columns changed.
macro_rules! with {
    ($row:expr, $($column:ident: $value:expr),+) => { leak(Row { $($column: $value,)+ ..*$row }) };
}

/// Every mutant of `row` that an oracle which decodes must reject.
///
/// Not here: [`choice_mutants`].
pub(crate) fn mutants(row: &'static Row) -> Vec<Mutant> {
    let mut all = byte_mutants(row);
    all.extend(describing_columns(row));
    all.extend(slots(row));
    all
}

/// Every mutant of a column that becomes bits, where it changes the bytes.
pub(crate) fn byte_mutants(row: &'static Row) -> Vec<Mutant> {
    let mut all = encoding_columns(row);
    all.retain(|m| changes_bytes(row, m.row));
    all
}

fn encoding_columns(row: &'static Row) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut push = |column: String, row| all.push(Mutant { column, row });
    for encoding in [Encoding::Legacy, Encoding::Vex, Encoding::Evex] {
        push(format!("encoding {encoding:?}"), with!(row, encoding: encoding));
    }
    for prefix in [Prefix::None, Prefix::P66, Prefix::F3, Prefix::F2] {
        push(format!("prefix {prefix:?}"), with!(row, prefix: prefix));
    }
    for map in [Map::M0F, Map::M0F38, Map::M0F3A] {
        push(format!("map {map:?}"), with!(row, map: map));
    }
    push(format!("w {}", !row.w), with!(row, w: !row.w));
    for opcode in 0..=0xFF {
        push(format!("opcode {opcode:02x}"), with!(row, opcode: opcode));
    }
    for extension in [None].into_iter().chain((0..8).map(Some)) {
        push(format!("extension {extension:?}"), with!(row, extension: extension));
    }
    for length in [Length::Vector, Length::L0, Length::L1] {
        push(format!("length {length:?}"), with!(row, length: length));
    }
    all
}

/// Mutants of the columns that say what the instruction is.
fn describing_columns(row: &'static Row) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut push = |column: String, row| all.push(Mutant { column, row });
    for mnemonic in ["nop", "vaddps", "movaps"] {
        push(format!("mnemonic {mnemonic}"), with!(row, mnemonic: mnemonic));
    }
    let sized = row.encoding != Encoding::Legacy && row.length == Length::Vector;
    if sized || row.slots.iter().any(|s| s.class == Class::Vector) {
        for widths in [Widths::XY, Widths::XYZ].into_iter().filter(|w| *w != row.widths && row.widths != Widths::XYZ) {
            push(format!("widths {widths:?}"), with!(row, widths: widths));
        }
    }
    if row.memory != MemRule::RegisterOnly && row.slots.iter().any(|s| s.field == Field::Rm) {
        let others = [MemBytes::Vector, MemBytes::Half, MemBytes::Fixed(2), MemBytes::Fixed(4), MemBytes::Fixed(8)];
        let same = |m: &MemBytes| widths(row).all(|w| m.of(w) == row.mem_bytes.of(w));
        for mem_bytes in others.into_iter().filter(|m| !same(m)) {
            push(format!("mem_bytes {mem_bytes:?}"), with!(row, mem_bytes: mem_bytes));
        }
        let alignment = if row.alignment == Alignment::Any { Alignment::Vector } else { Alignment::Any };
        push(format!("alignment {alignment:?}"), with!(row, alignment: alignment));
        if row.element != 0 {
            push("element".into(), with!(row, element: if row.element == 8 { 1 } else { 8 }));
        }
    }
    push("masked or not".into(), with!(row, element: if row.element == 0 { 8 } else { 0 }));
    push("zeroing".into(), with!(row, zeroing: !row.zeroing));
    if row.encoding == Encoding::Evex {
        push("scalar".into(), with!(row, scalar: !row.scalar));
    }
    for feature in row.features.iter() {
        let less = row.features.minus(FeatureSet::of(&[feature]));
        push(format!("without {}", feature.name()), with!(row, features: less));
    }
    push("with gfni".into(), with!(row, features: row.features.with(Feature::Gfni)));
    all
}

fn widths(row: &Row) -> impl Iterator<Item = Width> {
    Width::ALL.into_iter().filter(|w| row.widths.contains(*w))
}

/// The width of the register that a slot of vectors takes.
fn vector(class: Class, width: Width) -> Option<Width> {
    match class {
        Class::Vector => Some(width),
        Class::Half => Some(width.half()),
        Class::Xmm => Some(Width::W128),
        Class::Gpr32 | Class::Gpr64 | Class::Mask | Class::Imm8 => None,
    }
}

/// Mutants of the operands.
fn slots(row: &'static Row) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut push = |column: String, slots: Vec<Slot>| {
        all.push(Mutant { column, row: with!(row, slots: Box::leak(slots.into_boxed_slice())) });
    };
    for (i, slot) in row.slots.iter().enumerate() {
        let mut replace = |slot: Slot| {
            let mut slots = row.slots.to_vec();
            slots[i] = slot;
            push(format!("slot {i} {slot:?}"), slots);
        };
        let roles = [Role::Read, Role::Write, Role::ReadWrite].into_iter().filter(|r| *r != slot.role);
        roles.for_each(|role| replace(Slot { role, ..*slot }));
        let classes = [Class::Vector, Class::Half, Class::Xmm, Class::Gpr32, Class::Gpr64, Class::Mask, Class::Imm8];
        for class in classes.into_iter().filter(|c| *c != slot.class) {
            let same = widths(row).all(|w| vector(class, w).is_some() && vector(class, w) == vector(slot.class, w));
            let never_register = slot.field == Field::Rm && row.memory == MemRule::MemoryOnly;
            if !never_register && !same {
                replace(Slot { class, ..*slot });
            }
        }
    }
    for i in 1..row.slots.len() {
        let mut slots = row.slots.to_vec();
        (slots[i - 1].field, slots[i].field) = (slots[i].field, slots[i - 1].field);
        push(format!("fields of slots {} and {i} exchanged", i - 1), slots);
    }
    all
}

/// Mutants whose bytes do what they should, but are not the ones that an assembler chooses.
pub(crate) fn choice_mutants(row: &'static Row) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut push = |column: &str, row| all.push(Mutant { column: column.into(), row });
    if row.encoding == Encoding::Vex && row.commutative {
        push("commutative", with!(row, commutative: false));
    }
    if row.vex_form.is_some() {
        push("vex_form", with!(row, vex_form: None));
    }
    // Register moves have a load and a store opcode. EVEX and legacy prefer the load's, VEX the one that needs two
    // bytes of prefix. Non-temporal stores have no register form.
    let vector_move = row.mnemonic.contains("movdq");
    let stores = row.slots.first().is_some_and(|s| s.field == Field::Rm);
    if row.memory == MemRule::MemoryOnly && vector_move && (stores || row.encoding == Encoding::Vex) {
        push("memory", with!(row, memory: MemRule::Either));
    }
    // For 8 bytes of memory there is a shorter instruction than the move that also takes registers.
    if row.memory == MemRule::RegisterOnly && row.slots.iter().any(|s| s.class == Class::Xmm) && row.w {
        push("memory", with!(row, memory: MemRule::Either));
    }
    all
}

/// Whether some instruction that both rows admit has other bytes in the mutant.
fn changes_bytes(row: &'static Row, mutant: &'static Row) -> bool {
    forms(mutant).iter().any(|form| {
        form.requests(Cover::Levels).any(|request| {
            let bytes = |row| {
                let mut bytes = Vec::new();
                request.build(row).ok().map(|inst| (encode(&inst, &mut bytes), bytes))
            };
            bytes(row).is_some_and(|b| bytes(mutant) != Some(b))
        })
    })
}
