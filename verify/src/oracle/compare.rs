//! One instruction on both sides.

use iced_x86::{CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction};

use super::cpu::{Cpu, Extent, Trap};
use super::state::{FLAG_BITS, PAGE, Random, State};
use super::{Disagreement, Skip, Verdict};
use crate::concrete::Concrete;
use crate::domain::Flags;
use crate::fault::FaultKind;
use crate::machine::{GPR_NAMES, Machine, RSP, Rules, Tracked};
use crate::memory::{Access, Memory, Region};
use crate::program::{Code, Decoded, Operand, Program, text};
use crate::table::Op;

/// Executes the instruction `runs` times, each time on another random state, on the CPU and in the interpreter.
///
/// Undefined flags are not compared, nor is the state after a fault. A run depends only on the seed, its number and
/// the address of the page.
pub fn compare(bytes: &[u8], runs: u32, seed: u64) -> Result<Verdict, Disagreement> {
    let insn = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    if let Some(skip) = skip(bytes, &insn) {
        return Ok(Verdict::Skipped(skip));
    }
    if Program::decode(Code::new(bytes)).at(0).is_none_or(|decoded| decoded.op.is_none()) {
        return Ok(Verdict::Skipped(Skip::Unsupported(text(&insn, 0))));
    }
    let extent = Extent::detect();
    let mut cpu = Cpu::take(extent);
    cpu.set_instruction(bytes);
    let program = Program::decode_at(cpu.code_address(), Code::new(bytes));
    let decoded = program.at(0).expect("decoded above");
    let mut memory = Memory::new();
    let page = Region::new("page", cpu.data_address(), vec![0; PAGE], Access::ReadWrite);
    memory.add(page).expect("the kernel maps nothing where the interpreter's stack is");

    let mut faults = 0;
    for run in 0..runs {
        let mut random = Random::new(seed, run);
        let mut state = random.state();
        if !point(&mut random, decoded, cpu.data_address(), &mut state) {
            return Ok(Verdict::Skipped(Skip::FixedAddress(text(&insn, 0))));
        }
        random.fill(cpu.data());
        memory.bytes_mut("page").expect("added above").copy_from_slice(cpu.data());

        let mut machine = machine(&program, &mut memory, &state);
        let expected = machine.execute(decoded).map(|_| machine_state(&machine));
        // SAFETY: `skip` and `decoded.op` leave only instructions of the table that are not branches; what they write is
        // registers of `State` and one operand in memory, which `point` has put at most 128 bytes outside the data page,
        // so into the page or an inaccessible one. (The stack pointer of push and pop is such an operand.)
        #[allow(unsafe_code)]
        let got = unsafe { cpu.execute(&mut state) };

        let differences = match (expected, got) {
            (Ok(expected), Ok(())) => {
                let data: &[u8] = cpu.data();
                let ours = memory.bytes("page").expect("added above");
                differences(&expected, &state, extent, ours, data)
            }
            (Err(FaultKind::Misaligned { .. }), Err(Trap::GeneralProtection))
            | (Err(FaultKind::OutOfBounds { .. }), Err(Trap::PageFault)) => {
                faults += 1;
                continue;
            }
            // Zen 4 lets a misaligned address pass where the opmask selects nothing; no kernel may depend on that.
            (Err(FaultKind::Misaligned { .. }), Ok(())) if selects_nothing(decoded, &state) => continue,
            (expected, got) => {
                let expected = expected.map_or_else(|kind| kind.to_string(), |_| "no fault".into());
                let got = got.map_or_else(|trap| format!("{trap:?}"), |()| "no fault".into());
                vec![format!("interpreter: {expected}; CPU: {got}")]
            }
        };
        if !differences.is_empty() {
            return Err(Disagreement { instruction: text(&insn, 0), bytes: bytes.to_vec(), run, differences });
        }
    }
    Ok(Verdict::Agreed { runs, faults })
}

fn skip(bytes: &[u8], insn: &Instruction) -> Option<Skip> {
    if insn.is_invalid() || insn.len() != bytes.len() {
        return Some(Skip::NotOneInstruction);
    }
    if insn.flow_control() != FlowControl::Next {
        return Some(Skip::Branch(text(insn, 0)));
    }
    let lacking = insn.cpuid_features().iter().find(|feature| !detected(**feature))?;
    Some(Skip::Feature(format!("{lacking:?}")))
}

fn detected(feature: CpuidFeature) -> bool {
    use CpuidFeature as F;
    match feature {
        // What every 64-bit CPU has. Without CET, endbr64 is a nop.
        F::INTEL8086 | F::INTEL186 | F::INTEL386 | F::INTEL486 | F::X64 | F::CMOV | F::SSE | F::SSE2 => true,
        F::MULTIBYTENOP | F::CET_IBT | F::PREFETCHW => true,
        F::SSE3 => is_x86_feature_detected!("sse3"),
        F::SSSE3 => is_x86_feature_detected!("ssse3"),
        F::SSE4_1 => is_x86_feature_detected!("sse4.1"),
        F::SSE4_2 => is_x86_feature_detected!("sse4.2"),
        F::AVX => is_x86_feature_detected!("avx"),
        F::AVX2 => is_x86_feature_detected!("avx2"),
        F::BMI1 => is_x86_feature_detected!("bmi1"),
        F::BMI2 => is_x86_feature_detected!("bmi2"),
        // Without AVX512BW the trampoline has neither zmm registers nor opmasks.
        F::AVX512F => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
        F::AVX512VL => is_x86_feature_detected!("avx512vl"),
        F::AVX512BW => is_x86_feature_detected!("avx512bw"),
        F::AVX512DQ => is_x86_feature_detected!("avx512dq"),
        F::AVX512_VBMI => is_x86_feature_detected!("avx512vbmi"),
        F::AVX512_VNNI => is_x86_feature_detected!("avx512vnni"),
        F::AES => is_x86_feature_detected!("aes"),
        F::PCLMULQDQ => is_x86_feature_detected!("pclmulqdq"),
        F::VAES => is_x86_feature_detected!("vaes"),
        F::VPCLMULQDQ => is_x86_feature_detected!("vpclmulqdq"),
        F::GFNI => is_x86_feature_detected!("gfni"),
        _ => false,
    }
}

/// Sets the registers of the memory operand so that it lies in the page or near its ends, and so the stack pointer, for
/// `push` and `pop`. `false` if there is no register to set.
fn point(random: &mut Random, insn: &Decoded, page: u64, state: &mut State) -> bool {
    state.gprs[RSP] = random.target(page) & !7;
    if !insn.operands.contains(&Operand::Memory) {
        return true;
    }
    let memory = &insn.memory;
    if matches!(insn.op, Some(Op::Push | Op::Pop)) && memory.base == Some(RSP as u8) {
        // Two addresses and one register: they cannot both be chosen.
        return false;
    }
    let scale = u64::from(memory.scale);
    let target = random.target(page).wrapping_sub(memory.disp);
    match (memory.base, memory.index) {
        (Some(base), None) => state.gprs[base as usize] = target,
        (Some(base), Some(index)) if base != index => {
            // Not the stack pointer: it cannot be an index.
            let value = state.gprs[index as usize];
            state.gprs[base as usize] = target.wrapping_sub(value.wrapping_mul(scale));
        }
        // One register counts so many times: the address moves to a multiple of that from the displacement on.
        (base, Some(index)) => {
            let times = scale + u64::from(base.is_some());
            state.gprs[index as usize] = (target as i64).div_euclid(times as i64) as u64;
        }
        (None, None) => return false,
    }
    true
}

fn machine<'p>(program: &'p Program, memory: &'p mut Memory, state: &State) -> Machine<'p, Concrete<'p>> {
    let domain = Concrete::new(memory, program, None);
    let mut machine = Machine::at_entry(program, domain, Rules::default(), &[], [0; 7]);
    machine.gprs = state.gprs.map(|value| Tracked { value, defined: 8 });
    machine.vecs = state.vecs.map(|value| Tracked { value, defined: 64 });
    machine.masks = state.masks.map(Some);
    let [cf, pf, zf, sf, of] = FLAG_BITS.map(|(_, bit)| Some(state.rflags >> bit & 1 != 0));
    machine.flags = Flags { cf, pf, zf, sf, of };
    machine
}

/// Whether the opmask selects no element of the memory operand.
fn selects_nothing(insn: &Decoded, state: &State) -> bool {
    let Some(Op::VecMove { element, .. }) = insn.op else { return false };
    let elements = u64::MAX >> (64 - insn.memory.size / element);
    insn.mask.is_some_and(|k| state.masks[k as usize] & elements == 0)
}

/// What the interpreter says the state is; a flag may be undefined.
struct Expected {
    gprs: [u64; 16],
    vecs: [[u8; 64]; 32],
    masks: [Option<u64>; 8],
    flags: [Option<bool>; 5],
}

fn machine_state(machine: &Machine<'_, Concrete<'_>>) -> Expected {
    let Flags { cf, pf, zf, sf, of } = machine.flags;
    Expected {
        gprs: machine.gprs.each_ref().map(|r| r.value),
        vecs: machine.vecs.each_ref().map(|r| r.value),
        masks: machine.masks,
        flags: [cf, pf, zf, sf, of],
    }
}

fn differences(expected: &Expected, got: &State, extent: Extent, memory: &[u8], data: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    for (i, name) in GPR_NAMES.iter().enumerate() {
        let (ours, theirs) = (expected.gprs[i], got.gprs[i]);
        if ours != theirs {
            out.push(format!("{name}: interpreter {ours:#018x}, CPU {theirs:#018x}"));
        }
    }
    for (i, (name, bit)) in FLAG_BITS.iter().enumerate() {
        let theirs = got.rflags >> bit & 1 != 0;
        if expected.flags[i].is_some_and(|ours| ours != theirs) {
            out.push(format!("{name}: interpreter {}, CPU {theirs}", !theirs));
        }
    }
    for i in 0..extent.vectors {
        let (ours, theirs) = (&expected.vecs[i][..extent.bytes], &got.vecs[i][..extent.bytes]);
        if ours != theirs {
            out.push(format!("zmm{i}: interpreter {ours:02x?}\n         CPU {theirs:02x?}"));
        }
    }
    for i in (0..8).filter(|_| extent.masks) {
        if expected.masks[i] != Some(got.masks[i]) {
            out.push(format!("k{i}: interpreter {:#x?}, CPU {:#x}", expected.masks[i], got.masks[i]));
        }
    }
    if let Some(at) = (0..PAGE).find(|&at| memory[at] != data[at]) {
        out.push(format!("page byte {at}: interpreter {:#04x}, CPU {:#04x}", memory[at], data[at]));
    }
    out
}
