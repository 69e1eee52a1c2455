//! Program to machine code: vector instructions by the encoder of `codegen`, scalars and branches by dynasm.
//!
//! Pure: the same program gives the same bytes on every machine, whatever its CPU.

use dynasm::dynasm;
use dynasmrt::relocations::{Relocation, RelocationKind, RelocationSize};
use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler};
use lanesmith_codegen::asm::scalar::Bits;
use lanesmith_codegen::asm::{Condition, Gpr, Inst, Item, Label, Mem, Program, Scalar};
use lanesmith_codegen::encode;

/// Machine code, with the program's constants behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Everything: code, padding, constants. Position-independent.
    pub bytes: Vec<u8>,
    /// How many of the bytes are instructions; a decoder must not go further.
    pub code_len: usize,
    /// Where the constants are: a multiple of 64, or the length if there are none.
    pub pool_at: usize,
}

/// A program that cannot be encoded: a fault of its lowering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// A form of operand that no kernel uses and that is therefore not encoded.
    #[error("no encoding for {scalar}")]
    Scalar {
        /// The instruction.
        scalar: String,
    },
    /// A branch to a label that is not placed, or placed twice.
    #[error("branches do not resolve: {reason}")]
    Labels {
        /// What the assembler says.
        reason: String,
    },
}

/// The machine code of `program`.
///
/// # Errors
/// [`EmitError`] on a fault of the program.
pub fn assemble(program: &Program) -> Result<Code, EmitError> {
    let mut out = Emitter { ops: VecAssembler::new(0), labels: Vec::new(), pool: None, buffer: Vec::with_capacity(16) };
    out.labels = (0..program.labels()).map(|_| out.ops.new_dynamic_label()).collect();
    for item in program.items() {
        match item {
            Item::Vector(inst) => out.vector(inst),
            Item::Scalar(scalar) => out.scalar(scalar)?,
            Item::Label(label) => {
                let label = out.label(*label);
                out.ops.dynamic_label(label);
            }
            Item::Note(_) => {}
        }
    }
    let code_len = out.ops.offset().0;
    if let Some(pool) = out.pool {
        out.ops.align(64, 0xCC);
        out.ops.dynamic_label(pool);
    }
    let pool_at = out.ops.offset().0;
    if out.pool.is_some() {
        out.ops.extend(program.pool().bytes());
    }
    let bytes = out.ops.finalize().map_err(|e| EmitError::Labels { reason: e.to_string() })?;
    Ok(Code { bytes, code_len, pool_at })
}

struct Emitter {
    ops: VecAssembler<X64Relocation>,
    labels: Vec<DynamicLabel>,
    pool: Option<DynamicLabel>,
    /// One instruction's bytes.
    buffer: Vec<u8>,
}

impl Emitter {
    fn label(&self, label: Label) -> DynamicLabel {
        self.labels[label.number() as usize]
    }

    fn vector(&mut self, inst: &Inst) {
        self.buffer.clear();
        let fixup = encode::encode(inst, &mut self.buffer);
        self.ops.extend(&self.buffer);
        if let Some(fixup) = fixup {
            let pool = *self.pool.get_or_insert_with(|| self.ops.new_dynamic_label());
            // The field ends `trailing` bytes before the instruction does, and RIP counts from the instruction's end.
            let field_offset = (fixup.trailing + 4) as u8;
            let kind = X64Relocation::from_size(RelocationKind::Relative, RelocationSize::DWord);
            self.ops.dynamic_relocation(pool, fixup.offset as isize, field_offset, 0, kind);
        }
    }

    // dynasm converts every register number.
    #[allow(clippy::useless_conversion)]
    fn scalar(&mut self, scalar: &Scalar) -> Result<(), EmitError> {
        let ops = &mut self.ops;
        // dynasm takes register numbers modulo 16; `Gpr` holds no other.
        let n = Gpr::number;
        match *scalar {
            Scalar::Mov(a, b) => dynasm!(ops ; .arch x64 ; mov Rq(n(a)), Rq(n(b))),
            Scalar::MovImm(a, i) => dynasm!(ops ; .arch x64 ; mov Rq(n(a)), DWORD i),
            Scalar::Add(a, b) => dynasm!(ops ; .arch x64 ; add Rq(n(a)), Rq(n(b))),
            Scalar::Sub(a, b) => dynasm!(ops ; .arch x64 ; sub Rq(n(a)), Rq(n(b))),
            Scalar::Neg(a) => dynasm!(ops ; .arch x64 ; neg Rq(n(a))),
            Scalar::Zero(a) => dynasm!(ops ; .arch x64 ; xor Rd(n(a)), Rd(n(a))),
            Scalar::Cmp(a, b) => dynasm!(ops ; .arch x64 ; cmp Rq(n(a)), Rq(n(b))),
            Scalar::Test(a) => dynasm!(ops ; .arch x64 ; test Rq(n(a)), Rq(n(a))),
            Scalar::AddImm(a, i) => match i8::try_from(i) {
                Ok(i) => dynasm!(ops ; .arch x64 ; add Rq(n(a)), BYTE i),
                Err(_) => dynasm!(ops ; .arch x64 ; add Rq(n(a)), DWORD i),
            },
            Scalar::AndImm(a, i) => match i8::try_from(i) {
                Ok(i) => dynasm!(ops ; .arch x64 ; and Rq(n(a)), BYTE i),
                Err(_) => dynasm!(ops ; .arch x64 ; and Rq(n(a)), DWORD i),
            },
            Scalar::XorImm(a, i) => match i8::try_from(i) {
                Ok(i) => dynasm!(ops ; .arch x64 ; xor Rq(n(a)), BYTE i),
                Err(_) => dynasm!(ops ; .arch x64 ; xor Rq(n(a)), DWORD i),
            },
            Scalar::CmpImm(a, i) => match i8::try_from(i) {
                // dynasm's own form of it takes 32 bits.
                Ok(i) => ops.extend([0x48 | n(a) >> 3, 0x83, 0xF8 | n(a) & 7, i as u8]),
                Err(_) => dynasm!(ops ; .arch x64 ; cmp Rq(n(a)), DWORD i),
            },
            Scalar::Shlx(Bits::B32, a, b, c) => dynasm!(ops ; .arch x64 ; shlx Rd(n(a)), Rd(n(b)), Rd(n(c))),
            Scalar::Shlx(Bits::B64, a, b, c) => dynasm!(ops ; .arch x64 ; shlx Rq(n(a)), Rq(n(b)), Rq(n(c))),
            Scalar::Shrx(Bits::B32, a, b, c) => dynasm!(ops ; .arch x64 ; shrx Rd(n(a)), Rd(n(b)), Rd(n(c))),
            Scalar::Shrx(Bits::B64, a, b, c) => dynasm!(ops ; .arch x64 ; shrx Rq(n(a)), Rq(n(b)), Rq(n(c))),
            Scalar::Push(a) => dynasm!(ops ; .arch x64 ; push Rq(n(a))),
            Scalar::Pop(a) => dynasm!(ops ; .arch x64 ; pop Rq(n(a))),
            Scalar::Ret => dynasm!(ops ; .arch x64 ; ret),
            Scalar::Sfence => dynasm!(ops ; .arch x64 ; sfence),
            // dynasm has no name for it.
            Scalar::Endbr64 => ops.extend([0xF3, 0x0F, 0x1E, 0xFA]),
            Scalar::Set(condition, a) => match condition {
                Condition::Equal => dynasm!(ops ; .arch x64 ; sete Rb(n(a))),
                Condition::NotEqual => dynasm!(ops ; .arch x64 ; setne Rb(n(a))),
                Condition::Less => dynasm!(ops ; .arch x64 ; setl Rb(n(a))),
                Condition::LessOrEqual => dynasm!(ops ; .arch x64 ; setle Rb(n(a))),
                Condition::Greater => dynasm!(ops ; .arch x64 ; setg Rb(n(a))),
                Condition::GreaterOrEqual => dynasm!(ops ; .arch x64 ; setge Rb(n(a))),
            },
            Scalar::Branch(condition, label) => {
                let to = self.label(label);
                let ops = &mut self.ops;
                match condition {
                    Condition::Equal => dynasm!(ops ; .arch x64 ; je =>to),
                    Condition::NotEqual => dynasm!(ops ; .arch x64 ; jne =>to),
                    Condition::Less => dynasm!(ops ; .arch x64 ; jl =>to),
                    Condition::LessOrEqual => dynasm!(ops ; .arch x64 ; jle =>to),
                    Condition::Greater => dynasm!(ops ; .arch x64 ; jg =>to),
                    Condition::GreaterOrEqual => dynasm!(ops ; .arch x64 ; jge =>to),
                }
            }
            Scalar::Jump(label) => {
                let to = self.label(label);
                let ops = &mut self.ops;
                dynasm!(ops ; .arch x64 ; jmp =>to)
            }
            Scalar::Load(_, mem)
            | Scalar::Lea(_, mem)
            | Scalar::LoadByte(_, mem)
            | Scalar::LoadWord(_, mem)
            | Scalar::StoreByte(mem, _)
            | Scalar::StoreWord(mem, _) => return self.memory(scalar, mem),
        }
        Ok(())
    }

    /// The forms with a memory operand, which is either `[base + displacement]` or `[base + index + displacement]`.
    #[allow(clippy::useless_conversion)]
    fn memory(&mut self, scalar: &Scalar, mem: Mem) -> Result<(), EmitError> {
        let ops = &mut self.ops;
        let n = Gpr::number;
        let unsupported = || Err(EmitError::Scalar { scalar: format!("{scalar:?}") });
        match mem {
            Mem::Base { base, index: None, displacement: d } => {
                let b = n(base);
                match (*scalar, i8::try_from(d)) {
                    (Scalar::Load(a, _), Ok(d)) => dynasm!(ops ; .arch x64 ; mov Rq(n(a)), [BYTE Rq(b) + d]),
                    (Scalar::Load(a, _), Err(_)) => dynasm!(ops ; .arch x64 ; mov Rq(n(a)), [Rq(b) + d]),
                    (Scalar::Lea(a, _), Ok(d)) => dynasm!(ops ; .arch x64 ; lea Rq(n(a)), [BYTE Rq(b) + d]),
                    (Scalar::Lea(a, _), Err(_)) => dynasm!(ops ; .arch x64 ; lea Rq(n(a)), [Rq(b) + d]),
                    _ => return unsupported(),
                }
            }
            // rsp as an index means none.
            Mem::Base { base, index: Some(index), displacement: d }
                if index.shift == 0 && index.register != Gpr::RSP =>
            {
                let (b, i) = (n(base), n(index.register));
                match *scalar {
                    Scalar::Lea(a, _) if d == 0 => dynasm!(ops ; .arch x64 ; lea Rq(n(a)), [BYTE Rq(b) + Rq(i) + 0]),
                    Scalar::Lea(a, _) => dynasm!(ops ; .arch x64 ; lea Rq(n(a)), [Rq(b) + Rq(i) + d]),
                    Scalar::LoadByte(a, _) => dynasm!(ops ; .arch x64 ; movzx Rd(n(a)), BYTE [Rq(b) + Rq(i) + d]),
                    Scalar::LoadWord(a, _) => dynasm!(ops ; .arch x64 ; movzx Rd(n(a)), WORD [Rq(b) + Rq(i) + d]),
                    Scalar::StoreByte(_, a) => dynasm!(ops ; .arch x64 ; mov BYTE [Rq(b) + Rq(i) + d], Rb(n(a))),
                    Scalar::StoreWord(_, a) => dynasm!(ops ; .arch x64 ; mov WORD [Rq(b) + Rq(i) + d], Rw(n(a))),
                    _ => return unsupported(),
                }
            }
            Mem::Base { .. } | Mem::Pool { .. } => return unsupported(),
        }
        Ok(())
    }
}
