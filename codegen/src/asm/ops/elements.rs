//! Operations on the elements of vectors: sums, shifts, shuffles.

use super::{At, Ops, Triple};
use crate::asm::inst::Operand;
use crate::asm::reg::Vector;
use crate::asm::table::{
    MOVDQA_LOAD, PADDQ, POR, PSHUFB, PSHUFHW, PSHUFLW, PSLLW, PSRLQ, PSRLW, PUNPCKHDQ, PUNPCKLDQ, VPADDQ, VPADDQ_EVEX,
    VPMOVZXDQ, VPMOVZXDQ_EVEX, VPROLD, VPSHUFB, VPSHUFB_EVEX, VPSRLQ, VPSRLQ_EVEX, VPTERNLOGQ,
};
use crate::plan::Part;
use crate::target::Isa;

static ADD_64: Triple = Triple::new(&PADDQ, &VPADDQ, &VPADDQ_EVEX);
static SHUFFLE_BYTES: Triple = Triple::new(&PSHUFB, &VPSHUFB, &VPSHUFB_EVEX);

/// The truth table of "the second operand where the third has ones, else the first".
const SELECT: u8 = 0xD8;

/// Of `pshuflw` and `pshufhw`: the two words of each double word exchanged.
const EXCHANGE_WORDS: u8 = 0b10_11_00_01;

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In a register.
    Register(Vector),
    /// In memory, a whole vector.
    Memory(At),
}

impl Ops {
    /// The operand itself, or loaded into the scratch register where the target cannot fold it.
    fn source(&mut self, source: Source) -> Operand {
        match source {
            Source::Register(v) => v.into(),
            Source::Memory(at) => self.foldable(at, Part::Full),
        }
    }

    /// `acc += source`, element by element of 64 bits.
    pub fn add64(&mut self, acc: Vector, source: Source) {
        let source = self.source(source);
        self.two_sources(&ADD_64, self.width, acc, source);
    }

    /// `dst = source >> bits`, element by element of 64 bits.
    pub fn shift_right_64(&mut self, dst: Vector, source: Source, bits: u8) {
        let bits = Operand::Imm(bits);
        match (self.isa, source) {
            (Isa::Legacy, _) => {
                match source {
                    Source::Register(v) if v == dst => {}
                    Source::Register(v) => self.copy(dst, v),
                    Source::Memory(at) => self.load(dst, at, Part::Full),
                }
                self.b.vector(&PSRLQ, self.width, &[dst.into(), bits], None);
            }
            (Isa::Vex, Source::Memory(at)) => {
                self.load(dst, at, Part::Full);
                self.b.vector(&VPSRLQ, self.width, &[dst.into(), dst.into(), bits], None);
            }
            (Isa::Vex, Source::Register(v)) => {
                self.b.vector(&VPSRLQ, self.width, &[dst.into(), v.into(), bits], None);
            }
            (Isa::Evex, _) => {
                let source = self.source(source);
                self.b.vector(&VPSRLQ_EVEX, self.width, &[dst.into(), source, bits], None);
            }
        }
    }

    /// `dst = src` under legacy encoding, whose operations destroy an operand.
    fn copy(&mut self, dst: Vector, src: Vector) {
        self.b.vector(&MOVDQA_LOAD, self.width, &[dst.into(), src.into()], None);
    }

    /// Each byte of `v` becomes the byte of its 16-byte lane that `control` names.
    pub fn shuffle_bytes(&mut self, v: Vector, control: Vector) {
        self.two_sources(&SHUFFLE_BYTES, self.width, v, control.into());
    }

    /// `dst` = the 32-bit elements at `at`, half a vector of them, zero-extended to 64 bits.
    pub fn widen32(&mut self, dst: Vector, at: At) {
        let row = match self.isa {
            Isa::Legacy => return self.no_form("widening from memory"),
            Isa::Vex => &VPMOVZXDQ,
            Isa::Evex => &VPMOVZXDQ_EVEX,
        };
        self.b.vector(row, self.width, &[dst.into(), at.mem.into()], None);
    }

    /// The 32-bit elements of `low`, zero-extended to 64 bits: the first half of them in `low`, the others in `high`.
    pub fn widen32_in_place(&mut self, low: Vector, high: Vector, zero: Vector) {
        if self.isa != Isa::Legacy {
            return self.no_form("widening by interleaving with zeros");
        }
        self.copy(high, low);
        self.b.vector(&PUNPCKLDQ, self.width, &[low.into(), zero.into()], None);
        self.b.vector(&PUNPCKHDQ, self.width, &[high.into(), zero.into()], None);
    }

    /// `dst` = the 32-bit elements of `source` with their bytes reversed. Clobbers `temp`; `mask` has ones in bytes 0
    /// and 2 of each element.
    ///
    /// Rotated left by 8 bits bytes 0 and 2 are right, rotated by 24 the others.
    pub fn reverse_bytes_by_rotation(&mut self, dst: Vector, source: Source, temp: Vector, mask: Vector) {
        if self.isa != Isa::Evex {
            return self.no_form("a rotation");
        }
        let source = self.source(source);
        self.b.vector(&VPROLD, self.width, &[temp.into(), source, Operand::Imm(8)], None);
        self.b.vector(&VPROLD, self.width, &[dst.into(), source, Operand::Imm(24)], None);
        let select = [dst.into(), temp.into(), mask.into(), Operand::Imm(SELECT)];
        self.b.vector(&VPTERNLOGQ, self.width, &select, None);
    }

    /// The 32-bit elements of `v` with their bytes reversed: bytes exchanged within words, then words within elements.
    /// Clobbers `temp`.
    pub fn reverse_bytes_by_shifts(&mut self, v: Vector, temp: Vector) {
        if self.isa != Isa::Legacy {
            return self.no_form("reversing bytes by shifts");
        }
        self.copy(temp, v);
        self.b.vector(&PSLLW, self.width, &[temp.into(), Operand::Imm(8)], None);
        self.b.vector(&PSRLW, self.width, &[v.into(), Operand::Imm(8)], None);
        self.b.vector(&POR, self.width, &[v.into(), temp.into()], None);
        for row in [&PSHUFLW, &PSHUFHW] {
            self.b.vector(row, self.width, &[v.into(), v.into(), Operand::Imm(EXCHANGE_WORDS)], None);
        }
    }

    /// `dst` = a constant of one vector, from the pool.
    pub fn constant(&mut self, dst: Vector, bytes: &[u8]) {
        let aligned = self.vector_bytes;
        let mem = self.b.intern(bytes, aligned as usize);
        self.load(dst, At { mem, aligned }, Part::Full);
    }
}
