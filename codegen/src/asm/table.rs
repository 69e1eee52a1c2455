//! The instruction table: one row per encoding, whose columns are those of the vendors' manuals.
//!
//! A new instruction is one row of [`rows`](self::ROWS). Every special limit is a column; the encoder, the text and the
//! checks match on columns, never on a mnemonic or opcode. Source: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 2.

mod rows;

use super::reg::Width;
use crate::target::{Feature, FeatureSet};
pub use rows::*;

/// The prefix scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Mandatory prefix, REX, opcode map escape.
    Legacy,
    /// Two- or three-byte VEX.
    Vex,
    /// Four-byte EVEX.
    Evex,
}

/// The mandatory prefix; its number is the `pp` field of VEX and EVEX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Prefix {
    None,
    P66,
    F3,
    F2,
}

/// The opcode map; its number is the `mmm` field of VEX and EVEX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Map {
    M0F = 1,
    M0F38 = 2,
    M0F3A = 3,
}

/// The vector length field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The instruction's width.
    Vector,
    /// Zero, whatever the operands are.
    L0,
    /// One, whatever the operands are.
    L1,
}

/// Where an operand is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// ModRM.reg.
    Reg,
    /// VEX.vvvv / EVEX.vvvv.
    Vvvv,
    /// ModRM.rm: a register or memory.
    Rm,
    /// A trailing byte.
    Imm,
}

/// What kind of register a slot takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A vector register of the instruction's width.
    Vector,
    /// A vector register of half the instruction's width (xmm at the least), or half the bytes of memory.
    Half,
    /// An xmm register whatever the width.
    Xmm,
    /// A 32-bit general-purpose register, or 4 bytes of memory.
    Gpr32,
    /// A 64-bit general-purpose register, or 8 bytes of memory.
    Gpr64,
    /// An opmask register.
    Mask,
    /// An 8-bit immediate.
    Imm8,
}

/// What becomes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Role {
    Read,
    Write,
    ReadWrite,
}

/// One operand position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Where it is encoded.
    pub field: Field,
    /// What it takes.
    pub class: Class,
    /// What becomes of it.
    pub role: Role,
}

/// Whether the ModRM.rm operand may be a register, memory, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MemRule {
    Either,
    MemoryOnly,
    RegisterOnly,
}

/// How many bytes the memory operand has; for EVEX this also scales the 8-bit displacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemBytes {
    /// The vector width.
    Vector,
    /// Half the vector width.
    Half,
    /// This many.
    Fixed(u8),
}

impl MemBytes {
    /// The bytes for an instruction of `width`.
    pub const fn of(self, width: Width) -> u32 {
        match self {
            MemBytes::Vector => width.bytes(),
            MemBytes::Half => width.bytes() / 2,
            MemBytes::Fixed(n) => n as u32,
        }
    }
}

/// The alignment that a memory operand must have, or the instruction faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Alignment {
    Any,
    Vector,
}

/// The vector widths that a row exists in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths(u8);

impl Widths {
    /// xmm only.
    pub const X: Widths = Widths(1);
    /// xmm and ymm.
    pub const XY: Widths = Widths(3);
    /// xmm, ymm and zmm.
    pub const XYZ: Widths = Widths(7);

    /// Whether the row has a form of `width`.
    pub const fn contains(self, width: Width) -> bool {
        self.0 >> width as u8 & 1 != 0
    }
}

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The mnemonic of Intel syntax.
    pub mnemonic: &'static str,
    /// The prefix scheme.
    pub encoding: Encoding,
    /// The mandatory prefix.
    pub prefix: Prefix,
    /// The opcode map.
    pub map: Map,
    /// REX.W, VEX.W or EVEX.W.
    pub w: bool,
    /// The opcode byte.
    pub opcode: u8,
    /// What ModRM.reg holds where it is part of the opcode: the manual's `/digit`.
    pub extension: Option<u8>,
    /// The operands.
    pub slots: &'static [Slot],
    /// The vector length field.
    pub length: Length,
    /// The widths it exists in.
    pub widths: Widths,
    /// Register, memory or both.
    pub memory: MemRule,
    /// Size of the memory operand.
    pub mem_bytes: MemBytes,
    /// Alignment of the memory operand.
    pub alignment: Alignment,
    /// Bytes of the destination that one bit of a writemask governs; 0 where the row cannot be masked.
    pub element: u8,
    /// Whether the writemask may zero.
    pub zeroing: bool,
    /// Whether the two sources may be swapped.
    pub commutative: bool,
    /// Whether the instruction has no vector length (it then does not need AVX512VL at 128 bits).
    pub scalar: bool,
    /// For EVEX, the VEX row of the same mnemonic if there is one: assemblers take it where the operands allow.
    pub vex_form: Option<&'static Row>,
    /// What a CPU must have (AVX512VL below 512 bits is added by the instruction).
    pub features: FeatureSet,
}

impl Row {
    const fn new(mnemonic: &'static str, encoding: Encoding, prefix: Prefix, map: Map, opcode: u8) -> Row {
        let (widths, feature, alignment) = match encoding {
            Encoding::Legacy => (Widths::X, Feature::Sse2, Alignment::Vector),
            Encoding::Vex => (Widths::XY, Feature::Avx, Alignment::Any),
            Encoding::Evex => (Widths::XYZ, Feature::Avx512F, Alignment::Any),
        };
        Row {
            mnemonic,
            encoding,
            prefix,
            map,
            w: false,
            opcode,
            extension: None,
            slots: &[],
            length: Length::Vector,
            widths,
            memory: MemRule::Either,
            mem_bytes: MemBytes::Vector,
            alignment,
            element: 0,
            zeroing: false,
            commutative: false,
            scalar: false,
            vex_form: None,
            features: FeatureSet::of(&[feature]),
        }
    }

    const fn sse(mnemonic: &'static str, prefix: Prefix, opcode: u8, slots: &'static [Slot]) -> Row {
        Row { slots, ..Row::new(mnemonic, Encoding::Legacy, prefix, Map::M0F, opcode) }
    }

    const fn vex(mnemonic: &'static str, prefix: Prefix, map: Map, opcode: u8, slots: &'static [Slot]) -> Row {
        Row { slots, ..Row::new(mnemonic, Encoding::Vex, prefix, map, opcode) }
    }

    const fn evex(mnemonic: &'static str, prefix: Prefix, map: Map, opcode: u8, slots: &'static [Slot]) -> Row {
        Row { slots, ..Row::new(mnemonic, Encoding::Evex, prefix, map, opcode) }
    }

    /// A legacy row that came with SSSE3.
    const fn ssse3(mnemonic: &'static str, opcode: u8, slots: &'static [Slot]) -> Row {
        let row = Row::sse(mnemonic, Prefix::P66, opcode, slots);
        Row { map: Map::M0F38, features: FeatureSet::of(&[Feature::Ssse3]), ..row }
    }

    const fn w1(self) -> Row {
        Row { w: true, ..self }
    }
    const fn memory_only(self) -> Row {
        Row { memory: MemRule::MemoryOnly, ..self }
    }
    const fn register_only(self) -> Row {
        Row { memory: MemRule::RegisterOnly, ..self }
    }
    const fn any_alignment(self) -> Row {
        Row { alignment: Alignment::Any, ..self }
    }
    const fn vector_alignment(self) -> Row {
        Row { alignment: Alignment::Vector, ..self }
    }
    const fn commutative(self) -> Row {
        Row { commutative: true, ..self }
    }
    const fn extension(self, digit: u8) -> Row {
        Row { extension: Some(digit), ..self }
    }
    const fn half(self) -> Row {
        Row { mem_bytes: MemBytes::Half, ..self }
    }
    const fn element(self, bytes: u8) -> Row {
        Row { element: bytes, ..self }
    }
    const fn zeroing(self) -> Row {
        Row { zeroing: true, ..self }
    }
    const fn vex_form(self, row: &'static Row) -> Row {
        Row { vex_form: Some(row), ..self }
    }
    const fn needs(self, feature: Feature) -> Row {
        Row { features: self.features.with(feature), ..self }
    }
    /// One element of `bytes` in the low end of an xmm register.
    const fn scalar(self, bytes: u8) -> Row {
        Row { widths: Widths::X, mem_bytes: MemBytes::Fixed(bytes), alignment: Alignment::Any, scalar: true, ..self }
    }
    const fn length(self, length: Length) -> Row {
        Row { length, widths: Widths::X, scalar: true, ..self }
    }

    /// Whether the row's fixed fields allow the two-byte VEX prefix.
    pub const fn two_byte_vex(&self) -> bool {
        matches!(self.map, Map::M0F) && !self.w
    }
}

const fn slot(field: Field, class: Class, role: Role) -> Slot {
    Slot { field, class, role }
}
