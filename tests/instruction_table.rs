//! Every row of the instruction table in the interpreter, and in the interpreter against the CPU.
//!
//! A kernel is only as well checked as the interpreter's reading of its instructions: these tests fail when a row is
//! added that the interpreter does not know, or reads otherwise than the hardware does.
#![cfg(target_arch = "x86_64")]

use lanesmith::codegen::asm::inst::Masking;
use lanesmith::codegen::asm::table::{Class, Field, MemRule, ROWS, Row};
use lanesmith::codegen::asm::{Gpr, Index, Inst, Mask, Mem, Operand, Vector, Width, table};
use lanesmith::codegen::encode::encode;
use lanesmith_verify::oracle::{Skip, Verdict, compare};
use lanesmith_verify::{Access, Code, Memory, Program, Region, Rules, run_sysv};

const RET: u8 = 0xC3;
/// Executions of each form of a row on the CPU.
const RUNS: u32 = 1000;

/// Instances of a row: each width, register and memory forms, without a writemask and with each kind of it. `high` asks
/// for registers beyond the first eight.
fn instances(row: &'static Row, high: bool) -> Vec<Inst> {
    let v = |n: u8| Operand::from(Vector::new(if high { 7 + n } else { n }).unwrap());
    let memory = |displacement| Mem::Base {
        base: Gpr::RDI,
        index: high.then_some(Index { register: Gpr::RSI, shift: 0 }),
        displacement,
    };
    let has_rm = row.slots.iter().any(|s| s.field == Field::Rm);
    let mut kinds = Vec::new();
    if !has_rm || row.memory != MemRule::MemoryOnly {
        kinds.push(false);
    }
    if has_rm && row.memory != MemRule::RegisterOnly {
        kinds.push(true);
    }
    let mut maskings = vec![None];
    if row.element != 0 {
        maskings.push(Some(Masking { mask: Mask::K1, zeroing: false }));
        if row.zeroing {
            maskings.push(Some(Masking { mask: Mask::K1, zeroing: true }));
        }
    }
    let mut all = Vec::new();
    for width in Width::ALL.into_iter().filter(|w| row.widths.contains(*w)) {
        for &in_memory in &kinds {
            let operands = row.slots.iter().enumerate().map(|(i, slot)| match (slot.field, slot.class) {
                (Field::Rm, _) if in_memory => memory(64).into(),
                (_, Class::Vector | Class::Half | Class::Xmm) => v(1 + i as u8),
                (_, Class::Gpr32 | Class::Gpr64) => Gpr::RCX.into(),
                (_, Class::Mask) => Mask::K2.into(),
                (_, Class::Imm8) => Operand::Imm(0x96),
            });
            let operands: Vec<Operand> = operands.collect();
            for masking in &maskings {
                // Zeroing is for register destinations.
                let to_memory = matches!(operands.first(), Some(Operand::Mem(_)));
                if !(to_memory && masking.is_some_and(|m| m.zeroing)) {
                    all.push(Inst::masked(row, width, &operands, *masking).unwrap());
                }
            }
        }
    }
    all
}

fn bytes(instructions: &[Inst]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for instruction in instructions {
        assert!(encode(instruction, &mut bytes).is_none(), "no operand is in the pool");
    }
    bytes
}

/// Loads every register that [`instances`] names: vectors from the buffer at rdi, opmasks from rcx.
fn prologue() -> Vec<u8> {
    let mut all = Vec::new();
    for n in 0..16 {
        let from = Mem::Base { base: Gpr::RDI, index: None, displacement: i32::from(n % 3) * 64 };
        let operands = [Vector::new(n).unwrap().into(), from.into()];
        all.push(Inst::new(&table::VMOVDQU64_LOAD, Width::W512, &operands).unwrap());
    }
    for mask in [Mask::K1, Mask::K2] {
        all.push(Inst::new(&table::KMOVQ_FROM_GPR, Width::W128, &[mask.into(), Gpr::RCX.into()]).unwrap());
    }
    bytes(&all)
}

#[test]
fn the_interpreter_executes_every_row() {
    let prologue = prologue();
    let mut forms = 0;
    for row in ROWS {
        for instruction in instances(row, false).into_iter().chain(instances(row, true)) {
            let mut code = prologue.clone();
            code.extend(bytes(std::slice::from_ref(&instruction)));
            code.push(RET);
            let mut memory = Memory::new();
            let contents = (0..192u32).map(|i| (i * 37 + 11) as u8).collect();
            memory.add(Region::new("buffer", 0x1_0000, contents, Access::ReadWrite)).unwrap();
            // rdi is the buffer, rsi an index of zero, rcx the fourth argument.
            let arguments = [0x1_0000, 0, 0, 0x0F0F_3355_5AA5_C33C];
            let rules = Rules { clean_upper: false, ..Rules::default() };
            let run = run_sysv(&Program::decode(Code::new(&code)), &arguments, &mut memory, &rules);
            let report = run.unwrap_or_else(|fault| panic!("{}: {fault}", row.mnemonic));
            assert_eq!(report.steps, 16 + 2 + 2, "{}: executed to the return", row.mnemonic);
            forms += 1;
        }
    }
    eprintln!("{} rows, {forms} forms", ROWS.len());
}

#[test]
fn the_interpreter_agrees_with_the_cpu() {
    let (mut executions, mut skipped) = (0, Vec::new());
    for (number, row) in ROWS.iter().enumerate() {
        for (form, instruction) in instances(row, false).into_iter().chain(instances(row, true)).enumerate() {
            let seed = (number * 100 + form) as u64;
            match compare(&bytes(std::slice::from_ref(&instruction)), RUNS, seed) {
                Ok(Verdict::Agreed { runs, .. }) => {
                    assert_eq!(runs, RUNS, "{}", row.mnemonic);
                    executions += runs;
                }
                Ok(Verdict::Skipped(why @ (Skip::Feature(_) | Skip::Platform))) => {
                    skipped.push(format!("{} {:?}: {why}", row.mnemonic, instruction.width()));
                }
                Ok(Verdict::Skipped(why)) => panic!("{}: not compared: {why}", row.mnemonic),
                Err(disagreement) => panic!("{disagreement}"),
            }
        }
    }
    eprintln!("{executions} executions agree");
    for line in skipped {
        eprintln!("skipped: {line}");
    }
}
