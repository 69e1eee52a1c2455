//! The supported instructions, one row per mnemonic: which of the semantics in `exec` it has, with its parameters.
//!
//! A new instruction is a row here, and where it brings a new primitive, an arm in the domain. Encodings, widths, masks and
//! broadcasts are not part of a row: [`program`](crate::program) reads them off the operands.

use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind};

use crate::domain::{IntOp, Shift, Test, VecOp};

/// Which semantics an instruction has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    // Scalars: exec/scalar.rs.
    /// dest = source, zero-extended: `mov` and `movzx`.
    Move,
    /// dest = the address of the memory operand.
    Lea,
    /// dest = op(dest, source), with all flags; without a destination for `cmp` and `test`.
    Arith {
        op: IntOp,
        keeps: bool,
    },
    /// dest = op(dest, 1), CF unchanged.
    Step(IntOp),
    Neg,
    Not,
    /// dest = shifted dest; which flags are defined depends on the count.
    Shift(IntOp),
    /// dest = op(first source, second source), no flags: `shlx` and its kin.
    ShiftX(IntOp),
    /// dest = op(source, other source), all flags but PF; which operand is the first of the operation.
    Bits {
        op: IntOp,
        first: usize,
        second: usize,
    },
    SetCond(Cond),
    MoveCond(Cond),
    // Control: exec/control.rs.
    Jump,
    JumpCond(Cond),
    Push,
    Pop,
    Return,
    /// No effect on the state, and no access: fences, prefetches, `nop`, `endbr64`.
    Nothing,
    // Vectors: exec/vector.rs.
    /// dest = source, register or memory; `aligned` demands an address aligned to the width.
    VecMove {
        aligned: bool,
        element: u32,
    },
    /// One lane of so many bytes between vectors, general-purpose registers and memory, zero above.
    Lane(u32),
    /// dest = op(source, source); legacy: op(dest, source).
    Vec2 {
        op: VecOp,
        element: u32,
    },
    /// dest = op(source) with the immediate as parameter.
    ByteShift {
        right: bool,
    },
    /// dest = op(source) with the immediate as parameter; legacy: in place.
    ShiftBits {
        shift: Shift,
        element: u32,
    },
    /// dest = op(source) with the immediate as parameter, in all encodings.
    ShuffleWords {
        high: bool,
    },
    /// dest = elements of so many bytes of a source of half the width, zero-extended to twice the size.
    ZeroExtend {
        from: u32,
    },
    Ternary {
        element: u32,
    },
    /// Flags of `a & b` and `!a & b`.
    VecTest,
    /// One bit per element of `op(a, b)`, into an opmask.
    Compare {
        op: VecOp,
        test: Test,
        element: u32,
    },
    /// The sign of each element, into a general-purpose register.
    MoveMask {
        element: u32,
    },
    ZeroUpper,
    // Opmasks: exec/mask.rs.
    MaskMove(u32),
    MaskLogic {
        op: IntOp,
        size: u32,
    },
    /// dest = !(a ^ b).
    MaskXnor(u32),
    MaskNot(u32),
    MaskShift {
        op: IntOp,
        size: u32,
    },
    /// Flags of `a | b`: zero, all ones.
    MaskOrTest(u32),
    /// Flags of `a & b` and `!a & b`.
    MaskTest(u32),
}

/// A condition on flags, without its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CondKind {
    Overflow,
    Below,
    Equal,
    BelowOrEqual,
    Sign,
    Parity,
    Less,
    LessOrEqual,
}

/// A condition of `jcc`, `setcc` or `cmovcc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cond {
    pub(crate) kind: CondKind,
    pub(crate) negated: bool,
}

impl Cond {
    fn of(code: ConditionCode) -> Option<Cond> {
        use ConditionCode as C;
        let (kind, negated) = match code {
            C::None => return None,
            C::o => (CondKind::Overflow, false),
            C::no => (CondKind::Overflow, true),
            C::b => (CondKind::Below, false),
            C::ae => (CondKind::Below, true),
            C::e => (CondKind::Equal, false),
            C::ne => (CondKind::Equal, true),
            C::be => (CondKind::BelowOrEqual, false),
            C::a => (CondKind::BelowOrEqual, true),
            C::s => (CondKind::Sign, false),
            C::ns => (CondKind::Sign, true),
            C::p => (CondKind::Parity, false),
            C::np => (CondKind::Parity, true),
            C::l => (CondKind::Less, false),
            C::ge => (CondKind::Less, true),
            C::le => (CondKind::LessOrEqual, false),
            C::g => (CondKind::LessOrEqual, true),
        };
        Some(Cond { kind, negated })
    }
}

/// `jcc`, `setcc` and `cmovcc` are 16 mnemonics each: recognised by their condition and their shape. (`loopcc` and `jrcxz`
/// are branches too, but not `jcc`; `cmpccxadd` has three operands.)
fn conditional(insn: &Instruction) -> Option<Op> {
    let cond = Cond::of(insn.condition_code())?;
    match (insn.flow_control(), insn.op_count()) {
        (FlowControl::ConditionalBranch, _) if insn.is_jcc_short_or_near() => Some(Op::JumpCond(cond)),
        (FlowControl::Next, 1) => Some(Op::SetCond(cond)),
        (FlowControl::Next, 2) => Some(Op::MoveCond(cond)),
        _ => None,
    }
}

/// The row of an instruction.
#[rustfmt::skip] // one row, one line
pub(crate) fn row(insn: &Instruction) -> Option<Op> {
    use Mnemonic as M;
    let vec2 = |op, element| Op::Vec2 { op, element };
    let arith = |op, keeps| Op::Arith { op, keeps };
    let bits = |op, first, second| Op::Bits { op, first, second };
    let compare = |op, test, element| Op::Compare { op, test, element };
    let plain = |element| Op::VecMove { aligned: false, element };
    let aligned = |element| Op::VecMove { aligned: true, element };
    let mask = |op, size| Op::MaskLogic { op, size };
    let mask_shift = |op, size| Op::MaskShift { op, size };

    Some(match insn.mnemonic() {
        M::Mov | M::Movzx => Op::Move,
        M::Lea => Op::Lea,
        M::Add => arith(IntOp::Add, true),
        M::Sub => arith(IntOp::Sub, true),
        M::Cmp => arith(IntOp::Sub, false),
        M::And => arith(IntOp::And, true),
        M::Test => arith(IntOp::And, false),
        M::Or => arith(IntOp::Or, true),
        M::Xor => arith(IntOp::Xor, true),
        M::Inc => Op::Step(IntOp::Add),
        M::Dec => Op::Step(IntOp::Sub),
        M::Neg => Op::Neg,
        M::Not => Op::Not,
        M::Shl => Op::Shift(IntOp::Shl),
        M::Shr => Op::Shift(IntOp::Shr),
        M::Sar => Op::Shift(IntOp::Sar),
        M::Shlx => Op::ShiftX(IntOp::Shl),
        M::Shrx => Op::ShiftX(IntOp::Shr),
        M::Sarx => Op::ShiftX(IntOp::Sar),
        M::Andn => bits(IntOp::Andn, 1, 2),
        M::Bzhi => bits(IntOp::Bzhi, 1, 2),
        M::Blsr => bits(IntOp::Blsr, 1, 1),

        M::Jmp if insn.is_jmp_short_or_near() => Op::Jump,
        M::Push if insn.stack_pointer_increment() == -8 => Op::Push,
        M::Pop if insn.stack_pointer_increment() == 8 => Op::Pop,
        M::Ret if insn.op_count() == 0 => Op::Return,
        M::Nop | M::Endbr64 | M::Sfence | M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchnta => Op::Nothing,

        M::Movdqu | M::Vmovdqu | M::Lddqu | M::Vlddqu => plain(1),
        M::Vmovdqu8 => plain(1),
        M::Vmovdqu16 => plain(2),
        M::Movups | M::Vmovups | M::Vmovdqu32 => plain(4),
        M::Movupd | M::Vmovupd | M::Vmovdqu64 => plain(8),
        M::Movdqa | M::Vmovdqa | M::Movntdq | M::Vmovntdq | M::Movntdqa | M::Vmovntdqa => aligned(1),
        M::Movaps | M::Vmovaps | M::Vmovdqa32 => aligned(4),
        M::Movapd | M::Vmovapd | M::Vmovdqa64 => aligned(8),
        M::Movd | M::Vmovd => Op::Lane(4),
        M::Movq | M::Vmovq => Op::Lane(8),

        M::Pxor | M::Vpxor | M::Vpxorq | M::Xorpd | M::Vxorpd => vec2(VecOp::Xor, 8),
        M::Vpxord | M::Xorps | M::Vxorps => vec2(VecOp::Xor, 4),
        M::Por | M::Vpor | M::Vporq => vec2(VecOp::Or, 8),
        M::Vpord => vec2(VecOp::Or, 4),
        M::Pand | M::Vpand | M::Vpandq => vec2(VecOp::And, 8),
        M::Vpandd => vec2(VecOp::And, 4),
        M::Pandn | M::Vpandn | M::Vpandnq => vec2(VecOp::Andn, 8),
        M::Vpandnd => vec2(VecOp::Andn, 4),
        M::Paddb | M::Vpaddb => vec2(VecOp::Add(1), 1),
        M::Paddw | M::Vpaddw => vec2(VecOp::Add(2), 2),
        M::Paddd | M::Vpaddd => vec2(VecOp::Add(4), 4),
        M::Paddq | M::Vpaddq => vec2(VecOp::Add(8), 8),
        M::Pshufb | M::Vpshufb => vec2(VecOp::ShuffleBytes, 1),
        M::Pshuflw | M::Vpshuflw => Op::ShuffleWords { high: false },
        M::Pshufhw | M::Vpshufhw => Op::ShuffleWords { high: true },
        M::Punpckldq | M::Vpunpckldq => vec2(VecOp::Interleave { element: 4, high: false }, 4),
        M::Punpckhdq | M::Vpunpckhdq => vec2(VecOp::Interleave { element: 4, high: true }, 4),
        M::Vpmovzxdq => Op::ZeroExtend { from: 4 },
        M::Psrlw | M::Vpsrlw => return by_immediate(insn, Shift::Right, 2),
        M::Psrld | M::Vpsrld => return by_immediate(insn, Shift::Right, 4),
        M::Psrlq | M::Vpsrlq => return by_immediate(insn, Shift::Right, 8),
        M::Psllw | M::Vpsllw => return by_immediate(insn, Shift::Left, 2),
        M::Pslld | M::Vpslld => return by_immediate(insn, Shift::Left, 4),
        M::Psllq | M::Vpsllq => return by_immediate(insn, Shift::Left, 8),
        M::Vprold => return by_immediate(insn, Shift::RotateLeft, 4),
        M::Vprolq => return by_immediate(insn, Shift::RotateLeft, 8),
        M::Vpternlogd => Op::Ternary { element: 4 },
        M::Vpternlogq => Op::Ternary { element: 8 },
        // The VEX forms compare into a vector, the EVEX forms into an opmask.
        M::Pcmpeqb | M::Vpcmpeqb => equal(insn, 1),
        M::Pcmpeqw | M::Vpcmpeqw => equal(insn, 2),
        M::Pcmpeqd | M::Vpcmpeqd => equal(insn, 4),
        M::Pcmpeqq | M::Vpcmpeqq => equal(insn, 8),
        M::Psrldq | M::Vpsrldq => Op::ByteShift { right: true },
        M::Pslldq | M::Vpslldq => Op::ByteShift { right: false },
        M::Pmovmskb | M::Vpmovmskb => Op::MoveMask { element: 1 },
        M::Ptest | M::Vptest => Op::VecTest,
        M::Vptestmb => compare(VecOp::And, Test::NonZero, 1),
        M::Vptestmw => compare(VecOp::And, Test::NonZero, 2),
        M::Vptestmd => compare(VecOp::And, Test::NonZero, 4),
        M::Vptestmq => compare(VecOp::And, Test::NonZero, 8),
        M::Vptestnmb => compare(VecOp::And, Test::Zero, 1),
        M::Vptestnmw => compare(VecOp::And, Test::Zero, 2),
        M::Vptestnmd => compare(VecOp::And, Test::Zero, 4),
        M::Vptestnmq => compare(VecOp::And, Test::Zero, 8),
        M::Vzeroupper => Op::ZeroUpper,

        M::Kmovb => Op::MaskMove(1),
        M::Kmovw => Op::MaskMove(2),
        M::Kmovd => Op::MaskMove(4),
        M::Kmovq => Op::MaskMove(8),
        M::Kandb => mask(IntOp::And, 1),
        M::Kandw => mask(IntOp::And, 2),
        M::Kandd => mask(IntOp::And, 4),
        M::Kandq => mask(IntOp::And, 8),
        M::Kandnb => mask(IntOp::Andn, 1),
        M::Kandnw => mask(IntOp::Andn, 2),
        M::Kandnd => mask(IntOp::Andn, 4),
        M::Kandnq => mask(IntOp::Andn, 8),
        M::Korb => mask(IntOp::Or, 1),
        M::Korw => mask(IntOp::Or, 2),
        M::Kord => mask(IntOp::Or, 4),
        M::Korq => mask(IntOp::Or, 8),
        M::Kxorb => mask(IntOp::Xor, 1),
        M::Kxorw => mask(IntOp::Xor, 2),
        M::Kxord => mask(IntOp::Xor, 4),
        M::Kxorq => mask(IntOp::Xor, 8),
        M::Kxnorb => Op::MaskXnor(1),
        M::Kxnorw => Op::MaskXnor(2),
        M::Kxnord => Op::MaskXnor(4),
        M::Kxnorq => Op::MaskXnor(8),
        M::Knotb => Op::MaskNot(1),
        M::Knotw => Op::MaskNot(2),
        M::Knotd => Op::MaskNot(4),
        M::Knotq => Op::MaskNot(8),
        M::Kshiftlb => mask_shift(IntOp::Shl, 1),
        M::Kshiftlw => mask_shift(IntOp::Shl, 2),
        M::Kshiftld => mask_shift(IntOp::Shl, 4),
        M::Kshiftlq => mask_shift(IntOp::Shl, 8),
        M::Kshiftrb => mask_shift(IntOp::Shr, 1),
        M::Kshiftrw => mask_shift(IntOp::Shr, 2),
        M::Kshiftrd => mask_shift(IntOp::Shr, 4),
        M::Kshiftrq => mask_shift(IntOp::Shr, 8),
        M::Kortestb => Op::MaskOrTest(1),
        M::Kortestw => Op::MaskOrTest(2),
        M::Kortestd => Op::MaskOrTest(4),
        M::Kortestq => Op::MaskOrTest(8),
        M::Ktestb => Op::MaskTest(1),
        M::Ktestw => Op::MaskTest(2),
        M::Ktestd => Op::MaskTest(4),
        M::Ktestq => Op::MaskTest(8),

        _ => return conditional(insn),
    })
}

/// The forms that take their count from a register are not supported.
fn by_immediate(insn: &Instruction, shift: Shift, element: u32) -> Option<Op> {
    (insn.op_kind(insn.op_count() - 1) == OpKind::Immediate8).then_some(Op::ShiftBits { shift, element })
}

/// Equality of elements: where `a ^ b` is zero for an opmask.
fn equal(insn: &Instruction, element: u32) -> Op {
    if insn.op0_register().is_k() {
        Op::Compare { op: VecOp::Xor, test: Test::Zero, element }
    } else {
        Op::Vec2 { op: VecOp::CmpEq(element), element }
    }
}
