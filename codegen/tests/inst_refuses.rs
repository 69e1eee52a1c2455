//! What `Inst::new` and `Inst::masked` must refuse: instructions that do not exist, found when the program is made.

mod common;

use common::{Cover, GPRS, forms};
use lanesmith_codegen::asm::inst::Masking;
use lanesmith_codegen::asm::table::{Class, Encoding, Field, MemRule, ROWS, Row};
use lanesmith_codegen::asm::{AsmError, Gpr, Index, Inst, Mask, Mem, Operand, Vector, Width};

/// A row with an instruction that it admits.
struct Valid {
    row: &'static Row,
    width: Width,
    operands: Vec<Operand>,
    masking: Option<Masking>,
}

/// One valid instruction for each form of each row.
fn valid() -> Vec<Valid> {
    let forms = ROWS.iter().flat_map(|row| forms(row));
    let first = |form: common::Form| {
        let request = form.requests(Cover::Levels).next().unwrap();
        Valid { row: form.row, width: form.width, operands: request.operands, masking: None }
    };
    forms.map(first).collect()
}

impl Valid {
    fn build(&self) -> Result<Inst, AsmError> {
        Inst::masked(self.row, self.width, &self.operands, self.masking)
    }

    /// With operand `slot` replaced it must be refused, and the error must name the slot.
    fn refuses_operand(&self, slot: usize, operand: impl Into<Operand>) {
        let mut operands = self.operands.clone();
        operands[slot] = operand.into();
        let refused = Err(AsmError::Operand { mnemonic: self.row.mnemonic, slot });
        assert_eq!(Inst::masked(self.row, self.width, &operands, self.masking), refused, "{operands:?}");
    }
}

#[test]
fn registers_beyond_15_need_evex() {
    let mut tried = 0;
    for v in valid() {
        for (i, _) in v.operands.iter().enumerate().filter(|(_, o)| matches!(o, Operand::Vector(_))) {
            for register in (16..32).map(|n| Vector::new(n).unwrap()) {
                tried += 1;
                if v.row.encoding != Encoding::Evex {
                    v.refuses_operand(i, register);
                    continue;
                }
                let mut operands = v.operands.clone();
                operands[i] = register.into();
                let inst = Inst::new(v.row, v.width, &operands).unwrap();
                assert_eq!(inst.row(), v.row, "no VEX form reaches {register:?}");
            }
        }
    }
    assert!(tried > 0);
}

#[test]
fn memory_only_where_a_row_has_it() {
    let memory = Mem::base(Gpr::RAX, 0);
    for v in valid() {
        for (i, slot) in v.row.slots.iter().enumerate() {
            if slot.field != Field::Rm || v.row.memory == MemRule::RegisterOnly {
                v.refuses_operand(i, memory);
                v.refuses_operand(i, Mem::Pool { offset: 0 });
            }
            if slot.field == Field::Rm && v.row.memory == MemRule::MemoryOnly {
                v.refuses_operand(i, Vector::new(0).unwrap());
            }
        }
    }
}

#[test]
fn operands_of_another_class() {
    let samples = [Operand::Vector(Vector::new(1).unwrap()), Gpr::RCX.into(), Mask::K1.into(), Operand::Imm(1)];
    for v in valid() {
        for (i, slot) in v.row.slots.iter().enumerate() {
            for sample in samples {
                let fits = match sample {
                    Operand::Vector(_) => matches!(slot.class, Class::Vector | Class::Half | Class::Xmm),
                    Operand::Gpr(_) => matches!(slot.class, Class::Gpr32 | Class::Gpr64),
                    Operand::Mask(_) => slot.class == Class::Mask,
                    Operand::Imm(_) => slot.class == Class::Imm8,
                    Operand::Mem(_) => false,
                };
                if !fits {
                    v.refuses_operand(i, sample);
                }
            }
        }
        let mut operands = v.operands.clone();
        operands.push(Operand::Imm(0));
        let slot = v.operands.len();
        let refused = Err(AsmError::Operand { mnemonic: v.row.mnemonic, slot });
        assert_eq!(Inst::new(v.row, v.width, &operands), refused, "one too many");
        if slot > 0 {
            let refused = Err(AsmError::Operand { mnemonic: v.row.mnemonic, slot: slot - 1 });
            assert_eq!(Inst::new(v.row, v.width, &v.operands[1..]), refused, "one too few");
        }
    }
}

#[test]
fn rsp_is_a_base_and_nothing_else() {
    for v in valid() {
        for (i, operand) in v.operands.iter().enumerate() {
            match operand {
                Operand::Gpr(_) => v.refuses_operand(i, Gpr::RSP),
                Operand::Mem(Mem::Base { .. }) => {
                    let with = |register, shift| Mem::Base {
                        base: Gpr::RSP,
                        index: Some(Index { register, shift }),
                        displacement: 8,
                    };
                    (0..4).for_each(|shift| v.refuses_operand(i, with(Gpr::RSP, shift)));
                    GPRS.iter().for_each(|r| v.refuses_operand(i, with(*r, 4)));
                    let mut operands = v.operands.clone();
                    operands[i] = with(Gpr::R12, 3).into();
                    assert!(Inst::new(v.row, v.width, &operands).is_ok(), "rsp as a base");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn writemasks() {
    let masks = (0..8).map(|n| Mask::new(n).unwrap());
    let maskings = masks.flat_map(|mask| [false, true].map(|zeroing| Masking { mask, zeroing }));
    for mut v in valid() {
        for masking in maskings.clone() {
            v.masking = Some(masking);
            let allowed = v.row.element != 0 && masking.mask != Mask::K0 && (v.row.zeroing || !masking.zeroing);
            let refused = AsmError::Masking { mnemonic: v.row.mnemonic };
            assert_eq!(v.build().err(), (!allowed).then_some(refused), "{masking:?}");
        }
    }
}

#[test]
fn widths() {
    for mut v in valid() {
        for width in Width::ALL {
            v.width = width;
            let refused = AsmError::Width { mnemonic: v.row.mnemonic, width };
            assert_eq!(v.build().err(), (!v.row.widths.contains(width)).then_some(refused));
        }
        if v.row.encoding != Encoding::Evex {
            assert!(!v.row.widths.contains(Width::W512), "{}: 512 bits need EVEX", v.row.mnemonic);
        }
    }
}

/// The names of registers end at the hardware's last one.
#[test]
fn register_numbers() {
    assert_eq!(Vector::new(31).map(Vector::number), Some(31));
    assert_eq!((Vector::new(32), Mask::new(8)), (None, None));
}
