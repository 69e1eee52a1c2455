//! Fletcher kernels against the definition: on this CPU, and every tier's on every machine in the interpreter.
#![cfg(feature = "jit")]

mod common;

use std::thread;

use common::Random;
use lanesmith::codegen::kernel::fletcher::{Fold, Lowered, MAX_STATE_LANES};
use lanesmith::codegen::spec::{Algorithm, FletcherOptions, FletcherSpec, Formulation};
use lanesmith::codegen::target::Tier;
use lanesmith::cpu::{Cpu, FLETCHER};
use lanesmith::fletcher_kernel::{FletcherKernel, State, generate};
use lanesmith_verify::{Access, Code, Memory, Program, Region, Rules, run_sysv};

const UNROLLS: [Option<u8>; 5] = [None, Some(1), Some(2), Some(4), Some(8)];

/// The definition, and nothing else.
fn reference(data: &[u8], byteswap: bool) -> [u64; 4] {
    let (mut a, mut b, mut c, mut d) = (0u64, 0u64, 0u64, 0u64);
    for word in data.chunks_exact(4) {
        let word: [u8; 4] = word.try_into().unwrap();
        let w = if byteswap { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) };
        a = a.wrapping_add(w.into());
        b = b.wrapping_add(a);
        c = c.wrapping_add(b);
        d = d.wrapping_add(c);
    }
    [a, b, c, d]
}

fn random_bytes(len: usize) -> Vec<u8> {
    let mut random = Random::new(0xF1E7_C4E2);
    (0..len).map(|_| random.below(256) as u8).collect()
}

fn specs(unrolls: &[Option<u8>]) -> Vec<FletcherSpec> {
    let mut specs = Vec::new();
    for formulation in [Formulation::Lanes, Formulation::Split] {
        for byteswap in [false, true] {
            for &unroll in unrolls {
                let options = FletcherOptions { byteswap, formulation, unroll };
                specs.push(FletcherSpec::with(Algorithm::Fletcher4, options).unwrap());
            }
        }
    }
    specs
}

/// Every kernel that this machine can run; the other tiers are named on standard error.
fn kernels_here(unrolls: &[Option<u8>]) -> Vec<FletcherKernel> {
    let choice = Cpu::get().choose(&FLETCHER);
    let (here, skipped): (Vec<_>, Vec<_>) =
        Tier::FLETCHER.into_iter().partition(|t| choice.next_legal_at_or_below(*t) == Some(*t));
    skipped.iter().for_each(|tier| eprintln!("skipped: {tier} cannot run on this machine"));
    let all = here.iter().flat_map(|tier| specs(unrolls).into_iter().map(move |spec| (spec, *tier)));
    all.map(|(spec, tier)| FletcherKernel::compile_for(&spec, tier).unwrap()).collect()
}

fn byteswap(kernel: &FletcherKernel) -> bool {
    kernel.lowered().plan.spec.options().byteswap
}

#[test]
fn every_length_to_8_kib() {
    let kernels = kernels_here(&UNROLLS);
    for data in [random_bytes(8192), vec![0xFF; 8192]] {
        for len in (0..=data.len()).step_by(4) {
            let expected = [false, true].map(|byteswap| reference(&data[..len], byteswap));
            for kernel in &kernels {
                assert_eq!(
                    kernel.sum(&data[..len]),
                    expected[usize::from(byteswap(kernel))],
                    "{kernel:?}, {len} bytes"
                );
            }
        }
    }
}

#[test]
fn every_alignment() {
    let data = random_bytes(2048 + 64);
    for kernel in kernels_here(&[None]) {
        for start in 0..64 {
            for len in [0, 4, 64, 252, 256, 1020, 2048] {
                let part = &data[start..start + len];
                assert_eq!(kernel.sum(part), reference(part, byteswap(&kernel)), "{kernel:?}, {len} bytes at {start}");
            }
        }
    }
}

/// Sums that wrap many times: the identities hold modulo 2^64.
#[test]
fn a_long_buffer_of_ones() {
    let data = vec![0xFF; 16 << 20];
    let expected = reference(&data, false);
    for kernel in kernels_here(&[None]) {
        assert_eq!(kernel.sum(&data), expected, "{kernel:?}");
    }
}

#[test]
fn a_known_answer() {
    let data: Vec<u8> = (0..8192).map(|i| i as u8).collect();
    let native = [0x040c_03fb_f000, 0x0010_0743_1eeb_5000, 0x2a8f_9075_28f6_a800, 0xccba_f6a4_3854_9800];
    assert_eq!(reference(&data, false), native);
    for kernel in kernels_here(&[None]).iter().filter(|k| !byteswap(k)) {
        assert_eq!(kernel.sum(&data), native, "{kernel:?}");
    }
    if let Some(kernel) = FletcherKernel::preferred(false) {
        assert_eq!(kernel.sum(&data), native, "{kernel:?}");
        assert!(std::ptr::eq(kernel, FletcherKernel::preferred(false).unwrap()), "compiled once");
    }
}

/// The state carries the sums from call to call, whatever the pieces.
#[test]
fn steps_in_pieces() {
    let data = random_bytes(64 * 40);
    for kernel in kernels_here(&[None, Some(8)]) {
        let mut random = Random::new(7);
        for _ in 0..50 {
            let mut state = State::ZERO;
            let mut at = 0;
            while at < data.len() {
                let end = (at + random.below(6) * kernel.step_bytes()).min(data.len());
                assert!(kernel.steps(&mut state, &data[at..end]).is_empty());
                at = end;
            }
            assert_eq!(kernel.totals(&state), reference(&data, byteswap(&kernel)), "{kernel:?}");
        }
    }
}

/// A kernel as the interpreter takes it, on any machine.
struct Interpreted {
    what: String,
    lowered: Lowered,
    fold: Fold,
    program: Program,
}

impl Interpreted {
    fn new(spec: &FletcherSpec, tier: Tier) -> Interpreted {
        let (lowered, code) = generate(spec, tier).unwrap();
        let program = Program::decode(Code { bytes: &code.bytes, code_len: code.code_len, pool_at: code.pool_at });
        Interpreted { what: format!("{spec} on {tier}"), fold: Fold::new(&lowered.plan), lowered, program }
    }

    /// Runs `steps` steps in a memory that has exactly the state and the data, from a state that is continued.
    fn check(&self, data: &[u8], misaligned: u64) {
        let plan = &self.lowered.plan;
        let (step, byteswap) = (plan.step_bytes as usize, plan.spec.options().byteswap);
        let steps = data.len() / step;
        let data = &data[..steps * step];
        let mut state = vec![0; plan.state_lanes() * 8];
        for part in [0..steps / 3, steps / 3..steps] {
            let mut memory = Memory::new();
            let bytes = data[part.start * step..part.end * step].to_vec();
            memory.add(Region::new("state", 0x1_0000, state.clone(), Access::ReadWrite)).unwrap();
            memory.add(Region::new("data", 0x10_0000 + misaligned, bytes, Access::Read)).unwrap();
            let arguments = [0x1_0000, 0x10_0000 + misaligned, part.len() as u64];
            let rules = Rules { stack_bytes: self.lowered.contract.stack.into(), ..Rules::default() };
            run_sysv(&self.program, &arguments, &mut memory, &rules)
                .unwrap_or_else(|fault| panic!("{}, {steps} steps: {fault}", self.what));
            state.copy_from_slice(memory.bytes("state").unwrap());
        }
        let mut lanes = [0; MAX_STATE_LANES];
        for (lane, bytes) in lanes.iter_mut().zip(state.as_chunks::<8>().0) {
            *lane = u64::from_le_bytes(*bytes);
        }
        assert_eq!(self.fold.totals(&lanes), reference(data, byteswap), "{}, {steps} steps", self.what);
    }
}

#[test]
fn every_tier_in_the_interpreter() {
    thread::scope(|scope| {
        for tier in Tier::FLETCHER {
            scope.spawn(move || {
                for spec in specs(&UNROLLS) {
                    let kernel = Interpreted::new(&spec, tier);
                    for data in [random_bytes(64 * 40), vec![0xFF; 64 * 40]] {
                        for steps in 0..=40 {
                            let misaligned = (steps as u64 * 5) % 64;
                            kernel.check(&data[..steps * kernel.lowered.plan.step_bytes as usize], misaligned);
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn every_alignment_in_the_interpreter() {
    let data = random_bytes(64 * 11);
    for tier in Tier::FLETCHER {
        for spec in specs(&[None]) {
            let kernel = Interpreted::new(&spec, tier);
            (0..64).for_each(|misaligned| kernel.check(&data, misaligned));
        }
    }
}
