//! The same spec gives the same bytes, and the bytes are the instructions that the program says.
//!
//! That they are also the same on every machine is what `snapshots/code_digests.snap` is for (`tests/snapshots.rs`).
#![cfg(feature = "jit")]

mod common;

use std::collections::BTreeSet;
use std::thread;

use common::text::{Notation, bare, decode};
use iced_x86::{CpuidFeature, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind};
use lanesmith::codegen::asm::{Item, Label, Program, Scalar};
use lanesmith::codegen::kernel::Contract;
use lanesmith::codegen::registry::{Entry, entries, fletcher_entries};
use lanesmith::codegen::spec::{Destination, LengthClass, XorOptions};
use lanesmith::codegen::target::{Feature, Tier};
use lanesmith::codegen::text::{self, Syntax};
use lanesmith::emit::Code;
use lanesmith::fletcher_kernel;
use lanesmith::xor::generate;

/// What the generator makes of an entry of the registry, whatever its family.
#[derive(PartialEq)]
struct Lowered {
    programs: Vec<Program>,
    contracts: Vec<Contract>,
}

type Generated = (String, Lowered, Vec<Code>);

/// The work of one entry, to be done in any order.
type Work = Box<dyn Fn() -> Generated>;

fn works() -> Vec<Work> {
    let xor = entries().unwrap().into_iter().map(|Entry { name, spec, tier }| -> Work {
        Box::new(move || {
            let (lowered, codes) = generate(&spec, tier).unwrap_or_else(|e| panic!("{name}: {e}"));
            (name.clone(), Lowered { programs: lowered.programs, contracts: lowered.contracts }, codes)
        })
    });
    let fletcher = fletcher_entries().unwrap().into_iter().map(|Entry { name, spec, tier }| -> Work {
        Box::new(move || {
            let (lowered, code) = fletcher_kernel::generate(&spec, tier).unwrap_or_else(|e| panic!("{name}: {e}"));
            let lowered = Lowered { programs: vec![lowered.program], contracts: vec![lowered.contract] };
            (name.clone(), lowered, vec![code])
        })
    });
    xor.chain(fletcher).collect()
}

fn generate_all() -> Vec<Generated> {
    works().iter().map(|work| work()).collect()
}

#[test]
fn generation_repeats_itself_in_every_thread() {
    let first = generate_all();
    let again = || {
        for (a, b) in generate_all().iter().zip(&first) {
            assert!(a == b, "{} differs", a.0);
        }
    };
    again();
    thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(again)));
    });
}

/// The order in which kernels are generated leaves no trace in them.
#[test]
fn generation_has_no_memory() {
    let mut backwards: Vec<Generated> = works().iter().rev().map(|work| work()).collect();
    backwards.reverse();
    for (forwards, backwards) in generate_all().iter().zip(&backwards) {
        assert!(forwards == backwards, "{} differs", forwards.0);
    }
}

/// The instructions of a program without its labels and notes, with their text and where each label points: at the
/// instruction with that number.
fn instructions(program: &Program) -> (Vec<(&Item, String)>, Vec<usize>) {
    let mut list = Vec::new();
    let mut labels = vec![usize::MAX; program.labels() as usize];
    for (item, text) in text::items(program, Syntax { label_prefix: "L", pool: "pool" }) {
        match item {
            Item::Label(label) => labels[label.number() as usize] = list.len(),
            Item::Note(_) => {}
            Item::Vector(_) | Item::Scalar(_) => list.push((item, text)),
        }
    }
    (list, labels)
}

fn branch(item: &Item) -> Option<(String, Label)> {
    match *item {
        Item::Scalar(Scalar::Branch(condition, label)) => Some((format!("j{}", condition.suffix()), label)),
        Item::Scalar(Scalar::Jump(label)) => Some(("jmp".to_owned(), label)),
        _ => None,
    }
}

/// Every item against the instruction that a decoder finds in its place: mnemonic, registers, addresses, immediates,
/// writemasks, and the targets of branches.
fn compare(name: &str, program: &Program, code: &Code) {
    let decoded = decode(name, code);
    let (list, labels) = instructions(program);
    assert_eq!(decoded.len(), list.len(), "{name}: instructions decoded and in the program");
    let mut notation = Notation::new();
    for ((item, text), instruction) in list.iter().zip(&decoded) {
        let scalar = matches!(item, Item::Scalar(_));
        let found = notation.of(instruction, scalar);
        match branch(item) {
            Some((mnemonic, label)) => {
                assert!(found.starts_with(&mnemonic), "{name}: `{text}` is decoded as `{found}`");
                assert_eq!(instruction.op0_kind(), OpKind::NearBranch64, "{name}: `{text}`");
                let target = decoded.get(labels[label.number() as usize]).map(Instruction::ip);
                assert_eq!(Some(instruction.near_branch64()), target, "{name}: where `{text}` goes");
            }
            None => assert_eq!(found, bare(&resolved(text, code.pool_at)), "{name}: what `{text}` is decoded as"),
        }
    }
}

/// The text with the address of a constant, as a decoder sees it that takes the code to be at address zero.
fn resolved(text: &str, pool_at: usize) -> String {
    let Some((before, after)) = text.split_once("rip + pool") else { return text.to_owned() };
    let (offset, after) = after.split_once(']').unwrap();
    let offset: usize = offset.strip_prefix(" + ").map_or(0, |offset| offset.parse().unwrap());
    format!("{before}{}]{after}", pool_at + offset)
}

#[test]
fn machine_code_is_what_the_program_says() {
    let mut instructions = 0;
    for (name, lowered, codes) in generate_all() {
        assert_eq!(lowered.programs.len(), codes.len(), "{name}");
        for (program, code) in lowered.programs.iter().zip(&codes) {
            compare(&name, program, code);
            assert!(code.code_len <= code.pool_at && code.pool_at <= code.bytes.len(), "{name}: {code:?}");
            assert_eq!(&code.bytes[code.pool_at..], program.pool().bytes(), "{name}: constants");
            instructions += decode(&name, code).len();
        }
    }
    eprintln!("{instructions} instructions compared");
}

/// The same for every source count, where displacements and register numbers change their encoded size.
#[test]
fn machine_code_of_every_count_is_what_the_program_says() {
    for tier in Tier::XOR {
        for n in (1..=64).chain([100, 255, 256, 257, 1023, 1024]) {
            for destination in common::DESTINATIONS {
                for length in [LengthClass::Any, LengthClass::Long] {
                    let options = XorOptions { destination, length, ..XorOptions::default() };
                    let (lowered, codes) = generate(&common::spec(n, options), tier).unwrap();
                    for (program, code) in lowered.programs.iter().zip(&codes) {
                        compare(&format!("{} on {tier}", lowered.plan.spec), program, code);
                    }
                }
            }
        }
    }
}

/// A kernel begins where indirect branches may land, returns once, at its end, and calls nothing.
#[test]
fn a_kernel_is_a_leaf_with_one_exit() {
    for (name, _, codes) in generate_all() {
        for code in &codes {
            let decoded = decode(&name, code);
            assert_eq!(decoded[0].mnemonic(), Mnemonic::Endbr64, "{name}");
            let (last, others) = decoded.split_last().unwrap();
            assert_eq!(last.mnemonic(), Mnemonic::Ret, "{name}");
            for other in others {
                assert!(!matches!(other.mnemonic(), Mnemonic::Ret | Mnemonic::Call), "{name}: {other}");
            }
        }
    }
}

/// The contract's clobbers, stack and features against what the decoder's tables say of the machine code.
#[test]
fn contracts_tell_the_truth() {
    let mut info = InstructionInfoFactory::new();
    for (name, lowered, codes) in generate_all() {
        for (contract, code) in lowered.contracts.iter().zip(&codes) {
            let (mut gprs, mut vectors, mut pushed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            for instruction in decode(&name, code) {
                if instruction.mnemonic() == Mnemonic::Push {
                    pushed.insert(instruction.op0_register().number() as u8);
                }
                // It writes the upper halves of registers that the caller does not expect back anyway.
                if instruction.mnemonic() == Mnemonic::Vzeroupper {
                    continue;
                }
                for used in info.info(&instruction).used_registers() {
                    let register = used.register().full_register();
                    let written = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
                    match register {
                        _ if !written => {}
                        _ if register.is_vector_register() => drop(vectors.insert(register.number() as u8)),
                        iced_x86::Register::RSP => {}
                        _ if register.is_gpr() => drop(gprs.insert(register.number() as u8)),
                        _ => {}
                    }
                }
                for feature in instruction.cpuid_features() {
                    assert!(promised(contract.features, *feature), "{name}: {instruction} needs {feature:?}");
                }
            }
            let clobbered: BTreeSet<u8> = gprs.difference(&pushed).copied().collect();
            let said: BTreeSet<u8> = contract.gprs.iter().map(|r| r.number()).collect();
            assert_eq!(said, clobbered, "{name}: general-purpose registers by number");
            assert_eq!(contract.vectors, vectors.into_iter().collect::<Vec<_>>(), "{name}: vector registers");
            assert_eq!(contract.stack as usize, 8 * pushed.len(), "{name}: bytes of stack");
            assert!(contract.gprs.iter().all(|r| !r.is_callee_saved()), "{name}: a callee-saved register is clobbered");
        }
    }
}

/// Whether `features` has what the decoder's tables name `feature`.
fn promised(features: lanesmith::codegen::target::FeatureSet, feature: CpuidFeature) -> bool {
    use CpuidFeature as F;
    let ours = match feature {
        // What every 64-bit CPU has; without CET, endbr64 does nothing.
        F::INTEL8086 | F::INTEL386 | F::X64 | F::CET_IBT | F::SSE | F::SSE2 => return true,
        F::SSSE3 => Feature::Ssse3,
        F::AVX => Feature::Avx,
        F::AVX2 => Feature::Avx2,
        F::BMI2 => Feature::Bmi2,
        F::AVX512F => Feature::Avx512F,
        F::AVX512VL => Feature::Avx512Vl,
        F::AVX512BW => Feature::Avx512Bw,
        F::AVX512DQ => Feature::Avx512Dq,
        _ => return false,
    };
    // Every CPU with AVX512F has AVX and AVX2; a program of EVEX instructions need not name them.
    features.has(ours) || (matches!(ours, Feature::Avx | Feature::Avx2) && features.has(Feature::Avx512F))
}

/// Kernels for different destinations and counts have different names, which are symbols.
#[test]
fn program_names_are_symbols() {
    for tier in Tier::XOR {
        for destination in [Destination::Overwrite, Destination::ZeroTest] {
            let (lowered, _) = generate(&common::plain(7, destination), tier).unwrap();
            for program in &lowered.programs {
                let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
                assert!(program.name().chars().all(legal), "{}", program.name());
            }
        }
    }
}
