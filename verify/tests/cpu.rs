//! Every form of every supported instruction against the CPU.
//!
//! The forms are not listed here: they are all that iced-x86 knows, with random operands, as far as the interpreter
//! supports them. Encoded by iced-x86, executed by `lanesmith_verify::oracle`.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, MemoryOperand, Mnemonic,
    OpCodeOperandKind as Kind, OpKind, Register,
};
use lanesmith_verify::oracle::{Skip, Verdict, compare};

/// Operand choices of a form, and executions of each.
const VARIANTS: u32 = 32;
const RUNS: u32 = 50;

/// What kernels use: missing from the table, or from this CPU's list, is worth a failure.
const MNEMONICS: &str = "movdqu movdqa movntdq pxor por pand pcmpeqb pmovmskb movq movd psrldq vmovdqu vmovdqa vmovntdq \
    vpxor vpand vpor vptest vmovq vmovd vmovdqu8 vmovdqu16 vmovdqu32 vmovdqu64 vmovdqa32 vmovdqa64 vpxorq vpxord vporq \
    vpord vpandq vpandd paddq vpaddq psrlq vpsrlq psllw psrlw pshuflw pshufhw punpckldq punpckhdq pshufb vpshufb \
    vpmovzxdq vprold vpternlogq vpternlogd vptestmq vptestnmq kmovb kmovw kmovd kmovq kortestw kortestd kortestq \
    kxnorw kxnord kxnorq vzeroupper sfence endbr64 nop prefetcht0 prefetchnta mov movzx add sub neg and or xor cmp test \
    lea inc dec shl shr sar shlx shrx sarx bzhi andn blsr setb sete setne cmovb cmove cmovle push pop";

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    fn register(&mut self, first: Register, count: u32) -> Register {
        first + self.below(count)
    }

    /// Any base and index; an absent base is encoded differently, and so is each size of displacement.
    fn memory(&mut self) -> MemoryOperand {
        let base = match self.below(8) {
            0 => Register::None,
            _ => self.register(Register::RAX, 16),
        };
        let index = match self.below(2) {
            0 if base != Register::None => Register::None,
            _ => match self.register(Register::RAX, 16) {
                Register::RSP => Register::RCX,
                other => other,
            },
        };
        let scale = if index == Register::None { 1 } else { 1 << self.below(4) };
        let (displ, size) = match self.below(4) {
            0 if base != Register::None => (0, 0),
            1 if base != Register::None => (i64::from(self.next() as i8), 1),
            2 => ((self.next() as i8 as i64) * 64, 8),
            _ => (i64::from(self.next() as i32 >> 12), 8),
        };
        MemoryOperand::new(base, index, scale, displ, size, false, Register::None)
    }

    fn immediate(&mut self) -> u64 {
        match self.below(3) {
            0 => u64::from(self.below(40)),
            1 => [0x00, 0xff, 0x96, 0x78, 0xf0, 0xaa, 0xcc, 0x3c][self.below(8) as usize],
            _ => self.next(),
        }
    }
}

/// A random instruction of that form, or `None` where the form has an operand that no supported instruction has.
fn instruction(random: &mut Random, code: Code) -> Option<Instruction> {
    let info = code.op_code();
    let mut insn = Instruction::new();
    insn.set_code(code);
    let vectors = if info.encoding() == EncodingKind::EVEX { 32 } else { 16 };
    let as_memory = random.below(2) == 0;
    // The same register twice is what the zeroing idioms are made of.
    let repeat = random.below(4) == 0;
    let mut last = [None; 4];
    let mut has_memory = false;
    for (i, &kind) in info.op_kinds().iter().enumerate() {
        let i = i as u32;
        let class = match kind {
            Kind::mem | Kind::r8_or_mem | Kind::r16_or_mem | Kind::r32_or_mem | Kind::r64_or_mem if as_memory => None,
            Kind::xmm_or_mem | Kind::ymm_or_mem | Kind::zmm_or_mem | Kind::k_or_mem if as_memory => None,
            Kind::mem => None,
            Kind::r8_or_mem | Kind::r8_reg | Kind::r8_opcode => Some((Register::AL, 20)),
            Kind::r16_or_mem | Kind::r16_reg | Kind::r16_rm | Kind::r16_opcode => Some((Register::AX, 16)),
            Kind::r32_or_mem | Kind::r32_reg | Kind::r32_rm | Kind::r32_opcode | Kind::r32_vvvv => {
                Some((Register::EAX, 16))
            }
            Kind::r64_or_mem | Kind::r64_reg | Kind::r64_rm | Kind::r64_opcode | Kind::r64_vvvv => {
                Some((Register::RAX, 16))
            }
            Kind::xmm_or_mem | Kind::xmm_reg | Kind::xmm_rm | Kind::xmm_vvvv => Some((Register::XMM0, vectors)),
            Kind::ymm_or_mem | Kind::ymm_reg | Kind::ymm_rm | Kind::ymm_vvvv => Some((Register::YMM0, vectors)),
            Kind::zmm_or_mem | Kind::zmm_reg | Kind::zmm_rm | Kind::zmm_vvvv => Some((Register::ZMM0, vectors)),
            Kind::k_or_mem | Kind::k_reg | Kind::k_rm | Kind::k_vvvv => Some((Register::K0, 8)),
            Kind::al => Some((Register::AL, 1)),
            Kind::ax => Some((Register::AX, 1)),
            Kind::eax => Some((Register::EAX, 1)),
            Kind::rax => Some((Register::RAX, 1)),
            Kind::cl => Some((Register::CL, 1)),
            Kind::imm8
            | Kind::imm8sex16
            | Kind::imm8sex32
            | Kind::imm8sex64
            | Kind::imm8_const_1
            | Kind::imm16
            | Kind::imm32
            | Kind::imm32sex64
            | Kind::imm64 => {
                let value = random.immediate();
                let (op_kind, value) = match kind {
                    Kind::imm8sex16 => (OpKind::Immediate8to16, value as i8 as u64),
                    Kind::imm8sex32 => (OpKind::Immediate8to32, value as i8 as u64),
                    Kind::imm8sex64 => (OpKind::Immediate8to64, value as i8 as u64),
                    Kind::imm8_const_1 => (OpKind::Immediate8, 1),
                    Kind::imm16 => (OpKind::Immediate16, value),
                    Kind::imm32 => (OpKind::Immediate32, value),
                    Kind::imm32sex64 => (OpKind::Immediate32to64, value as i32 as u64),
                    Kind::imm64 => (OpKind::Immediate64, value),
                    _ => (OpKind::Immediate8, value),
                };
                insn.set_op_kind(i, op_kind);
                match op_kind {
                    OpKind::Immediate8 => insn.set_immediate8(value as u8),
                    OpKind::Immediate16 => insn.set_immediate16(value as u16),
                    OpKind::Immediate32 => insn.set_immediate32(value as u32),
                    OpKind::Immediate64 => insn.set_immediate64(value),
                    _ => insn.try_set_immediate_i64(i, value as i64).ok()?,
                }
                continue;
            }
            _ => return None,
        };
        match class {
            Some((first, count)) => {
                let fresh = random.register(first, count);
                let again = last.iter().flatten().find(|r: &&Register| (first..first + count).contains(r));
                let register = again.copied().filter(|_| repeat).unwrap_or(fresh);
                last[i as usize % 4] = Some(register);
                insn.set_op_kind(i, OpKind::Register);
                insn.set_op_register(i, register);
            }
            None => {
                let memory = random.memory();
                has_memory = true;
                insn.set_op_kind(i, OpKind::Memory);
                insn.set_memory_base(memory.base);
                insn.set_memory_index(memory.index);
                insn.set_memory_index_scale(memory.scale);
                insn.set_memory_displacement64(memory.displacement as u64);
                insn.set_memory_displ_size(memory.displ_size);
            }
        }
    }
    if info.can_use_op_mask_register() && random.below(3) > 0 {
        insn.set_op_mask(random.register(Register::K1, 7));
        let to_memory = insn.op0_kind() == OpKind::Memory;
        insn.set_zeroing_masking(info.can_use_zeroing_masking() && !to_memory && random.below(2) == 0);
    }
    insn.set_is_broadcast(has_memory && info.can_broadcast() && random.below(2) == 0);
    Some(insn)
}

#[test]
fn every_supported_form_agrees() {
    let mut random = Random(0x5eed_1e55_ca5c_ade5);
    let mut encoder = Encoder::new(64);
    let mut agreed: BTreeMap<Mnemonic, (u32, u32)> = BTreeMap::new();
    let mut lacking: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut executions: u64 = 0;
    let mut faults: u64 = 0;
    let mut forms = 0;
    for code in Code::values().filter(|code| code.op_code().is_instruction() && code.op_code().mode64()) {
        let (mut tried, mut runs_of_form) = (0, 0);
        // Some choices cannot be encoded (ah with a REX prefix …); a form that never can is not ours.
        while tried < 4 * VARIANTS && runs_of_form < VARIANTS * RUNS {
            tried += 1;
            let Some(insn) = instruction(&mut random, code) else { break };
            if encoder.encode(&insn, 0).is_err() {
                continue;
            }
            let bytes = encoder.take_buffer();
            // `xchg ax, ax` is `nop`.
            if Decoder::new(64, &bytes, DecoderOptions::NONE).decode().mnemonic() != code.mnemonic() {
                continue;
            }
            match compare(&bytes, RUNS, random.next()) {
                Ok(Verdict::Agreed { runs, faults: f }) => {
                    runs_of_form += runs;
                    faults += u64::from(f);
                }
                Ok(Verdict::Skipped(Skip::Feature(name))) => {
                    lacking.entry(name).or_default().insert(format!("{:?}", code.mnemonic()).to_lowercase());
                    break;
                }
                // A choice may be unsupported (ah …) or unusable where another one is not.
                Ok(Verdict::Skipped(Skip::Unsupported(_))) if runs_of_form == 0 && tried > 20 => break,
                Ok(Verdict::Skipped(_)) => {}
                Err(disagreement) => panic!("{code:?}: {disagreement}"),
            }
        }
        if runs_of_form > 0 {
            assert!(runs_of_form >= 1000, "{code:?}: only {runs_of_form} executions");
            let entry = agreed.entry(code.mnemonic()).or_default();
            entry.0 += 1;
            entry.1 += runs_of_form;
            forms += 1;
            executions += u64::from(runs_of_form);
        }
    }
    eprintln!("{} mnemonics, {forms} forms, {executions} executions agree ({faults} of them faults)", agreed.len());
    let names: BTreeSet<String> = agreed.keys().map(|m| format!("{m:?}").to_lowercase()).collect();
    eprintln!("{}", names.iter().map(String::as_str).collect::<Vec<_>>().join(" "));
    // Without `Feature` there is nothing to tell an instruction that is not supported from one that this CPU lacks; the
    // list is for the reader.
    let ours: BTreeSet<&str> = MNEMONICS.split_whitespace().collect();
    for (feature, mnemonics) in &lacking {
        let skipped: Vec<&str> = mnemonics.iter().map(String::as_str).filter(|m| ours.contains(m)).collect();
        if !skipped.is_empty() {
            eprintln!("skipped, this CPU lacks {feature}: {}", skipped.join(" "));
        }
    }
    let lacking: BTreeSet<&str> = lacking.values().flatten().map(String::as_str).collect();
    let missing: Vec<_> = ours.iter().filter(|m| !names.contains(**m) && !lacking.contains(**m)).collect();
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        assert!(missing.is_empty(), "neither compared nor lacking: {missing:?}");
    }
}
