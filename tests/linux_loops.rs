//! The four AVX-512 loops of the Linux kernel's RAID XOR, instruction by instruction.
//!
//! They are the baseline of every benchmark, so they are checked on the machine code itself, apart from the snapshots:
//! which registers are used does not matter, what is loaded, merged and stored, in which order, does.
#![cfg(feature = "jit")]

mod common;

use common::text::decode;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use lanesmith::codegen::registry::linux_options;
use lanesmith::codegen::spec::Destination;
use lanesmith::codegen::target::Tier;
use lanesmith::xor::generate;

/// An instruction with registers by role: `b1` is the destination and `b2` … the sources in the caller's order, `v0` …
/// vector registers in the order in which they appear.
struct Roles {
    buffers: Vec<Register>,
    vectors: Vec<Register>,
}

impl Roles {
    /// What registers point to, read off the code before the loop: `mov r, [rsi + 8·k]` loads the pointer of source k.
    fn of_prologue(prologue: &[Instruction]) -> Roles {
        let mut buffers = vec![Register::RDI];
        for load in prologue.iter().filter(|i| i.mnemonic() == Mnemonic::Mov && i.op1_kind() == OpKind::Memory) {
            assert_eq!(load.memory_base(), Register::RSI, "{load}");
            assert_eq!(load.memory_displacement64(), 8 * (buffers.len() as u64 - 1), "{load}");
            buffers.push(load.op0_register());
        }
        Roles { buffers, vectors: Vec::new() }
    }

    fn vector(&mut self, register: Register) -> String {
        let known = self.vectors.iter().position(|v| *v == register);
        let number = known.unwrap_or_else(|| {
            self.vectors.push(register);
            self.vectors.len() - 1
        });
        format!("v{number}")
    }

    fn write(&mut self, i: &Instruction) -> String {
        let mut text = format!("{:?}", i.mnemonic()).to_lowercase();
        for k in 0..i.op_count() {
            let operand = match i.op_kind(k) {
                OpKind::Register if i.op_register(k).is_zmm() => self.vector(i.op_register(k)),
                OpKind::Register => "index".to_owned(),
                OpKind::Memory => {
                    assert_eq!(i.memory_size().size(), 64, "{i}");
                    assert!(i.memory_index() == Register::RCX && i.memory_index_scale() == 1, "{i}: the index is rcx");
                    let buffer = self.buffers.iter().position(|b| *b == i.memory_base());
                    let buffer = buffer.unwrap_or_else(|| panic!("{i}: no buffer has this base"));
                    format!("[b{} + {}]", buffer + 1, i.memory_displacement64() as i64)
                }
                OpKind::NearBranch64 => "top".to_owned(),
                _ => format!("{:#x}", i.immediate(k)),
            };
            text += if k == 0 { " " } else { ", " };
            text += &operand;
        }
        assert!(!i.has_op_mask() && !i.is_broadcast(), "{i}");
        text
    }
}

/// The only loop of `linux_avx512_{buffers}`, and the instructions before it.
fn the_loop(buffers: usize) -> Vec<String> {
    let spec = common::spec(buffers - 1, linux_options(Destination::Accumulate));
    let (_, codes) = generate(&spec, Tier::Avx512).unwrap();
    let [code] = &codes[..] else { panic!("{} programs", codes.len()) };
    let decoded = decode("linux", code);
    let branches: Vec<usize> = (0..decoded.len()).filter(|&k| decoded[k].is_jcc_short_or_near()).collect();
    let [end] = branches[..] else { panic!("{} branches: the only one is to end the loop", branches.len()) };
    let top = decoded.iter().position(|i| i.ip() == decoded[end].near_branch64()).unwrap();
    assert!(top < end, "the branch goes backwards");
    let mut roles = Roles::of_prologue(&decoded[..top]);
    assert_eq!(roles.buffers.len(), buffers);
    // Nothing but the return follows.
    let after: Vec<Mnemonic> = decoded[end + 1..].iter().map(Instruction::mnemonic).collect();
    assert_eq!(after, [Mnemonic::Vzeroupper, Mnemonic::Ret]);
    decoded[top..=end].iter().map(|i| roles.write(i)).collect()
}

#[track_caller]
fn check(buffers: usize, expected: &[&str]) {
    assert_eq!(the_loop(buffers), expected, "the loop for {buffers} buffers");
}

#[test]
fn two_buffers() {
    check(
        2,
        &[
            "vmovdqa64 v0, [b1 + 0]",
            "vmovdqa64 v1, [b1 + 64]",
            "vpxorq v0, v0, [b2 + 0]",
            "vpxorq v1, v1, [b2 + 64]",
            "vmovdqa64 [b1 + 0], v0",
            "vmovdqa64 [b1 + 64], v1",
            "add index, 0x80",
            "jne top",
        ],
    );
}

#[test]
fn three_buffers() {
    check(
        3,
        &[
            "vmovdqa64 v0, [b1 + 0]",
            "vmovdqa64 v1, [b1 + 64]",
            "vmovdqa64 v2, [b2 + 0]",
            "vmovdqa64 v3, [b2 + 64]",
            "vpternlogq v0, v2, [b3 + 0], 0x96",
            "vpternlogq v1, v3, [b3 + 64], 0x96",
            "vmovdqa64 [b1 + 0], v0",
            "vmovdqa64 [b1 + 64], v1",
            "add index, 0x80",
            "jne top",
        ],
    );
}

#[test]
fn four_buffers() {
    check(
        4,
        &[
            "vmovdqa64 v0, [b1 + 0]",
            "vmovdqa64 v1, [b2 + 0]",
            "vpxorq v0, v0, [b3 + 0]",
            "vpternlogq v0, v1, [b4 + 0], 0x96",
            "vmovdqa64 [b1 + 0], v0",
            "add index, 0x40",
            "jne top",
        ],
    );
}

#[test]
fn five_buffers() {
    check(
        5,
        &[
            "vmovdqa64 v0, [b1 + 0]",
            "vmovdqa64 v1, [b2 + 0]",
            "vpternlogq v0, v1, [b3 + 0], 0x96",
            "vmovdqa64 v1, [b4 + 0]",
            "vpternlogq v0, v1, [b5 + 0], 0x96",
            "vmovdqa64 [b1 + 0], v0",
            "add index, 0x40",
            "jne top",
        ],
    );
}

/// More sources go four at a time, each group over the whole length.
#[test]
fn more_sources_are_groups_of_four() {
    let spec = common::spec(10, linux_options(Destination::Accumulate));
    let (lowered, _) = generate(&spec, Tier::Avx512).unwrap();
    let groups: Vec<(u16, u16)> =
        lowered.plan.driver.groups.iter().map(|g| (g.first, lowered.plan.passes[g.pass].sources)).collect();
    assert_eq!(groups, [(0, 4), (4, 4), (8, 2)]);
    assert_eq!(lowered.plan.driver.block, None);
}

/// Their 128-bit and 256-bit analogues have one loop as well, steered by `add` and `jne` alone.
#[test]
fn narrower_analogues_have_one_loop() {
    for tier in [Tier::Sse2, Tier::Avx2] {
        for sources in 1..=4 {
            let spec = common::spec(sources, linux_options(Destination::Accumulate));
            let (_, codes) = generate(&spec, tier).unwrap();
            let decoded = decode("linux", &codes[0]);
            let branches: Vec<usize> = (0..decoded.len()).filter(|&k| decoded[k].is_jcc_short_or_near()).collect();
            let [end] = branches[..] else { panic!("{tier}, {sources} sources: {} branches", branches.len()) };
            assert_eq!(decoded[end - 1].mnemonic(), Mnemonic::Add);
            let top = decoded.iter().position(|i| i.ip() == decoded[end].near_branch64()).unwrap();
            for i in &decoded[top..end - 1] {
                let aligned = [Mnemonic::Movdqa, Mnemonic::Vmovdqa, Mnemonic::Pxor, Mnemonic::Vpxor];
                assert!(aligned.contains(&i.mnemonic()), "{tier}, {sources} sources: {i}");
            }
        }
    }
}
