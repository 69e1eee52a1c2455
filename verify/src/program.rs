//! From bytes to instructions that the machine can execute: decoded once, run as often as needed.

use iced_x86::{Decoder, DecoderOptions, EncodingKind, Formatter, Instruction, IntelFormatter, OpKind, Register};

use crate::table::{self, Op};

/// Machine code as a compiler of kernels hands it over.
///
/// ```text
/// bytes: [ code: 0 .. code_len ][ padding ][ constants: pool_at .. ]
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code<'a> {
    /// Code, then constants.
    pub bytes: &'a [u8],
    /// Where the code ends. What lies after it is not executable.
    pub code_len: usize,
    /// Where the constants begin; `bytes.len()` when there are none. Only they may be read as data.
    pub pool_at: usize,
}

impl<'a> Code<'a> {
    /// Code without constants.
    pub const fn new(bytes: &'a [u8]) -> Code<'a> {
        Code { bytes, code_len: bytes.len(), pool_at: bytes.len() }
    }
}

/// An operand, as far as it does not depend on the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    None,
    /// The low `size` bytes of a general-purpose register.
    Gpr {
        index: u8,
        size: u32,
    },
    /// The low `width` bytes of a vector register.
    Vec {
        index: u8,
        width: u32,
    },
    Mask(u8),
    /// A constant, sign-extended to 64 bits where the instruction does so.
    Imm(u64),
    /// The memory operand, [`Decoded::memory`].
    Memory,
}

/// The memory operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryOperand {
    pub(crate) base: Option<u8>,
    pub(crate) index: Option<u8>,
    pub(crate) scale: u32,
    /// The displacement; for a RIP-relative operand the whole address.
    pub(crate) disp: u64,
    /// Bytes of the access; of one element for a broadcast.
    pub(crate) size: u32,
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    /// `None`: valid, but not supported.
    pub(crate) op: Option<Op>,
    pub(crate) operands: [Operand; 4],
    pub(crate) memory: MemoryOperand,
    /// The opmask register of an EVEX instruction, k0 being none.
    pub(crate) mask: Option<u8>,
    pub(crate) zeroing: bool,
    pub(crate) broadcast: bool,
    /// Legacy encoding: two operands, upper bits unchanged, 16-byte memory operands aligned.
    pub(crate) legacy: bool,
    /// Offset of the next instruction.
    pub(crate) next: i64,
    /// Offset that a branch goes to.
    pub(crate) target: i64,
    pub(crate) insn: Instruction,
}

/// Decoded machine code.
#[derive(Clone, Debug)]
pub struct Program {
    base: u64,
    code_len: usize,
    pool_at: usize,
    bytes: Vec<u8>,
    decoded: Vec<Decoded>,
    /// For each offset the position in `decoded`, where an instruction begins that execution can reach.
    starts: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;

impl Program {
    /// The address of the first byte of code. Regions must keep away from the code.
    pub const BASE: u64 = 0x5555_0000_0000;

    /// Decodes what execution can reach from offset 0. Bytes that are no instruction, or one that is not supported, are
    /// found when they are executed.
    ///
    /// # Panics
    ///
    /// If `code_len` or `pool_at` is beyond the bytes.
    pub fn decode(code: Code<'_>) -> Program {
        Program::decode_at(Program::BASE, code)
    }

    /// The same, for code that begins at another address.
    pub(crate) fn decode_at(base: u64, code: Code<'_>) -> Program {
        assert!(code.code_len <= code.bytes.len() && code.pool_at <= code.bytes.len(), "{code:?}");
        let mut program = Program {
            base,
            code_len: code.code_len,
            pool_at: code.pool_at,
            bytes: code.bytes.to_vec(),
            decoded: Vec::new(),
            starts: vec![UNREACHED; code.code_len],
        };
        let mut todo = vec![0];
        while let Some(offset) = todo.pop() {
            if program.at(offset).is_some() || !(0..code.code_len as i64).contains(&offset) {
                continue;
            }
            let decoded = program.decode_one(offset as usize);
            program.starts[offset as usize] = program.decoded.len() as u32;
            match decoded.op {
                None | Some(Op::Return) => {}
                Some(Op::Jump) => todo.push(decoded.target),
                Some(Op::JumpCond(_)) => todo.extend([decoded.next, decoded.target]),
                Some(_) => todo.push(decoded.next),
            }
            program.decoded.push(decoded);
        }
        program
    }

    /// The address of the code's first byte.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The constants and their address.
    pub fn pool(&self) -> (u64, &[u8]) {
        (self.base + self.pool_at as u64, &self.bytes[self.pool_at..])
    }

    /// The instruction that begins at an offset.
    pub(crate) fn at(&self, offset: i64) -> Option<&Decoded> {
        let start = *self.starts.get(usize::try_from(offset).ok()?)?;
        self.decoded.get(start as usize)
    }

    fn decode_one(&self, offset: usize) -> Decoded {
        let ip = self.base + offset as u64;
        let insn = Decoder::with_ip(64, &self.bytes[offset..self.code_len], ip, DecoderOptions::NONE).decode();
        let memory = MemoryOperand {
            base: gpr64(insn.memory_base()),
            index: gpr64(insn.memory_index()),
            scale: insn.memory_index_scale(),
            disp: insn.memory_displacement64(),
            size: insn.memory_size().size() as u32,
        };
        let operands = operands(&insn);
        Decoded {
            op: operands.and_then(|_| table::row(&insn)),
            operands: operands.unwrap_or([Operand::None; 4]),
            memory,
            mask: (insn.op_mask() != Register::None).then(|| insn.op_mask().number() as u8),
            zeroing: insn.zeroing_masking(),
            broadcast: insn.is_broadcast(),
            legacy: insn.encoding() == EncodingKind::Legacy,
            next: (offset + insn.len()) as i64,
            target: insn.near_branch_target().wrapping_sub(self.base) as i64,
            insn,
        }
    }
}

/// The instruction in Intel syntax; branches go to offsets from the base.
pub(crate) fn text(insn: &Instruction, base: u64) -> String {
    let mut insn = *insn;
    if insn.op0_kind() == OpKind::NearBranch64 {
        insn.set_near_branch64(insn.near_branch64().wrapping_sub(base));
    }
    let mut out = String::new();
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_rip_relative_addresses(true);
    options.set_branch_leading_zeros(false);
    formatter.format(&insn, &mut out);
    out
}

fn gpr64(register: Register) -> Option<u8> {
    register.is_gpr64().then(|| register.number() as u8)
}

/// The operands, or `None` if one of them, or a prefix, is outside the model: segments, control, MMX and high-byte
/// registers (ah …), 32-bit addresses, gathers, `lock` and `rep`.
fn operands(insn: &Instruction) -> Option<[Operand; 4]> {
    let prefixed = insn.has_lock_prefix() || insn.has_rep_prefix() || insn.has_repne_prefix();
    if insn.is_invalid() || prefixed || insn.has_segment_prefix() || insn.op_count() > 4 {
        return None;
    }
    let mut operands = [Operand::None; 4];
    for i in 0..insn.op_count() {
        operands[i as usize] = match insn.op_kind(i) {
            OpKind::Register => register(insn.op_register(i))?,
            OpKind::Memory => memory(insn)?,
            OpKind::NearBranch64 => Operand::None,
            kind if is_immediate(kind) => Operand::Imm(insn.immediate(i)),
            _ => return None,
        };
    }
    Some(operands)
}

fn register(register: Register) -> Option<Operand> {
    let index = register.number() as u8;
    let size = register.size() as u32;
    let high_byte = matches!(register, Register::AH | Register::CH | Register::DH | Register::BH);
    if register.is_gpr() && !high_byte {
        // iced numbers the byte registers as they are encoded with a legacy prefix; the full register has the number.
        Some(Operand::Gpr { index: register.full_register().number() as u8, size })
    } else if register.is_vector_register() {
        Some(Operand::Vec { index, width: size })
    } else if register.is_k() {
        Some(Operand::Mask(index))
    } else {
        None
    }
}

fn memory(insn: &Instruction) -> Option<Operand> {
    let base = insn.memory_base();
    let index = insn.memory_index();
    let base_ok = matches!(base, Register::None | Register::RIP) || base.is_gpr64();
    let index_ok = index == Register::None || index.is_gpr64();
    // A displacement alone may be 32 bits wide under an address-size prefix.
    let bare = base == Register::None && index == Register::None && insn.memory_displ_size() == 4;
    (base_ok && index_ok && !bare).then_some(Operand::Memory)
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}
