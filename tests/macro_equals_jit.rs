//! What the compiler's assembler makes of a kernel's text and what the run-time encoder makes of its program are the
//! same instructions, for every kernel of the registry.
#![cfg(all(feature = "jit", target_arch = "x86_64"))]

mod common;

use common::text::decode;
use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};
use lanesmith::codegen::registry::{entries, fletcher_entries};
use lanesmith::emit::Code;
use lanesmith::fletcher_kernel;
use lanesmith::xor::{RawXor, generate};

/// Name, pass and entry of every program of the registry, assembled by the compiler.
static ASSEMBLED: &[(&str, usize, RawXor)] = lanesmith_macros::registry_kernels!();

/// The `count` instructions at `entry`, and the code as far as `most` bytes.
fn assembled(what: &str, entry: RawXor, count: usize, most: usize) -> Vec<Instruction> {
    let start = entry as *const u8;
    // SAFETY: the code at `entry` is mapped and readable, as code is here. The compiler's branches are never longer than
    // those of the run-time encoder, so that the function has at most `most` bytes; what follows it in the same section
    // is more code, or padding, unless it is the last: its section is followed by others of the program.
    let bytes = unsafe { std::slice::from_raw_parts(start, most) };
    let mut decoder = Decoder::with_ip(64, bytes, start.addr() as u64, DecoderOptions::NONE);
    let all: Vec<Instruction> = (0..count).map(|_| decoder.decode()).collect();
    assert!(all.iter().all(|i| !i.is_invalid()), "{what}");
    all
}

/// An instruction with everything in it but where it is: branches go to the instruction of an index.
#[derive(Debug, PartialEq)]
struct Meaning {
    code: iced_x86::Code,
    operands: Vec<Operand>,
    mask: iced_x86::Register,
    zeroing: bool,
    broadcast: bool,
}

#[derive(Debug, PartialEq)]
enum Operand {
    Register(iced_x86::Register),
    Immediate(u64),
    /// Base, index, scale, displacement, size.
    Memory(iced_x86::Register, iced_x86::Register, u32, i64, iced_x86::MemorySize),
    /// The constant that a RIP-relative operand reads.
    Constant(Vec<u8>),
    /// The index of the instruction branched to.
    Target(usize),
}

/// What each instruction means. `constant` reads so many bytes at an address.
fn meanings(what: &str, all: &[Instruction], constant: impl Fn(u64, usize) -> Vec<u8>) -> Vec<Meaning> {
    let index = |address: u64| {
        all.iter().position(|i| i.ip() == address).unwrap_or_else(|| panic!("{what}: no instruction at {address:#x}"))
    };
    let operand = |i: &Instruction, k: u32| match i.op_kind(k) {
        OpKind::Register => Operand::Register(i.op_register(k)),
        OpKind::NearBranch64 => Operand::Target(index(i.near_branch_target())),
        OpKind::Memory if i.is_ip_rel_memory_operand() => {
            Operand::Constant(constant(i.ip_rel_memory_address(), i.memory_size().size()))
        }
        OpKind::Memory => Operand::Memory(
            i.memory_base(),
            i.memory_index(),
            i.memory_index_scale(),
            i.memory_displacement64() as i64,
            i.memory_size(),
        ),
        _ => Operand::Immediate(i.immediate(k)),
    };
    let meaning = |i: &Instruction| Meaning {
        code: i.code(),
        operands: (0..i.op_count()).map(|k| operand(i, k)).collect(),
        mask: i.op_mask(),
        zeroing: i.zeroing_masking(),
        broadcast: i.is_broadcast(),
    };
    all.iter().map(meaning).collect()
}

/// Some instructions have several forms; which one an assembler takes does not change what is done.
fn long_form(mut instructions: Vec<Instruction>) -> Vec<Instruction> {
    use iced_x86::Code::*;
    for instruction in &mut instructions {
        instruction.as_near_branch();
        let long = match instruction.code() {
            Add_RAX_imm32 => Add_rm64_imm32,
            And_RAX_imm32 => And_rm64_imm32,
            Xor_RAX_imm32 => Xor_rm64_imm32,
            Cmp_RAX_imm32 => Cmp_rm64_imm32,
            // Two registers can be encoded in two directions.
            Mov_r64_rm64 if instruction.op1_kind() == OpKind::Register => Mov_rm64_r64,
            Add_r64_rm64 if instruction.op1_kind() == OpKind::Register => Add_rm64_r64,
            Sub_r64_rm64 if instruction.op1_kind() == OpKind::Register => Sub_rm64_r64,
            Cmp_r64_rm64 if instruction.op1_kind() == OpKind::Register => Cmp_rm64_r64,
            Xor_r32_rm32 if instruction.op1_kind() == OpKind::Register => Xor_rm32_r32,
            other => other,
        };
        instruction.set_code(long);
    }
    instructions
}

fn compare(what: &str, code: &Code, entry: RawXor) {
    let emitted = long_form(decode(what, code));
    let assembled = long_form(assembled(what, entry, emitted.len(), code.code_len));
    let pool = |at: u64, size: usize| code.bytes[at as usize..][..size].to_vec();
    // SAFETY: a RIP-relative operand of the compiler's code is in the pool, which it links with the program.
    let linked = |at: u64, size| unsafe { std::slice::from_raw_parts(at as *const u8, size) }.to_vec();
    let emitted = meanings(what, &emitted, pool);
    let assembled = meanings(what, &assembled, linked);
    for (k, (emitted, assembled)) in emitted.iter().zip(&assembled).enumerate() {
        assert_eq!(emitted, assembled, "{what}: instruction {k}");
    }
    assert_eq!(emitted.last().map(|i| i.code), Some(iced_x86::Code::Retnq), "{what}: the last instruction");
}

#[test]
fn every_kernel_of_the_registry() {
    let mut rows = ASSEMBLED.iter();
    let mut next = |wanted: &str, codes: &[Code]| {
        for (pass, code) in codes.iter().enumerate() {
            let what = format!("{wanted} pass {pass}");
            let (name, of, assembled) = rows.next().expect("as many as the registry has");
            assert_eq!((*name, *of), (wanted, pass));
            compare(&what, code, *assembled);
        }
    };
    for entry in entries().unwrap() {
        let (_, codes) = generate(&entry.spec, entry.tier).unwrap();
        next(&entry.name, &codes);
    }
    for entry in fletcher_entries().unwrap() {
        let (_, code) = fletcher_kernel::generate(&entry.spec, entry.tier).unwrap();
        next(&entry.name, &[code]);
    }
    assert!(rows.next().is_none());
    assert!(ASSEMBLED.len() > 200);
}

/// The comparison sees a difference: neighbouring kernels of the registry are not equal.
#[test]
#[should_panic(expected = "instruction")]
fn a_difference_shows() {
    let all = entries().unwrap();
    let (_, codes) = generate(&all[1].spec, all[1].tier).unwrap();
    compare("the wrong kernel", &codes[0], ASSEMBLED[0].2);
}
