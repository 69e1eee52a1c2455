//! The layer between a lowering and the table: one meaning, one method, whatever the instruction set.
//!
//! It hides the two-operand form of SSE and its faulting unaligned memory operands, VEX against EVEX, and the way a
//! partial vector is reached. Memory operands carry their known alignment, accesses carry a [`Part`].

mod elements;

use super::builder::{AsmError, Builder};
use super::inst::{Masking, Operand};
use super::mem::Mem;
use super::reg::{Gpr, Mask, Vector, Width};
use super::scalar::{Bits, Condition, Scalar};
use super::table::{self, Row};
use crate::plan::Part;
use crate::target::{Isa, Target};
pub use elements::Source;

/// One meaning in the three encodings.
struct Triple {
    legacy: &'static Row,
    vex: &'static Row,
    evex: &'static Row,
}

impl Triple {
    const fn new(legacy: &'static Row, vex: &'static Row, evex: &'static Row) -> Triple {
        Triple { legacy, vex, evex }
    }

    fn row(&self, isa: Isa) -> &'static Row {
        match isa {
            Isa::Legacy => self.legacy,
            Isa::Vex => self.vex,
            Isa::Evex => self.evex,
        }
    }
}

use table::*;
static LOAD_ALIGNED: Triple = Triple::new(&MOVDQA_LOAD, &VMOVDQA_LOAD, &VMOVDQA64_LOAD);
static LOAD_UNALIGNED: Triple = Triple::new(&MOVDQU_LOAD, &VMOVDQU_LOAD, &VMOVDQU64_LOAD);
static STORE_ALIGNED: Triple = Triple::new(&MOVDQA_STORE, &VMOVDQA_STORE, &VMOVDQA64_STORE);
static STORE_UNALIGNED: Triple = Triple::new(&MOVDQU_STORE, &VMOVDQU_STORE, &VMOVDQU64_STORE);
static STORE_NON_TEMPORAL: Triple = Triple::new(&MOVNTDQ, &VMOVNTDQ, &VMOVNTDQ_EVEX);
static XOR: Triple = Triple::new(&PXOR, &VPXOR, &VPXORQ);
static OR: Triple = Triple::new(&POR, &VPOR, &VPORQ);
static LOAD_8: Triple = Triple::new(&MOVQ_LOAD, &VMOVQ_LOAD, &VMOVQ_LOAD);
static STORE_8: Triple = Triple::new(&MOVQ_STORE, &VMOVQ_STORE, &VMOVQ_STORE);
static LOAD_4: Triple = Triple::new(&MOVD_LOAD, &VMOVD_LOAD, &VMOVD_LOAD);
static STORE_4: Triple = Triple::new(&MOVD_STORE, &VMOVD_STORE, &VMOVD_STORE);
static FROM_GPR: Triple = Triple::new(&MOVQ_FROM_GPR, &VMOVQ_FROM_GPR, &VMOVQ_FROM_GPR_EVEX);
static TO_GPR: Triple = Triple::new(&MOVQ_TO_GPR, &VMOVQ_TO_GPR, &VMOVQ_TO_GPR_EVEX);

/// The truth table of a three-input XOR.
const XOR3: u8 = 0x96;

/// A memory operand and the alignment it is known to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The operand.
    pub mem: Mem,
    /// A power of two.
    pub aligned: u32,
}

/// Emits operations for one target.
#[derive(Debug)]
pub struct Ops {
    /// The program under construction.
    pub b: Builder,
    isa: Isa,
    width: Width,
    vector_bytes: u32,
    folds_unaligned: bool,
    ternary: bool,
    scratch: Option<Vector>,
    byte_temp: Option<Gpr>,
}

impl Ops {
    /// Operations for `target`. `scratch` is clobbered where an operand cannot be folded, `byte_temp` by parts of
    /// one or two bytes.
    pub fn new(target: &'static Target, scratch: Option<Vector>, byte_temp: Option<Gpr>) -> Ops {
        Ops {
            b: Builder::new(target),
            isa: target.isa,
            width: Width::of_bytes(target.vector_bytes).unwrap_or(Width::W128),
            vector_bytes: target.vector_bytes,
            folds_unaligned: target.folds_unaligned,
            ternary: target.ternary,
            scratch,
            byte_temp,
        }
    }

    fn no_form(&mut self, what: &'static str) {
        let target = self.b.target().name;
        self.b.fail(AsmError::NoForm { what, target });
    }

    fn emit(&mut self, triple: &Triple, width: Width, operands: &[Operand]) {
        self.b.vector(triple.row(self.isa), width, operands, None);
    }

    /// The width at which a part of a vector is computed.
    fn part_width(&self, part: Part) -> Width {
        match part {
            Part::Full | Part::Masked(_) => self.width,
            Part::Bytes(_) => Width::W128,
        }
    }

    /// `dst = at`; bytes outside the part become zero.
    pub fn load(&mut self, dst: Vector, at: At, part: Part) {
        let operands = [dst.into(), at.mem.into()];
        match part {
            Part::Full | Part::Bytes(16) => {
                let width = self.part_width(part);
                let triple = if at.aligned >= width.bytes() { &LOAD_ALIGNED } else { &LOAD_UNALIGNED };
                self.emit(triple, width, &operands);
            }
            Part::Masked(mask) => {
                let masking = Some(Masking { mask, zeroing: true });
                self.b.vector(&VMOVDQU8_LOAD, self.width, &operands, masking);
            }
            Part::Bytes(8) => self.emit(&LOAD_8, Width::W128, &operands),
            Part::Bytes(4) => self.emit(&LOAD_4, Width::W128, &operands),
            Part::Bytes(n) => {
                let Some(temp) = self.byte_temp else { return self.no_form("1 or 2 bytes without a register") };
                self.b.scalar(if n == 2 { Scalar::LoadWord(temp, at.mem) } else { Scalar::LoadByte(temp, at.mem) });
                self.emit(&LOAD_4, Width::W128, &[dst.into(), temp.into()]);
            }
        }
    }

    /// `at = src`, only the bytes of the part.
    pub fn store(&mut self, at: At, src: Vector, part: Part, non_temporal: bool) {
        let operands = [at.mem.into(), src.into()];
        match part {
            Part::Full | Part::Bytes(16) => {
                let width = self.part_width(part);
                let triple = match at.aligned >= width.bytes() {
                    true if non_temporal => &STORE_NON_TEMPORAL,
                    true => &STORE_ALIGNED,
                    false => &STORE_UNALIGNED,
                };
                self.emit(triple, width, &operands);
            }
            Part::Masked(mask) => {
                let masking = Some(Masking { mask, zeroing: false });
                self.b.vector(&VMOVDQU8_STORE, self.width, &operands, masking);
            }
            Part::Bytes(8) => self.emit(&STORE_8, Width::W128, &operands),
            Part::Bytes(4) => self.emit(&STORE_4, Width::W128, &operands),
            Part::Bytes(n) => {
                let Some(temp) = self.byte_temp else { return self.no_form("1 or 2 bytes without a register") };
                self.emit(&STORE_4, Width::W128, &[temp.into(), src.into()]);
                self.b.scalar(if n == 2 { Scalar::StoreWord(at.mem, temp) } else { Scalar::StoreByte(at.mem, temp) });
            }
        }
    }

    /// The operand itself where the target can fold it, otherwise loaded into the scratch register.
    fn foldable(&mut self, at: At, part: Part) -> Operand {
        let width = self.part_width(part);
        let whole = matches!(part, Part::Full | Part::Bytes(16));
        if whole && (self.folds_unaligned || at.aligned >= width.bytes()) {
            return at.mem.into();
        }
        let Some(scratch) = self.scratch else {
            self.no_form("an operand that cannot be folded, without a scratch register");
            return at.mem.into();
        };
        self.load(scratch, at, part);
        scratch.into()
    }

    fn two_sources(&mut self, triple: &Triple, width: Width, acc: Vector, source: Operand) {
        match self.isa {
            Isa::Legacy => self.emit(triple, width, &[acc.into(), source]),
            Isa::Vex | Isa::Evex => self.emit(triple, width, &[acc.into(), acc.into(), source]),
        }
    }

    /// `acc ^= at`
    pub fn xor(&mut self, acc: Vector, at: At, part: Part) {
        let width = self.part_width(part);
        let source = self.foldable(at, part);
        self.two_sources(&XOR, width, acc, source);
    }

    /// `acc ^= other ^ at`
    pub fn xor3(&mut self, acc: Vector, other: Vector, at: At, part: Part) {
        if !self.ternary {
            return self.no_form("a three-input XOR");
        }
        let width = self.part_width(part);
        let source = self.foldable(at, part);
        self.b.vector(&VPTERNLOGQ, width, &[acc.into(), other.into(), source, Operand::Imm(XOR3)], None);
    }

    /// `acc |= other`, whole registers.
    pub fn or(&mut self, acc: Vector, other: Vector) {
        self.two_sources(&OR, self.width, acc, other.into());
    }

    /// `dst = 0`
    pub fn zero(&mut self, dst: Vector) {
        self.two_sources(&XOR, self.width, dst, dst.into());
    }

    /// `rax` = 0 if no bit of `v` is set, otherwise not 0. Clobbers `v` and the scratch register.
    pub fn any_bit(&mut self, v: Vector) {
        let rax = Gpr::RAX;
        match self.isa {
            Isa::Legacy => {
                let Some(scratch) = self.scratch else { return self.no_form("a zero test without scratch") };
                self.zero(scratch);
                self.b.vector(&PCMPEQB, Width::W128, &[v.into(), scratch.into()], None);
                self.b.vector(&PMOVMSKB, Width::W128, &[rax.into(), v.into()], None);
                self.b.scalar(Scalar::XorImm(rax, 0xFFFF));
            }
            Isa::Vex => {
                self.b.scalar(Scalar::Zero(rax));
                self.b.vector(&VPTEST, self.width, &[v.into(), v.into()], None);
                self.b.scalar(Scalar::Set(Condition::NotEqual, rax));
            }
            Isa::Evex => {
                self.b.vector(&VPTESTMQ, self.width, &[Mask::K0.into(), v.into(), v.into()], None);
                self.b.vector(&KMOVW_TO_GPR, Width::W128, &[rax.into(), Mask::K0.into()], None);
            }
        }
    }

    /// `mask` = the first `r` bytes of a vector, where `count ≡ -r` modulo the vector's bytes and 0 < r. Clobbers
    /// `temp`.
    pub fn mask_first(&mut self, mask: Mask, temp: Gpr, count: Gpr) {
        // All ones shifted right by (bytes - r); the shift takes its count modulo 32 or 64 by itself.
        self.mask_of(mask, temp, |bits| Scalar::Shrx(bits, temp, temp, count));
    }

    /// `mask` = all bytes of a vector from the `count`-th (modulo the vector's bytes) on. Clobbers `temp`.
    pub fn mask_from(&mut self, mask: Mask, temp: Gpr, count: Gpr) {
        self.mask_of(mask, temp, |bits| Scalar::Shlx(bits, temp, temp, count));
    }

    fn mask_of(&mut self, mask: Mask, temp: Gpr, shift: impl FnOnce(Bits) -> Scalar) {
        let (bits, row) = match self.vector_bytes {
            32 => (Bits::B32, &KMOVD_FROM_GPR),
            64 => (Bits::B64, &KMOVQ_FROM_GPR),
            _ => return self.no_form("a byte mask"),
        };
        self.b.scalar(Scalar::MovImm(temp, -1));
        self.b.scalar(shift(bits));
        self.b.vector(row, Width::W128, &[mask.into(), temp.into()], None);
    }

    /// Keeps a general-purpose register's value in the low lane of `lane`.
    pub fn park(&mut self, lane: Vector, register: Gpr) {
        self.emit(&FROM_GPR, Width::W128, &[lane.into(), register.into()]);
    }

    /// Brings a parked value back.
    pub fn unpark(&mut self, register: Gpr, lane: Vector) {
        self.emit(&TO_GPR, Width::W128, &[register.into(), lane.into()]);
    }

    /// Leaves the vector registers as a caller expects them.
    pub fn leave(&mut self) {
        if self.b.target().clears_upper {
            self.b.vector(&VZEROUPPER, Width::W128, &[], None);
        }
    }
}
