//! Physical registers.

use core::fmt;

/// A general-purpose register, by its hardware number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gpr(u8);

const NAMES_64: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
const NAMES_32: [&str; 16] = [
    "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d",
    "r15d",
];
const NAMES_16: [&str; 16] =
    ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"];
const NAMES_8: [&str; 16] =
    ["al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"];

#[allow(missing_docs)] // the registers' own names
impl Gpr {
    pub const RAX: Gpr = Gpr(0);
    pub const RCX: Gpr = Gpr(1);
    pub const RDX: Gpr = Gpr(2);
    pub const RBX: Gpr = Gpr(3);
    pub const RSP: Gpr = Gpr(4);
    pub const RBP: Gpr = Gpr(5);
    pub const RSI: Gpr = Gpr(6);
    pub const RDI: Gpr = Gpr(7);
    pub const R8: Gpr = Gpr(8);
    pub const R9: Gpr = Gpr(9);
    pub const R10: Gpr = Gpr(10);
    pub const R11: Gpr = Gpr(11);
    pub const R12: Gpr = Gpr(12);
    pub const R13: Gpr = Gpr(13);
    pub const R14: Gpr = Gpr(14);
    pub const R15: Gpr = Gpr(15);
}

impl Gpr {
    /// The hardware number, 0..=15.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The name of the register's low `bits` (64, 32, 16 or 8).
    pub const fn name(self, bits: u32) -> &'static str {
        let names = match bits {
            8 => &NAMES_8,
            16 => &NAMES_16,
            32 => &NAMES_32,
            _ => &NAMES_64,
        };
        names[self.0 as usize]
    }

    /// Whether the System V ABI makes the callee preserve it.
    pub const fn is_callee_saved(self) -> bool {
        matches!(self.0, 3 | 5 | 12..=15)
    }
}

impl fmt::Debug for Gpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name(64))
    }
}

/// A vector register 0..=31; how much of it an instruction uses is the instruction's [`Width`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vector(u8);

impl Vector {
    /// Vector register `number`, 0..=31.
    pub const fn new(number: u8) -> Option<Vector> {
        if number < 32 { Some(Vector(number)) } else { None }
    }

    /// The hardware number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// An opmask register k0..=k7. As a writemask k0 means "no mask", so only k1..=k7 mask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mask(u8);

impl Mask {
    /// Not usable as a writemask; usable as the result of a test.
    pub const K0: Mask = Mask(0);
    /// The first register usable as a writemask.
    pub const K1: Mask = Mask(1);
    /// The second register usable as a writemask.
    pub const K2: Mask = Mask(2);

    /// Opmask register `number`, 0..=7.
    pub const fn new(number: u8) -> Option<Mask> {
        if number < 8 { Some(Mask(number)) } else { None }
    }

    /// The hardware number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k{}", self.0)
    }
}

/// The width of a vector operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 128 bits: xmm.
    W128,
    /// 256 bits: ymm.
    W256,
    /// 512 bits: zmm.
    W512,
}

impl Width {
    /// Every width.
    pub const ALL: [Width; 3] = [Width::W128, Width::W256, Width::W512];

    /// The width in bytes.
    pub const fn bytes(self) -> u32 {
        16 << self as u32
    }

    /// The width of `bytes` (16, 32 or 64).
    pub const fn of_bytes(bytes: u32) -> Option<Width> {
        match bytes {
            16 => Some(Width::W128),
            32 => Some(Width::W256),
            64 => Some(Width::W512),
            _ => None,
        }
    }

    /// Half of it; 128 bits stay, for no register is narrower.
    pub const fn half(self) -> Width {
        match self {
            Width::W128 | Width::W256 => Width::W128,
            Width::W512 => Width::W256,
        }
    }

    /// The register name's first letter: `x`, `y` or `z`.
    pub const fn letter(self) -> char {
        ['x', 'y', 'z'][self as usize]
    }
}
