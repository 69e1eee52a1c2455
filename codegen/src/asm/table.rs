//! The instruction table: one row per encoding, whose columns are those of the vendors' manuals.
//!
//! A new instruction is one row here and its entry in [`ROWS`]. Every special limit is a column; the encoder, the text and the
//! checks match on columns, never on a mnemonic or opcode. Source: Intel 64 and IA-32 Architectures Software
//! Developer's Manual, volume 2.

use super::reg::Width;
use crate::target::{Feature, FeatureSet};

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
    /// This many.
    Fixed(u8),
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

use Class::{Gpr32, Gpr64, Imm8, Mask, Vector, Xmm};
use Field::{Imm, Reg, Rm, Vvvv};
use Map::{M0F, M0F3A, M0F38};
use Prefix::{F2, F3, P66};
use Role::{Read, ReadWrite, Write};

const LOAD: &[Slot] = &[slot(Reg, Vector, Write), slot(Rm, Vector, Read)];
const STORE: &[Slot] = &[slot(Rm, Vector, Write), slot(Reg, Vector, Read)];
/// Two-operand: the destination is the first source.
const DESTRUCTIVE: &[Slot] = &[slot(Reg, Vector, ReadWrite), slot(Rm, Vector, Read)];
const COMPARE: &[Slot] = &[slot(Reg, Vector, Read), slot(Rm, Vector, Read)];
const THREE: &[Slot] = &[slot(Reg, Vector, Write), slot(Vvvv, Vector, Read), slot(Rm, Vector, Read)];
const THREE_IN_IMM: &[Slot] =
    &[slot(Reg, Vector, ReadWrite), slot(Vvvv, Vector, Read), slot(Rm, Vector, Read), slot(Imm, Imm8, Read)];
const TEST_TO_MASK: &[Slot] = &[slot(Reg, Mask, Write), slot(Vvvv, Vector, Read), slot(Rm, Vector, Read)];
const XMM_LOAD: &[Slot] = &[slot(Reg, Xmm, Write), slot(Rm, Xmm, Read)];
const XMM_STORE: &[Slot] = &[slot(Rm, Xmm, Write), slot(Reg, Xmm, Read)];
const XMM_FROM_32: &[Slot] = &[slot(Reg, Xmm, Write), slot(Rm, Gpr32, Read)];
const XMM_TO_32: &[Slot] = &[slot(Rm, Gpr32, Write), slot(Reg, Xmm, Read)];
const XMM_FROM_64: &[Slot] = &[slot(Reg, Xmm, Write), slot(Rm, Gpr64, Read)];
const XMM_TO_64: &[Slot] = &[slot(Rm, Gpr64, Write), slot(Reg, Xmm, Read)];
const GATHER_SIGNS: &[Slot] = &[slot(Reg, Gpr32, Write), slot(Rm, Xmm, Read)];
const MASK_FROM_32: &[Slot] = &[slot(Reg, Mask, Write), slot(Rm, Gpr32, Read)];
const MASK_FROM_64: &[Slot] = &[slot(Reg, Mask, Write), slot(Rm, Gpr64, Read)];
const MASK_TO_32: &[Slot] = &[slot(Reg, Gpr32, Write), slot(Rm, Mask, Read)];

/// Declares each row as a `static` and lists them all.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident = $row:expr;)+) => {
        $($(#[$doc])* pub static $name: Row = $row;)+
        /// Every row of the table.
        pub static ROWS: &[&Row] = &[$(&$name),+];
    };
}

rows! {
    // Legacy SSE2. Memory operands must be 16-byte aligned unless the row says otherwise.
    /// Unaligned load.
    MOVDQU_LOAD = Row::sse("movdqu", F3, 0x6F, LOAD).memory_only().any_alignment();
    /// Unaligned store.
    MOVDQU_STORE = Row::sse("movdqu", F3, 0x7F, STORE).memory_only().any_alignment();
    /// Aligned load.
    MOVDQA_LOAD = Row::sse("movdqa", P66, 0x6F, LOAD);
    /// Aligned store.
    MOVDQA_STORE = Row::sse("movdqa", P66, 0x7F, STORE).memory_only();
    /// Non-temporal store.
    MOVNTDQ = Row::sse("movntdq", P66, 0xE7, STORE).memory_only();
    /// XOR.
    PXOR = Row::sse("pxor", P66, 0xEF, DESTRUCTIVE);
    /// OR.
    POR = Row::sse("por", P66, 0xEB, DESTRUCTIVE);
    /// Byte-wise equality.
    PCMPEQB = Row::sse("pcmpeqb", P66, 0x74, DESTRUCTIVE);
    /// The bytes' sign bits.
    PMOVMSKB = Row::sse("pmovmskb", P66, 0xD7, GATHER_SIGNS).register_only();
    /// Load 4 bytes, or move from a general-purpose register; the rest becomes zero.
    MOVD_LOAD = Row::sse("movd", P66, 0x6E, XMM_FROM_32).scalar(4);
    /// Store 4 bytes, or move to a general-purpose register.
    MOVD_STORE = Row::sse("movd", P66, 0x7E, XMM_TO_32).scalar(4);
    /// Load 8 bytes; the rest becomes zero.
    MOVQ_LOAD = Row::sse("movq", F3, 0x7E, XMM_LOAD).scalar(8).memory_only();
    /// Store 8 bytes.
    MOVQ_STORE = Row::sse("movq", P66, 0xD6, XMM_STORE).scalar(8).memory_only();
    /// Move from a general-purpose register.
    MOVQ_FROM_GPR = Row::sse("movq", P66, 0x6E, XMM_FROM_64).w1().scalar(8).register_only();
    /// Move to a general-purpose register.
    MOVQ_TO_GPR = Row::sse("movq", P66, 0x7E, XMM_TO_64).w1().scalar(8).register_only();

    // VEX: AVX and AVX2.
    /// Unaligned load.
    VMOVDQU_LOAD = Row::vex("vmovdqu", F3, M0F, 0x6F, LOAD).memory_only();
    /// Unaligned store.
    VMOVDQU_STORE = Row::vex("vmovdqu", F3, M0F, 0x7F, STORE).memory_only();
    /// Aligned load.
    VMOVDQA_LOAD = Row::vex("vmovdqa", P66, M0F, 0x6F, LOAD).memory_only().vector_alignment();
    /// Aligned store.
    VMOVDQA_STORE = Row::vex("vmovdqa", P66, M0F, 0x7F, STORE).memory_only().vector_alignment();
    /// Non-temporal store.
    VMOVNTDQ = Row::vex("vmovntdq", P66, M0F, 0xE7, STORE).memory_only().vector_alignment();
    /// XOR.
    VPXOR = Row::vex("vpxor", P66, M0F, 0xEF, THREE).commutative().needs(Feature::Avx2);
    /// OR.
    VPOR = Row::vex("vpor", P66, M0F, 0xEB, THREE).commutative().needs(Feature::Avx2);
    /// ZF: no bit in common.
    VPTEST = Row::vex("vptest", P66, M0F38, 0x17, COMPARE);
    /// Load 4 bytes, or move from a general-purpose register; the rest becomes zero.
    VMOVD_LOAD = Row::vex("vmovd", P66, M0F, 0x6E, XMM_FROM_32).scalar(4);
    /// Store 4 bytes, or move to a general-purpose register.
    VMOVD_STORE = Row::vex("vmovd", P66, M0F, 0x7E, XMM_TO_32).scalar(4);
    /// Load 8 bytes; the rest becomes zero.
    VMOVQ_LOAD = Row::vex("vmovq", F3, M0F, 0x7E, XMM_LOAD).scalar(8).memory_only();
    /// Store 8 bytes.
    VMOVQ_STORE = Row::vex("vmovq", P66, M0F, 0xD6, XMM_STORE).scalar(8).memory_only();
    /// Move from a general-purpose register.
    VMOVQ_FROM_GPR = Row::vex("vmovq", P66, M0F, 0x6E, XMM_FROM_64).w1().scalar(8).register_only();
    /// Move to a general-purpose register.
    VMOVQ_TO_GPR = Row::vex("vmovq", P66, M0F, 0x7E, XMM_TO_64).w1().scalar(8).register_only();
    /// Clear bits 128 and up of vector registers 0 to 15.
    VZEROUPPER = Row::vex("vzeroupper", Prefix::None, M0F, 0x77, &[]).length(Length::L0);

    // Opmasks.
    /// 16 mask bits to a general-purpose register.
    KMOVW_TO_GPR = Row::vex("kmovw", Prefix::None, M0F, 0x93, MASK_TO_32)
        .length(Length::L0).register_only().needs(Feature::Avx512F);
    /// 32 mask bits from a general-purpose register.
    KMOVD_FROM_GPR = Row::vex("kmovd", F2, M0F, 0x92, MASK_FROM_32)
        .length(Length::L0).register_only().needs(Feature::Avx512Bw);
    /// 64 mask bits from a general-purpose register.
    KMOVQ_FROM_GPR = Row::vex("kmovq", F2, M0F, 0x92, MASK_FROM_64)
        .w1().length(Length::L0).register_only().needs(Feature::Avx512Bw);

    // EVEX.
    /// Unaligned load.
    VMOVDQU64_LOAD = Row::evex("vmovdqu64", F3, M0F, 0x6F, LOAD).w1().memory_only().element(8).zeroing();
    /// Unaligned store.
    VMOVDQU64_STORE = Row::evex("vmovdqu64", F3, M0F, 0x7F, STORE).w1().memory_only().element(8);
    /// Aligned load.
    VMOVDQA64_LOAD = Row::evex("vmovdqa64", P66, M0F, 0x6F, LOAD).w1().memory_only().vector_alignment().element(8).zeroing();
    /// Aligned store.
    VMOVDQA64_STORE = Row::evex("vmovdqa64", P66, M0F, 0x7F, STORE).w1().memory_only().vector_alignment().element(8);
    /// Unaligned load, masked by the byte.
    VMOVDQU8_LOAD = Row::evex("vmovdqu8", F2, M0F, 0x6F, LOAD).memory_only().element(1).zeroing().needs(Feature::Avx512Bw);
    /// Unaligned store, masked by the byte.
    VMOVDQU8_STORE = Row::evex("vmovdqu8", F2, M0F, 0x7F, STORE).memory_only().element(1).needs(Feature::Avx512Bw);
    /// Non-temporal store.
    VMOVNTDQ_EVEX = Row::evex("vmovntdq", P66, M0F, 0xE7, STORE).memory_only().vector_alignment().vex_form(&VMOVNTDQ);
    /// XOR.
    VPXORQ = Row::evex("vpxorq", P66, M0F, 0xEF, THREE).w1().element(8).zeroing().commutative();
    /// OR.
    VPORQ = Row::evex("vporq", P66, M0F, 0xEB, THREE).w1().element(8).zeroing().commutative();
    /// Any function of three bits; 0x96 is their XOR.
    VPTERNLOGQ = Row::evex("vpternlogq", P66, M0F3A, 0x25, THREE_IN_IMM).w1().element(8).zeroing();
    /// Mask of the elements that have a bit in common.
    VPTESTMQ = Row::evex("vptestmq", P66, M0F38, 0x27, TEST_TO_MASK).w1().element(8).commutative();
    /// Move from a general-purpose register.
    VMOVQ_FROM_GPR_EVEX = Row::evex("vmovq", P66, M0F, 0x6E, XMM_FROM_64)
        .w1().scalar(8).register_only().vex_form(&VMOVQ_FROM_GPR);
    /// Move to a general-purpose register.
    VMOVQ_TO_GPR_EVEX = Row::evex("vmovq", P66, M0F, 0x7E, XMM_TO_64)
        .w1().scalar(8).register_only().vex_form(&VMOVQ_TO_GPR);
}
