//! Small functions from entry to `ret`: branches, the stack, and XOR loops of three kinds against plain Rust.

mod support;

use iced_x86::code_asm::*;
use lanesmith_verify::{Access, Memory, Program, Region, Rules, run_sysv};
use support::assemble;

/// `cmp` of edge values, then each condition both as a branch and as Rust has it.
#[test]
fn every_branch_condition() {
    type Jump = fn(&mut CodeAssembler, CodeLabel) -> Result<(), iced_x86::IcedError>;
    type Meaning = fn(u64, u64) -> bool;
    let s = |value: u64| value as i64;
    assert!(s(u64::MAX) < 0);
    let conditions: [(Jump, Meaning); 16] = [
        (|a, l| a.je(l), |x, y| x == y),
        (|a, l| a.jne(l), |x, y| x != y),
        (|a, l| a.jb(l), |x, y| x < y),
        (|a, l| a.jae(l), |x, y| x >= y),
        (|a, l| a.jbe(l), |x, y| x <= y),
        (|a, l| a.ja(l), |x, y| x > y),
        (|a, l| a.jl(l), |x, y| (x as i64) < y as i64),
        (|a, l| a.jge(l), |x, y| x as i64 >= y as i64),
        (|a, l| a.jle(l), |x, y| x as i64 <= y as i64),
        (|a, l| a.jg(l), |x, y| x as i64 > y as i64),
        (|a, l| a.js(l), |x, y| (x.wrapping_sub(y) as i64) < 0),
        (|a, l| a.jns(l), |x, y| x.wrapping_sub(y) as i64 >= 0),
        (|a, l| a.jo(l), |x, y| (x as i64).checked_sub(y as i64).is_none()),
        (|a, l| a.jno(l), |x, y| (x as i64).checked_sub(y as i64).is_some()),
        (|a, l| a.jp(l), |x, y| (x.wrapping_sub(y) as u8).count_ones().is_multiple_of(2)),
        (|a, l| a.jnp(l), |x, y| !(x.wrapping_sub(y) as u8).count_ones().is_multiple_of(2)),
    ];
    let edges = [0, 1, 2, 0x7f, 0xff, i64::MAX as u64, i64::MIN as u64, u64::MAX - 1, u64::MAX];
    for (i, (jump, meaning)) in conditions.into_iter().enumerate() {
        let program = assemble(|a| {
            let mut yes = a.create_label();
            a.cmp(rdi, rsi)?;
            a.mov(eax, 1)?;
            jump(a, yes)?;
            a.xor(eax, eax)?;
            a.set_label(&mut yes)?;
            a.ret()
        });
        for (x, y) in edges.iter().flat_map(|&x| edges.map(|y| (x, y))) {
            let report = run_sysv(&program, &[x, y], &mut Memory::new(), &Rules::default()).unwrap();
            assert_eq!(report.rax, Some(u64::from(meaning(x, y))), "condition {i}: {x:#x}, {y:#x}");
        }
    }
}

#[test]
fn pushes_and_pops_are_a_stack() {
    let program = assemble(|a| {
        a.push(rbx)?;
        a.push(rdi)?;
        a.push(-2)?;
        a.push(qword_ptr(rsi))?;
        a.pop(rcx)?;
        a.pop(rdx)?;
        a.pop(rbx)?;
        a.lea(rax, ptr(rcx + rdx * 4))?;
        a.add(rax, rbx)?;
        a.pop(rbx)?;
        a.ret()
    });
    let mut memory = Memory::new();
    memory.add(Region::new("number", 0x1000, 1000u64.to_le_bytes().to_vec(), Access::Read)).unwrap();
    let rules = Rules { stack_bytes: 32, ..Rules::default() };
    let report = run_sysv(&program, &[7, 0x1000], &mut memory, &rules).unwrap();
    assert_eq!(report.rax, Some(1000 - 8 + 7));
    assert_eq!((report.steps, report.loads, report.stores), (11, 5, 4));
}

/// dest = source 0 ^ source 1: 16 bytes a turn, then 8, 4, 2 and 1; rdi, rsi, rdx, len in rcx.
fn xor_sse2() -> Program {
    assemble(|a| {
        let mut labels: Vec<CodeLabel> = (0..6).map(|_| a.create_label()).collect();
        let mut top = a.create_label();
        a.endbr64()?;
        a.xor(eax, eax)?;
        a.sub(rcx, 16)?;
        a.jb(labels[0])?;
        a.set_label(&mut top)?;
        a.movdqu(xmm0, ptr(rsi + rax))?;
        a.movdqu(xmm1, ptr(rdx + rax))?;
        a.pxor(xmm0, xmm1)?;
        a.movdqu(ptr(rdi + rax), xmm0)?;
        a.add(rax, 16)?;
        a.sub(rcx, 16)?;
        a.jae(top)?;
        for (i, size) in [8, 4, 2, 1].into_iter().enumerate() {
            a.set_label(&mut labels[i])?;
            a.test(cl, size)?;
            a.je(labels[i + 1])?;
            match size {
                8 => {
                    a.movq(xmm0, ptr(rsi + rax))?;
                    a.movq(xmm1, ptr(rdx + rax))?;
                    a.pxor(xmm0, xmm1)?;
                    a.movq(ptr(rdi + rax), xmm0)?;
                }
                4 => {
                    a.movd(xmm0, ptr(rsi + rax))?;
                    a.movd(xmm1, ptr(rdx + rax))?;
                    a.pxor(xmm0, xmm1)?;
                    a.movd(ptr(rdi + rax), xmm0)?;
                }
                2 => {
                    a.movzx(r8d, word_ptr(rsi + rax))?;
                    a.xor(r8w, word_ptr(rdx + rax))?;
                    a.mov(word_ptr(rdi + rax), r8w)?;
                }
                _ => {
                    a.movzx(r8d, byte_ptr(rsi + rax))?;
                    a.xor(r8b, byte_ptr(rdx + rax))?;
                    a.mov(byte_ptr(rdi + rax), r8b)?;
                }
            }
            a.add(rax, size)?;
        }
        a.set_label(&mut labels[4])?;
        a.ret()
    })
}

/// The same with an index from −len up and a masked tail.
fn xor_avx512() -> Program {
    assemble(|a| {
        let (mut top, mut tail, mut end) = (a.create_label(), a.create_label(), a.create_label());
        a.mov(rax, rcx)?;
        a.and(rax, -64)?;
        a.add(rdi, rax)?;
        a.add(rsi, rax)?;
        a.add(rdx, rax)?;
        a.neg(rax)?;
        a.je(tail)?;
        a.set_label(&mut top)?;
        a.vmovdqu64(zmm0, ptr(rsi + rax))?;
        a.vpxorq(zmm0, zmm0, ptr(rdx + rax))?;
        a.vmovdqu64(ptr(rdi + rax), zmm0)?;
        a.add(rax, 64)?;
        a.jne(top)?;
        a.set_label(&mut tail)?;
        a.and(ecx, 63)?;
        a.je(end)?;
        a.mov(rax, -1i64)?;
        a.bzhi(rax, rax, rcx)?;
        a.kmovq(k1, rax)?;
        a.vmovdqu8(zmm0.k1().z(), ptr(rsi))?;
        a.vmovdqu8(zmm1.k1().z(), ptr(rdx))?;
        a.vpxorq(zmm0, zmm0, zmm1)?;
        a.vmovdqu8(ptr(rdi).k1(), zmm0)?;
        a.set_label(&mut end)?;
        a.vzeroupper()?;
        a.ret()
    })
}

/// Whether `len` bytes are zero, 32 at a time and then byte by byte: rdi, rsi = len.
fn zero_test_avx2() -> Program {
    assemble(|a| {
        let (mut top, mut bytes, mut byte, mut end) =
            (a.create_label(), a.create_label(), a.create_label(), a.create_label());
        a.vpxor(xmm0, xmm0, xmm0)?;
        a.xor(ecx, ecx)?;
        a.set_label(&mut top)?;
        a.cmp(rsi, 32)?;
        a.jb(bytes)?;
        a.vpor(ymm0, ymm0, ptr(rdi))?;
        a.add(rdi, 32)?;
        a.sub(rsi, 32)?;
        a.jmp(top)?;
        a.set_label(&mut bytes)?;
        a.test(rsi, rsi)?;
        a.je(end)?;
        a.set_label(&mut byte)?;
        a.or(cl, byte_ptr(rdi))?;
        a.inc(rdi)?;
        a.dec(rsi)?;
        a.jne(byte)?;
        a.set_label(&mut end)?;
        a.xor(eax, eax)?;
        a.vptest(ymm0, ymm0)?;
        a.sete(al)?;
        a.test(cl, cl)?;
        a.mov(ecx, 0)?;
        a.cmovne(eax, ecx)?;
        a.vzeroupper()?;
        a.ret()
    })
}

fn buffer(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i * 31 + i * 7 + seed * 101) as u8).collect()
}

#[test]
fn xor_of_two_sources_at_every_length() {
    for (name, program) in [("sse2", xor_sse2()), ("avx512", xor_avx512())] {
        for len in 0..300 {
            let (a, b) = (buffer(len, 1), buffer(len, 2));
            let want: Vec<u8> = a.iter().zip(&b).map(|(a, b)| a ^ b).collect();
            let mut memory = Memory::new();
            // The regions are exactly as long as the contract says: one byte more would be a fault.
            memory.add(Region::new("dest", 0x1_0003, vec![0; len], Access::Write)).unwrap();
            memory.add(Region::new("source 0", 0x2_0001, a, Access::Read)).unwrap();
            memory.add(Region::new("source 1", 0x3_0000, b, Access::Read)).unwrap();
            let arguments = [0x1_0003, 0x2_0001, 0x3_0000, len as u64];
            run_sysv(&program, &arguments, &mut memory, &Rules::default())
                .unwrap_or_else(|fault| panic!("{name}, {len} bytes: {fault}"));
            assert_eq!(memory.bytes("dest").unwrap(), want, "{name}, {len} bytes");
        }
    }
}

#[test]
fn zero_test_at_every_length_and_position() {
    let program = zero_test_avx2();
    for len in 0..100 {
        for set in (0..len).map(Some).chain([None]) {
            let mut bytes = vec![0; len];
            set.into_iter().for_each(|at: usize| bytes[at] = 1 << (at % 8));
            let mut memory = Memory::new();
            memory.add(Region::new("data", 0x1_0001, bytes, Access::Read)).unwrap();
            let report = run_sysv(&program, &[0x1_0001, len as u64], &mut memory, &Rules::default()).unwrap();
            assert_eq!(report.rax, Some(u64::from(set.is_none())), "{len} bytes, {set:?}");
        }
    }
}

/// A bound that only a change for the worse of an order of magnitude can miss, even on a busy machine.
#[test]
fn a_step_is_quick() {
    let program = xor_avx512();
    let len = 1 << 16;
    let mut memory = Memory::new();
    for (name, start) in [("dest", 0x100_0000), ("source 0", 0x200_0000), ("source 1", 0x300_0000)] {
        memory.add(Region::new(name, start, buffer(len, 0), Access::ReadWrite)).unwrap();
    }
    let start = std::time::Instant::now();
    let arguments = [0x100_0000, 0x200_0000, 0x300_0000, len as u64];
    let mut steps = 0;
    for _ in 0..20 {
        steps += run_sysv(&program, &arguments, &mut memory, &Rules::default()).unwrap().steps;
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / steps as f64;
    eprintln!("{nanoseconds:.1} ns a step");
    assert!(nanoseconds < 2000.0, "{nanoseconds} ns a step");
}
