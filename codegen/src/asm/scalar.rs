//! Scalar instructions: a closed set, encoded by the run time's assembler library or by the compiler.

use super::mem::Mem;
use super::program::Label;
use super::reg::Gpr;

/// A condition of a branch; signed unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Condition {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Condition {
    /// The suffix of `j` and `set`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Condition::Equal => "e",
            Condition::NotEqual => "ne",
            Condition::Less => "l",
            Condition::LessOrEqual => "le",
            Condition::Greater => "g",
            Condition::GreaterOrEqual => "ge",
        }
    }
}

/// Operand size of a shift: its count is taken modulo this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Bits {
    B32,
    B64,
}

impl Bits {
    /// 32 or 64.
    pub const fn count(self) -> u32 {
        match self {
            Bits::B32 => 32,
            Bits::B64 => 64,
        }
    }
}

/// A scalar instruction. Registers are 64 bits wide unless the form says otherwise; the destination comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `mov r, r`
    Mov(Gpr, Gpr),
    /// `mov r, imm32` sign-extended.
    MovImm(Gpr, i32),
    /// `mov r, [m]`
    Load(Gpr, Mem),
    /// `add r, r`
    Add(Gpr, Gpr),
    /// `add r, imm`
    AddImm(Gpr, i32),
    /// `sub r, r`
    Sub(Gpr, Gpr),
    /// `neg r`
    Neg(Gpr),
    /// `and r, imm`
    AndImm(Gpr, i32),
    /// `xor r, imm`
    XorImm(Gpr, i32),
    /// `xor r32, r32` of a register with itself.
    Zero(Gpr),
    /// `cmp r, r`
    Cmp(Gpr, Gpr),
    /// `cmp r, imm`
    CmpImm(Gpr, i32),
    /// `test r, r` of a register with itself.
    Test(Gpr),
    /// `lea r, [m]`
    Lea(Gpr, Mem),
    /// `shlx r, r, r`: destination, source, count.
    Shlx(Bits, Gpr, Gpr, Gpr),
    /// `shrx r, r, r`: destination, source, count.
    Shrx(Bits, Gpr, Gpr, Gpr),
    /// `movzx r32, byte [m]`
    LoadByte(Gpr, Mem),
    /// `movzx r32, word [m]`
    LoadWord(Gpr, Mem),
    /// `mov byte [m], r8`
    StoreByte(Mem, Gpr),
    /// `mov word [m], r16`
    StoreWord(Mem, Gpr),
    /// `setcc r8`
    Set(Condition, Gpr),
    /// `push r`
    Push(Gpr),
    /// `pop r`
    Pop(Gpr),
    /// `jcc label`
    Branch(Condition, Label),
    /// `jmp label`
    Jump(Label),
    /// `ret`
    Ret,
    /// `endbr64`
    Endbr64,
    /// `sfence`
    Sfence,
}

impl Scalar {
    /// The memory operand and whether it is written.
    pub const fn memory(&self) -> Option<(Mem, bool)> {
        match *self {
            Scalar::Load(_, m) | Scalar::LoadByte(_, m) | Scalar::LoadWord(_, m) => Some((m, false)),
            Scalar::StoreByte(m, _) | Scalar::StoreWord(m, _) => Some((m, true)),
            _ => None,
        }
    }

    /// The register it writes, if any (`rsp` apart).
    pub const fn written(&self) -> Option<Gpr> {
        match *self {
            Scalar::Mov(r, _)
            | Scalar::MovImm(r, _)
            | Scalar::Load(r, _)
            | Scalar::Add(r, _)
            | Scalar::AddImm(r, _)
            | Scalar::Sub(r, _)
            | Scalar::Neg(r)
            | Scalar::AndImm(r, _)
            | Scalar::XorImm(r, _)
            | Scalar::Zero(r)
            | Scalar::Lea(r, _)
            | Scalar::Shlx(_, r, _, _)
            | Scalar::Shrx(_, r, _, _)
            | Scalar::LoadByte(r, _)
            | Scalar::LoadWord(r, _)
            | Scalar::Set(_, r)
            | Scalar::Pop(r) => Some(r),
            _ => None,
        }
    }

    /// Whether it only steers the loop: counts, compares or branches.
    pub const fn is_control(&self) -> bool {
        matches!(
            self,
            Scalar::Add(..)
                | Scalar::AddImm(..)
                | Scalar::Sub(..)
                | Scalar::Cmp(..)
                | Scalar::CmpImm(..)
                | Scalar::Test(..)
                | Scalar::Lea(..)
                | Scalar::Branch(..)
                | Scalar::Jump(..)
        )
    }
}
