//! What a value domain supplies: the values that registers hold and the primitive operations on them.
//!
//! The machine decides which primitive an instruction is made of, which registers and flags it reads and writes, and how
//! upper bits and masks behave. The domain decides what a value *is*: [`Concrete`](crate::Concrete) has bytes; a symbolic
//! domain may have formulas and answer [`FaultKind::Unmodelled`] to whatever it cannot express.
//!
//! Conventions. A size is in bytes. An integer is 64 bits wide; an operation of size `n` reads the low `n` bytes of its
//! operands and returns a result that is zero above them. A vector is 64 bytes wide; an operation of width `n` likewise
//! reads the low `n` bytes and returns zero above them. Opmasks are integers.

use crate::fault::FaultKind;

/// The result of a primitive: a value, or why there is none. The machine adds which instruction it was.
pub type Outcome<T> = Result<T, FaultKind>;

/// An operation on two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntOp {
    /// `a + b`.
    Add,
    /// `a − b`.
    Sub,
    /// `a & b`.
    And,
    /// `a | b`.
    Or,
    /// `a ^ b`.
    Xor,
    /// `!a & b`.
    Andn,
    /// `a << b`, the count taken modulo 64 (size 8) or 32. CF is the last bit shifted out. A count of zero never asks for
    /// flags.
    Shl,
    /// `a >> b` with zeros shifted in; count and CF as in `Shl`.
    Shr,
    /// `a >> b` with the sign shifted in; count and CF as in `Shl`.
    Sar,
    /// `a` with the bits from position `b & 255` on cleared. CF says that the position is beyond the operand.
    Bzhi,
    /// `a` with its lowest set bit cleared, `b` is not used. CF says that `a` is zero.
    Blsr,
}

/// How the bits of an element move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shift {
    /// Towards the low end, zeros shifted in.
    Right,
    /// Towards the high end, zeros shifted in.
    Left,
    /// Towards the high end, bits that leave come in at the low end.
    RotateLeft,
}

/// An operation on whole vectors: `args` are its operands in the order of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VecOp {
    /// `a ^ b`.
    Xor,
    /// `a & b`.
    And,
    /// `a | b`.
    Or,
    /// `!a & b`.
    Andn,
    /// Each element (of so many bytes) all ones where `a` equals `b`, else zero.
    CmpEq(u32),
    /// Three operands; result bit = bit `4a + 2b + c` of the immediate.
    Ternary(u8),
    /// Within each 16-byte lane, bytes move towards the low end by so many places (16 or more: the lane becomes zero).
    BytesRight(u8),
    /// Within each 16-byte lane, bytes move towards the high end by so many places (16 or more: the lane becomes zero).
    BytesLeft(u8),
    /// Sum of elements of so many bytes, modulo their size.
    Add(u32),
    /// Each element of so many bytes shifted by so many bits. A shift by all bits or more leaves zero; a rotation takes
    /// its count modulo them.
    ShiftBits {
        /// Where to.
        shift: Shift,
        /// Bytes of an element.
        element: u32,
        /// Bits.
        count: u8,
    },
    /// Within each 16-byte lane, byte `i` becomes the byte of `a` that the low four bits of byte `i` of `b` name, or zero
    /// where that byte's top bit is set.
    ShuffleBytes,
    /// Within each 16-byte lane, the four 16-bit elements of one half, each chosen from that half by two bits.
    ShuffleWords {
        /// The high half; otherwise the low one.
        high: bool,
        /// The choices, the lowest element's in the lowest bits.
        order: u8,
    },
    /// Within each 16-byte lane, elements of so many bytes of one half of `a` and `b`, alternating.
    Interleave {
        /// Bytes of an element.
        element: u32,
        /// The high halves; otherwise the low ones.
        high: bool,
    },
    /// Elements of so many bytes from the low half, each extended by as many zero bytes.
    ZeroExtend(u32),
}

/// What is asked of each element of a vector, for one bit of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// The element is zero.
    Zero,
    /// The element is not zero.
    NonZero,
    /// The element's top bit is set.
    Sign,
}

/// A connective of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoolOp {
    /// Both.
    And,
    /// Either.
    Or,
    /// One of them and not the other.
    Xor,
}

/// The five modelled status flags. AF is not modelled: no supported instruction reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags<B> {
    /// Carry.
    pub cf: B,
    /// Parity of the low byte.
    pub pf: B,
    /// Zero.
    pub zf: B,
    /// Sign.
    pub sf: B,
    /// Overflow.
    pub of: B,
}

/// One access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes from the address on.
    pub bytes: u32,
    /// The alignment that hardware demands of the address; 1 where it demands none. It is demanded whatever the opmask
    /// selects (some CPUs are lenient when it selects nothing).
    pub align: u32,
}

/// Which elements of an access take part: bit `i` of `bits` stands for bytes `i·size .. (i+1)·size`. The other bytes are
/// not accessed: they neither fault nor count, and a load yields zero for them.
#[derive(Debug)]
pub struct Lanes<'a, I> {
    /// The opmask.
    pub bits: &'a I,
    /// Bytes of one element.
    pub size: u32,
}

impl<I> Clone for Lanes<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Lanes<'_, I> {}

/// A value domain. See the [module](self) for the conventions.
pub trait Domain {
    /// A 64-bit integer: a general-purpose register, an opmask, an address.
    type Int: Clone;
    /// A 64-byte vector.
    type Vec: Clone;
    /// A condition: a flag.
    type Bool: Clone;

    /// An integer constant.
    fn int(&mut self, value: u64) -> Self::Int;
    /// The integer's value, where it has only one.
    fn known(&self, value: &Self::Int) -> Option<u64>;
    /// Whether two integers are certainly equal.
    fn same(&self, a: &Self::Int, b: &Self::Int) -> bool;
    /// The result of an operation. Flags are the ones that the operation defines; what an instruction leaves unchanged or
    /// undefined is the machine's business.
    fn int_op(&mut self, op: IntOp, size: u32, a: &Self::Int, b: &Self::Int)
    -> Outcome<(Self::Int, Flags<Self::Bool>)>;
    /// The low `size` bytes, zero above.
    fn int_low(&mut self, size: u32, value: &Self::Int) -> Outcome<Self::Int>;
    /// The low `size` bytes of `new`, the bytes of `old` above.
    fn int_insert(&mut self, size: u32, old: &Self::Int, new: &Self::Int) -> Outcome<Self::Int>;
    /// `base + index·scale + displacement`, modulo 2⁶⁴.
    fn address(&mut self, base: Option<&Self::Int>, index: Option<(&Self::Int, u32)>, disp: u64) -> Outcome<Self::Int>;

    /// A constant condition.
    fn bool(&mut self, value: bool) -> Self::Bool;
    /// A connective.
    fn bool_op(&mut self, op: BoolOp, a: &Self::Bool, b: &Self::Bool) -> Outcome<Self::Bool>;
    /// The opposite.
    fn bool_not(&mut self, a: &Self::Bool) -> Outcome<Self::Bool>;
    /// `yes` or `no`.
    fn select(&mut self, condition: &Self::Bool, yes: &Self::Int, no: &Self::Int) -> Outcome<Self::Int>;
    /// Whether a branch is taken.
    fn decide(&mut self, condition: &Self::Bool) -> Outcome<bool>;

    /// A vector constant.
    fn vec(&mut self, bytes: &[u8; 64]) -> Self::Vec;
    /// The result of an operation.
    fn vec_op(&mut self, op: VecOp, width: u32, args: &[&Self::Vec]) -> Outcome<Self::Vec>;
    /// The low `width` bytes, zero above.
    fn vec_low(&mut self, width: u32, value: &Self::Vec) -> Outcome<Self::Vec>;
    /// The low `width` bytes of `new`, the bytes of `old` above.
    fn vec_insert(&mut self, width: u32, old: &Self::Vec, new: &Self::Vec) -> Outcome<Self::Vec>;
    /// Elements of `new` where the lane takes part, of `old` elsewhere; zero above `width`.
    fn blend(
        &mut self,
        width: u32,
        lanes: Lanes<'_, Self::Int>,
        new: &Self::Vec,
        old: &Self::Vec,
    ) -> Outcome<Self::Vec>;
    /// The low `size` bytes of an integer in every element of `size` bytes.
    fn broadcast(&mut self, width: u32, size: u32, value: &Self::Int) -> Outcome<Self::Vec>;
    /// An integer's low `size` bytes as a vector, zero above.
    fn int_to_vec(&mut self, size: u32, value: &Self::Int) -> Outcome<Self::Vec>;
    /// A vector's low `size` bytes (at most 8) as an integer.
    fn vec_to_int(&mut self, size: u32, value: &Self::Vec) -> Outcome<Self::Int>;
    /// One bit per element of `size` bytes.
    fn vec_bits(&mut self, test: Test, width: u32, size: u32, value: &Self::Vec) -> Outcome<Self::Int>;
    /// Whether all `width` bytes are zero.
    fn vec_is_zero(&mut self, width: u32, value: &Self::Vec) -> Outcome<Self::Bool>;

    /// Reads an integer of `span.bytes`.
    fn load_int(&mut self, at: &Self::Int, span: Span) -> Outcome<Self::Int>;
    /// Writes the low `span.bytes` of an integer.
    fn store_int(&mut self, at: &Self::Int, span: Span, value: &Self::Int) -> Outcome<()>;
    /// Reads a vector of `span.bytes`, zero above and in lanes that do not take part.
    fn load_vec(&mut self, at: &Self::Int, span: Span, lanes: Option<Lanes<'_, Self::Int>>) -> Outcome<Self::Vec>;
    /// Writes the low `span.bytes` of a vector, but for lanes that do not take part.
    fn store_vec(
        &mut self,
        at: &Self::Int,
        span: Span,
        lanes: Option<Lanes<'_, Self::Int>>,
        value: &Self::Vec,
    ) -> Outcome<()>;
    /// The stack pointer is about to become `rsp`. From then on the stack below it is not accessible.
    fn stack_moved(&mut self, rsp: &Self::Int) -> Outcome<()>;
}
