//! The rows.

use super::Class::{Gpr32, Gpr64, Half, Imm8, Mask, Vector, Xmm};
use super::Field::{Imm, Reg, Rm, Vvvv};
use super::Map::{M0F, M0F3A, M0F38};
use super::Prefix::{F2, F3, P66};
use super::Role::{Read, ReadWrite, Write};
use super::{Feature, Length, Prefix, Row, Slot, slot};

const LOAD: &[Slot] = &[slot(Reg, Vector, Write), slot(Rm, Vector, Read)];
const STORE: &[Slot] = &[slot(Rm, Vector, Write), slot(Reg, Vector, Read)];
/// Two-operand: the destination is the first source.
const DESTRUCTIVE: &[Slot] = &[slot(Reg, Vector, ReadWrite), slot(Rm, Vector, Read)];
const COMPARE: &[Slot] = &[slot(Reg, Vector, Read), slot(Rm, Vector, Read)];
const THREE: &[Slot] = &[slot(Reg, Vector, Write), slot(Vvvv, Vector, Read), slot(Rm, Vector, Read)];
const THREE_IN_IMM: &[Slot] =
    &[slot(Reg, Vector, ReadWrite), slot(Vvvv, Vector, Read), slot(Rm, Vector, Read), slot(Imm, Imm8, Read)];
const WIDEN: &[Slot] = &[slot(Reg, Vector, Write), slot(Rm, Half, Read)];
const MOVE_IMM: &[Slot] = &[slot(Reg, Vector, Write), slot(Rm, Vector, Read), slot(Imm, Imm8, Read)];
/// By an immediate, where ModRM.reg is part of the opcode: in place, and with the destination in vvvv.
const SHIFT: &[Slot] = &[slot(Rm, Vector, ReadWrite), slot(Imm, Imm8, Read)];
const SHIFT_TO: &[Slot] = &[slot(Vvvv, Vector, Write), slot(Rm, Vector, Read), slot(Imm, Imm8, Read)];
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
    /// Sum of 64-bit elements.
    PADDQ = Row::sse("paddq", P66, 0xD4, DESTRUCTIVE).commutative();
    /// 64-bit elements shifted right.
    PSRLQ = Row::sse("psrlq", P66, 0x73, SHIFT).extension(2).register_only();
    /// 16-bit elements shifted left.
    PSLLW = Row::sse("psllw", P66, 0x71, SHIFT).extension(6).register_only();
    /// 16-bit elements shifted right.
    PSRLW = Row::sse("psrlw", P66, 0x71, SHIFT).extension(2).register_only();
    /// The low 16-bit elements of each lane, each chosen by two bits.
    PSHUFLW = Row::sse("pshuflw", F2, 0x70, MOVE_IMM);
    /// The high 16-bit elements of each lane, each chosen by two bits.
    PSHUFHW = Row::sse("pshufhw", F3, 0x70, MOVE_IMM);
    /// The low 32-bit elements of two sources, alternating.
    PUNPCKLDQ = Row::sse("punpckldq", P66, 0x62, DESTRUCTIVE);
    /// The high 32-bit elements of two sources, alternating.
    PUNPCKHDQ = Row::sse("punpckhdq", P66, 0x6A, DESTRUCTIVE);
    /// Each byte chosen from its lane by a control byte.
    PSHUFB = Row::ssse3("pshufb", 0x00, DESTRUCTIVE);
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
    /// Sum of 64-bit elements.
    VPADDQ = Row::vex("vpaddq", P66, M0F, 0xD4, THREE).commutative().needs(Feature::Avx2);
    /// 64-bit elements shifted right.
    VPSRLQ = Row::vex("vpsrlq", P66, M0F, 0x73, SHIFT_TO).extension(2).register_only().needs(Feature::Avx2);
    /// Each byte chosen from its lane by a control byte.
    VPSHUFB = Row::vex("vpshufb", P66, M0F38, 0x00, THREE).needs(Feature::Avx2);
    /// 32-bit elements, zero-extended to 64 bits.
    VPMOVZXDQ = Row::vex("vpmovzxdq", P66, M0F38, 0x35, WIDEN).half().needs(Feature::Avx2);
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
    /// Sum of 64-bit elements.
    VPADDQ_EVEX = Row::evex("vpaddq", P66, M0F, 0xD4, THREE).w1().element(8).zeroing().commutative().vex_form(&VPADDQ);
    /// 64-bit elements shifted right.
    VPSRLQ_EVEX = Row::evex("vpsrlq", P66, M0F, 0x73, SHIFT_TO).extension(2).w1().element(8).zeroing().vex_form(&VPSRLQ);
    /// 32-bit elements rotated left.
    VPROLD = Row::evex("vprold", P66, M0F, 0x72, SHIFT_TO).extension(1).element(4).zeroing();
    /// Each byte chosen from its lane by a control byte.
    VPSHUFB_EVEX = Row::evex("vpshufb", P66, M0F38, 0x00, THREE)
        .element(1).zeroing().needs(Feature::Avx512Bw).vex_form(&VPSHUFB);
    /// 32-bit elements, zero-extended to 64 bits.
    VPMOVZXDQ_EVEX = Row::evex("vpmovzxdq", P66, M0F38, 0x35, WIDEN).half().element(8).zeroing().vex_form(&VPMOVZXDQ);
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
