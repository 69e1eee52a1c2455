//! What the encoder oracles share: instructions drawn from a table row, and rows with one column changed.
//!
//! A row has *forms*: a width, and a ModRM.rm operand that is a register, memory, or a constant of the pool. A form has
//! *factors* (the register of each slot, base, index, scale, displacement, writemask, immediate) and each factor a
//! number of levels. A [`Cover`] says which combinations of levels are drawn.
#![allow(dead_code)] // each test program uses a part

pub(crate) mod assemble;
pub(crate) mod decode;
pub(crate) mod mutate;

use lanesmith_codegen::asm::inst::Masking;
use lanesmith_codegen::asm::table::{Class, Encoding, Field, MemRule, Row};
use lanesmith_codegen::asm::{AsmError, Gpr, Index, Inst, Mask, Mem, Operand, Vector, Width};

/// Every general-purpose register, by number.
pub(crate) const GPRS: [Gpr; 16] = [
    Gpr::RAX,
    Gpr::RCX,
    Gpr::RDX,
    Gpr::RBX,
    Gpr::RSP,
    Gpr::RBP,
    Gpr::RSI,
    Gpr::RDI,
    Gpr::R8,
    Gpr::R9,
    Gpr::R10,
    Gpr::R11,
    Gpr::R12,
    Gpr::R13,
    Gpr::R14,
    Gpr::R15,
];

/// Every register but `rsp`, which can be neither an index nor an operand.
fn usable_gpr(level: usize) -> Gpr {
    GPRS[if level < 4 { level } else { level + 1 }]
}

const IMMEDIATES: [u8; 8] = [0x96, 0x00, 0x01, 0x55, 0x7F, 0x80, 0xAA, 0xFF];
const POOL_OFFSETS: [u32; 6] = [0, 16, 64, 192, 4096, 1 << 20];

/// Which combinations of levels are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Every level of every factor at least once.
    Levels,
    /// Every pair of levels of two factors at least once.
    Pairs,
    /// The full product of registers, base, index, scale and displacement, while writemask and immediate rotate; then
    /// the full product of registers, writemask and immediate, while the address rotates.
    Product,
}

impl Cover {
    /// The cover that the environment asks for: the full product under `LANESMITH_EXHAUSTIVE=1`.
    pub(crate) fn from_environment(usual: Cover, exhaustive: Cover) -> Cover {
        if std::env::var_os("LANESMITH_EXHAUSTIVE").is_some_and(|v| v == "1") { exhaustive } else { usual }
    }
}

/// What ModRM.rm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rm {
    /// A register, or the row has no such operand.
    Register,
    /// An address made from registers.
    Memory,
    /// RIP-relative.
    Pool,
}

/// One thing that varies in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    Slot(usize),
    Base,
    Index,
    Shift,
    Displacement,
    PoolOffset,
    Masking,
}

/// A row at one width with one kind of ModRM.rm operand.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) row: &'static Row,
    pub(crate) width: Width,
    pub(crate) rm: Rm,
    factors: Vec<(Factor, usize)>,
    displacements: Vec<i32>,
}

/// The bytes of the row's memory operand.
pub(crate) fn memory_bytes(row: &Row, width: Width) -> u32 {
    row.mem_bytes.of(width)
}

/// Displacements at the edges of every way to encode one, for operands of `n` bytes.
fn displacements(n: i32) -> Vec<i32> {
    let mut all = vec![0, i32::MIN, i32::MIN + n, i32::MAX, i32::MAX - n + 1, 127 * n + 1, -128 * n - 1];
    for edge in [1, 8, 16, 64, 127, 128, 129, n, 126 * n, 127 * n, 128 * n, 129 * n] {
        all.extend([edge, -edge]);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The forms that `row` admits.
pub(crate) fn forms(row: &'static Row) -> Vec<Form> {
    let rm = row.slots.iter().position(|s| s.field == Field::Rm);
    let mut kinds = Vec::new();
    if rm.is_none() || row.memory != MemRule::MemoryOnly {
        kinds.push(Rm::Register);
    }
    if rm.is_some() && row.memory != MemRule::RegisterOnly {
        kinds.extend([Rm::Memory, Rm::Pool]);
    }
    let widths = Width::ALL.into_iter().filter(|w| row.widths.contains(*w));
    widths.flat_map(|width| kinds.iter().map(move |&rm| Form::new(row, width, rm))).collect()
}

impl Form {
    fn new(row: &'static Row, width: Width, rm: Rm) -> Form {
        let vectors = if row.encoding == Encoding::Evex { 32 } else { 16 };
        let displacements = displacements(memory_bytes(row, width) as i32);
        let mut factors = Vec::new();
        for (i, slot) in row.slots.iter().enumerate() {
            match (slot.field, rm) {
                (Field::Rm, Rm::Memory) => factors.extend([
                    (Factor::Base, GPRS.len()),
                    (Factor::Index, GPRS.len()),
                    (Factor::Shift, 4),
                    (Factor::Displacement, displacements.len()),
                ]),
                (Field::Rm, Rm::Pool) => factors.push((Factor::PoolOffset, POOL_OFFSETS.len())),
                _ => factors.push((
                    Factor::Slot(i),
                    match slot.class {
                        Class::Vector | Class::Half | Class::Xmm => vectors,
                        Class::Gpr32 | Class::Gpr64 => GPRS.len() - 1,
                        Class::Mask => 8,
                        Class::Imm8 => IMMEDIATES.len(),
                    },
                )),
            }
        }
        if row.element != 0 {
            factors.push((Factor::Masking, if row.zeroing { 15 } else { 8 }));
        }
        Form { row, width, rm, factors, displacements }
    }

    /// The instructions of this form that `cover` asks for.
    pub(crate) fn instances(&self, cover: Cover) -> impl Iterator<Item = Inst> {
        self.requests(cover).map(|r| match r.build(self.row) {
            Ok(inst) => inst,
            Err(error) => panic!("{error}: {r:?}"),
        })
    }

    /// Like [`Form::instances`], before a row has made an instruction of it.
    pub(crate) fn requests(&self, cover: Cover) -> impl Iterator<Item = Request> {
        self.blocks(cover).into_iter().flat_map(move |varied| {
            let count: usize = varied.iter().map(|&f| self.factors[f].1).product();
            (0..count).map(move |n| self.request(&varied, n))
        })
    }

    /// Sets of factors whose levels are combined in full while the others rotate.
    fn blocks(&self, cover: Cover) -> Vec<Vec<usize>> {
        let all = 0..self.factors.len();
        let mut blocks: Vec<Vec<usize>> = match cover {
            Cover::Levels => all.map(|f| vec![f]).collect(),
            Cover::Pairs if self.factors.len() < 2 => vec![all.collect()],
            Cover::Pairs => all.clone().flat_map(|a| all.clone().skip(a + 1).map(move |b| vec![a, b])).collect(),
            Cover::Product => {
                let address = |f: &usize| {
                    use Factor::{Base, Displacement, Index, PoolOffset, Shift};
                    matches!(self.factors[*f].0, Base | Index | Shift | Displacement | PoolOffset)
                };
                let own_byte = |f: &usize| match self.factors[*f].0 {
                    Factor::Masking => true,
                    Factor::Slot(i) => self.row.slots[i].class == Class::Imm8,
                    _ => false,
                };
                vec![all.clone().filter(|f| !own_byte(f)).collect(), all.filter(|f| !address(f)).collect()]
            }
        };
        blocks.dedup();
        if blocks.is_empty() {
            blocks.push(Vec::new());
        }
        blocks
    }

    fn request(&self, varied: &[usize], mut n: usize) -> Request {
        // The factors that are not varied take levels that look random, the same in every run.
        let mut state = n as u64;
        let mut levels = [0; 12];
        for (level, &(_, count)) in levels.iter_mut().zip(&self.factors) {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            *level = ((mixed ^ mixed >> 27) >> 16) as usize % count;
        }
        for &f in varied {
            levels[f] = n % self.factors[f].1;
            n /= self.factors[f].1;
        }
        self.at(&levels)
    }

    fn at(&self, levels: &[usize]) -> Request {
        let level = |wanted: Factor| self.factors.iter().position(|(f, _)| *f == wanted).map_or(0, |i| levels[i]);
        let operand = |(i, class): (usize, Class)| {
            let n = level(Factor::Slot(i));
            match class {
                Class::Vector | Class::Half | Class::Xmm => Vector::new(n as u8).unwrap().into(),
                Class::Gpr32 | Class::Gpr64 => usable_gpr(n).into(),
                Class::Mask => Mask::new(n as u8).unwrap().into(),
                Class::Imm8 => Operand::Imm(IMMEDIATES[n]),
            }
        };
        let slots = self.row.slots.iter().enumerate().map(|(i, s)| match (s.field, self.rm) {
            (Field::Rm, Rm::Pool) => Mem::Pool { offset: POOL_OFFSETS[level(Factor::PoolOffset)] }.into(),
            (Field::Rm, Rm::Memory) => {
                // Level 0 of the index is none.
                let register = level(Factor::Index).checked_sub(1).map(usable_gpr);
                let index = register.map(|register| Index { register, shift: level(Factor::Shift) as u8 });
                let displacement = self.displacements[level(Factor::Displacement)];
                Mem::Base { base: GPRS[level(Factor::Base)], index, displacement }.into()
            }
            _ => operand((i, s.class)),
        });
        // Level 0 is no mask, then k1 to k7, then the same with zeroing.
        let masking = match level(Factor::Masking) {
            0 => None,
            n => Some(Masking { mask: Mask::new((n - 1) as u8 % 7 + 1).unwrap(), zeroing: n > 7 }),
        };
        Request { width: self.width, operands: slots.collect(), masking }
    }
}

/// What an instruction is asked to be.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) width: Width,
    pub(crate) operands: Vec<Operand>,
    pub(crate) masking: Option<Masking>,
}

impl Request {
    /// The instruction of `row` that does it.
    pub(crate) fn build(&self, row: &'static Row) -> Result<Inst, AsmError> {
        Inst::masked(row, self.width, &self.operands, self.masking)
    }
}
