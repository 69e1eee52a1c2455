//! What a run must refuse, and that it names the culprit. Each case stands beside its neighbour that is allowed.

mod support;

use iced_x86::IcedError;
use iced_x86::code_asm::*;
use lanesmith_verify::fault::Direction;
use lanesmith_verify::{Access, Code, Fault, FaultKind, Memory, Program, Region, Rules, RunReport, run_sysv};
use support::assemble;

type Written = Result<(), IcedError>;

/// A writable region of 256 bytes, at a multiple of 64: the first argument.
const DEST: u64 = 0x1_0000;
/// A readable region of 100 bytes, at a multiple of 64: the second argument.
const SOURCE: u64 = 0x2_0000;

fn memory() -> Memory {
    let mut memory = Memory::new();
    memory.add(Region::new("dest", DEST, vec![0; 256], Access::ReadWrite)).unwrap();
    memory.add(Region::new("source 0", SOURCE, (0..100).collect(), Access::Read)).unwrap();
    memory
}

fn run(program: &Program, rules: &Rules) -> Result<RunReport, Fault> {
    run_sysv(program, &[DEST, SOURCE], &mut memory(), rules)
}

/// Runs with the default rules; the message of the fault, or an empty string.
fn message(write: impl FnOnce(&mut CodeAssembler) -> Written) -> String {
    with_rules(&Rules::default(), write)
}

fn with_rules(rules: &Rules, write: impl FnOnce(&mut CodeAssembler) -> Written) -> String {
    run(&assemble(write), rules).map_or_else(|fault| fault.to_string(), |_| String::new())
}

/// A move between a vector register and memory, then `ret`.
fn access(write: impl FnOnce(&mut CodeAssembler) -> Written) -> String {
    message(|a| {
        a.vpxor(xmm0, xmm0, xmm0)?;
        write(a)?;
        a.vzeroupper()?;
        a.ret()
    })
}

#[test]
fn out_of_bounds_by_one_byte() {
    assert_eq!(access(|a| a.movdqu(xmm0, ptr(rsi + 84))), "");
    assert_eq!(
        access(|a| a.movdqu(xmm0, ptr(rsi + 85))),
        "+0x4 `movdqu xmm0,[rsi+0x55]`: reads 16 bytes at 0x20055, outside every region; source 0 is 0x20000..0x20064"
    );
    assert_eq!(access(|a| a.movdqu(ptr(rdi + 240), xmm0)), "");
    assert_eq!(
        access(|a| a.movdqu(ptr(rdi + 241), xmm0)),
        "+0x4 `movdqu [rdi+0xf1],xmm0`: writes 16 bytes at 0x100f1, outside every region; dest is 0x10000..0x10100"
    );
    assert_eq!(
        access(|a| a.movzx(eax, byte_ptr(rsi - 1))),
        "+0x4 `movzx eax,byte ptr [rsi-1]`: reads 1 bytes at 0x1ffff, outside every region; source 0 is 0x20000..0x20064"
    );
    assert_eq!(access(|a| a.vmovdqu64(zmm0, ptr(rsi + 36))), "");
    assert!(access(|a| a.vmovdqu64(zmm0, ptr(rsi + 37))).contains("reads 64 bytes at 0x20025"));
    assert!(access(|a| a.vpxorq(zmm0, zmm0, qword_bcst(rsi + 93))).contains("reads 8 bytes at 0x2005d"));
}

#[test]
fn adjacent_regions_are_not_one() {
    let program = assemble(|a| {
        a.mov(rax, ptr(rdi))?;
        a.ret()
    });
    let mut memory = Memory::new();
    memory.add(Region::new("source 0", 0x1000, vec![0; 12], Access::Read)).unwrap();
    memory.add(Region::new("source 1", 0x100c, vec![0; 12], Access::Read)).unwrap();
    assert!(run_sysv(&program, &[0x1004], &mut memory, &Rules::default()).is_ok());
    let fault = run_sysv(&program, &[0x1005], &mut memory, &Rules::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { address: 0x1005, bytes: 8, .. }), "{fault}");
    let overlap = memory.add(Region::new("dest", 0x1017, vec![0; 1], Access::Write)).unwrap_err();
    assert_eq!(overlap.to_string(), "dest at 0x1017..0x1018 overlaps source 1 at 0x100c..0x1018");
    assert!(memory.add(Region::new("dest", 0x1018, vec![0; 1], Access::Write)).is_ok());
    assert!(memory.add(Region::new("before", 0xff0, vec![0; 17], Access::Read)).is_err());
    assert!(memory.add(Region::new("around", 0xff0, vec![0; 256], Access::Read)).is_err());
    assert!(memory.add(Region::new("code", Program::BASE - 1, vec![0; 2], Access::Read)).is_err());
    assert!(memory.add(Region::new("end", u64::MAX, vec![0; 2], Access::Read)).is_err());
    assert!(memory.add(Region::new("before", 0xff0, vec![0; 16], Access::Read)).is_ok());
    // An empty region hides nothing, added before or after.
    memory.add(Region::new("empty", 0x1000, vec![], Access::Read)).unwrap();
    memory.add(Region::new("empty", 0x2000, vec![], Access::Read)).unwrap();
    memory.add(Region::new("source 2", 0x2000, vec![0; 8], Access::Read)).unwrap();
    assert!(run_sysv(&program, &[0x1000], &mut memory, &Rules::default()).is_ok());
    assert!(run_sysv(&program, &[0x2000], &mut memory, &Rules::default()).is_ok());
}

#[test]
fn masked_out_bytes_are_not_accessed() {
    let masked = |bits: i32, write: &dyn Fn(&mut CodeAssembler) -> Written| {
        access(|a| {
            a.mov(eax, bits)?;
            a.kmovd(k1, eax)?;
            write(a)
        })
    };
    let load = |bits, from| masked(bits, &|a| a.vmovdqu8(ymm1.k1().z(), ptr(rsi + from)));
    let store = |bits, to| masked(bits, &|a| a.vmovdqu8(ptr(rdi + to).k1(), ymm0));
    let add = |bits, from| masked(bits, &|a| a.vpxord(zmm1.k1().z(), zmm0, ptr(rsi + from)));
    let broadcast = |bits, from| masked(bits, &|a| a.vpxord(zmm1.k1().z(), zmm0, dword_bcst(rsi + from)));
    assert_eq!(load(0x000f_ffff, 80), "");
    assert!(load(0x001f_ffff, 80).contains("reads 21 bytes at 0x20050"));
    // Only byte 20 of them.
    assert!(load(0x0010_0000, 80).contains("reads 1 bytes at 0x20064"));
    assert_eq!(load(0, 10_000), "");
    assert_eq!(store(0x000f_ffff, 236), "");
    assert!(store(0x001f_ffff, 236).contains("writes 21 bytes at 0x100ec"));
    assert!(store(0x0010_0001, 236).contains("writes 1 bytes at 0x10100"));
    assert_eq!(store(0, 10_000), "");
    assert_eq!(add(0x01ff, 64), "");
    assert!(add(0x03ff, 64).contains("reads 40 bytes at 0x20040"));
    assert_eq!(broadcast(0x8000, 96), "");
    assert!(broadcast(0x8000, 97).contains("reads 4 bytes at 0x20061"));
    // Bits beyond the vector select nothing.
    assert_eq!(broadcast(0x1_0000, 97), "");
}

#[test]
fn regions_that_may_not_be_written_or_read() {
    assert_eq!(
        access(|a| a.movdqu(ptr(rsi), xmm0)),
        "+0x4 `movdqu [rsi],xmm0`: writes 16 bytes at 0x20000, but source 0 may not be written; \
         source 0 is 0x20000..0x20064"
    );
    let program = assemble(|a| {
        a.mov(eax, ptr(rdi))?;
        a.ret()
    });
    let mut memory = Memory::new();
    memory.add(Region::new("dest", DEST, vec![0; 64], Access::Write)).unwrap();
    let fault = run_sysv(&program, &[DEST], &mut memory, &Rules::default()).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Forbidden { direction: Direction::Read, bytes: 4, .. }), "{fault}");
}

#[test]
fn misaligned() {
    assert_eq!(access(|a| a.movdqa(xmm0, ptr(rsi + 16))), "");
    assert_eq!(
        access(|a| a.movdqa(xmm0, ptr(rsi + 8))),
        "+0x4 `movdqa xmm0,[rsi+8]`: the address 0x20008 must be a multiple of 16"
    );
    assert!(access(|a| a.pxor(xmm0, ptr(rsi + 1))).contains("multiple of 16"));
    assert_eq!(access(|a| a.vpxor(xmm0, xmm0, ptr(rsi + 1))), "");
    assert_eq!(access(|a| a.movq(xmm0, ptr(rsi + 1))), "");
    assert!(access(|a| a.vmovdqa(ymm0, ptr(rsi + 16))).contains("multiple of 32"));
    assert!(access(|a| a.vmovdqa64(zmm0, ptr(rsi + 32))).contains("multiple of 64"));
    assert_eq!(access(|a| a.vmovdqa64(ymm0, ptr(rsi + 32))), "");
    assert!(access(|a| a.movntdq(ptr(rdi + 8), xmm0)).contains("multiple of 16"));
    assert!(access(|a| a.vmovntdq(ptr(rdi + 16), ymm0)).contains("multiple of 32"));
    assert_eq!(access(|a| a.vmovdqu64(zmm0, ptr(rsi + 1))), "");
}

#[test]
fn callee_saved_registers() {
    for (register, name) in [(rbx, "rbx"), (rbp, "rbp"), (r12, "r12"), (r13, "r13"), (r14, "r14"), (r15, "r15")] {
        let clobber = |restore: bool| {
            with_rules(&Rules { stack_bytes: 8, ..Rules::default() }, |a| {
                a.push(register)?;
                a.xor(register, register)?;
                if restore {
                    a.pop(register)?
                } else {
                    a.add(rsp, 8)?
                }
                a.ret()
            })
        };
        assert_eq!(clobber(true), "");
        assert!(clobber(false).ends_with(&format!("`ret`: returns without restoring {name}")));
    }
    // Half of a register is not all of it.
    assert!(message(|a| a.mov(ebx, ebx).and_then(|()| a.ret())).contains("restoring rbx"));
}

#[test]
fn undefined_flags() {
    let branch = |write: fn(&mut CodeAssembler) -> Written, jump: fn(&mut CodeAssembler, CodeLabel) -> Written| {
        message(|a| {
            a.mov(eax, 5)?;
            a.mov(ecx, 3)?;
            write(a)?;
            let mut end = a.create_label();
            jump(a, end)?;
            a.set_label(&mut end)?;
            a.ret()
        })
    };
    assert_eq!(branch(|_| Ok(()), |a, l| a.je(l)), "+0xa `je short 0xc`: depends on ZF, which is undefined");
    assert!(branch(|a| a.shl(eax, 2), |a, l| a.jo(l)).ends_with("depends on OF, which is undefined"));
    assert_eq!(branch(|a| a.shl(eax, 1), |a, l| a.jo(l)), "");
    assert_eq!(branch(|a| a.shl(eax, 2), |a, l| a.jb(l)), "");
    assert!(branch(|a| a.shl(al, 8), |a, l| a.jb(l)).ends_with("depends on CF, which is undefined"));
    assert_eq!(branch(|a| a.sar(al, 8), |a, l| a.jb(l)), "");
    assert!(branch(|a| a.shl(eax, cl), |a, l| a.jl(l)).ends_with("depends on OF, which is undefined"));
    // A count of zero leaves flags as they are: undefined, or defined.
    assert!(branch(|a| a.shl(eax, 0), |a, l| a.je(l)).ends_with("depends on ZF, which is undefined"));
    assert_eq!(branch(|a| a.test(eax, eax).and_then(|()| a.shl(eax, 0)), |a, l| a.jo(l)), "");
    assert!(branch(|a| a.andn(eax, eax, eax), |a, l| a.jp(l)).ends_with("depends on PF, which is undefined"));
    assert!(branch(|a| a.inc(eax), |a, l| a.jb(l)).ends_with("depends on CF, which is undefined"));
    assert_eq!(branch(|a| a.inc(eax), |a, l| a.jle(l)), "");
}

#[test]
fn undefined_registers() {
    assert_eq!(message(|a| a.mov(rax, rcx)), "+0x0 `mov rax,rcx`: reads rcx, which is undefined");
    assert_eq!(
        message(|a| a.mov(al, 1).and_then(|()| a.mov(ecx, eax))),
        "+0x2 `mov ecx,eax`: reads the low 4 bytes of rax, which is undefined"
    );
    assert_eq!(message(|a| a.mov(eax, 1).and_then(|()| a.mov(rcx, rax)).and_then(|()| a.ret())), "");
    assert!(message(|a| a.mov(rax, ptr(rsi + r9))).contains("reads r9, which"));
    assert_eq!(message(|a| a.movdqu(ptr(rdi), xmm3)), "+0x0 `movdqu [rdi],xmm3`: reads xmm3, which is undefined");
    assert!(message(|a| a.pxor(xmm3, ptr(rsi))).contains("reads xmm3, which"));
    assert!(message(|a| a.vmovdqu8(zmm0.k3().z(), ptr(rsi))).contains("reads k3, which"));
    // Merging reads the destination, zeroing does not.
    let masked = |write: fn(&mut CodeAssembler) -> Written| {
        message(|a| {
            a.kxnorq(k1, k1, k1)?;
            write(a)?;
            a.vzeroupper()?;
            a.ret()
        })
    };
    assert_eq!(masked(|a| a.vmovdqu64(ymm0.k1().z(), ptr(rsi))), "");
    assert!(masked(|a| a.vmovdqu64(ymm0.k1(), ptr(rsi))).contains("reads ymm0, which"));
    // A legacy load defines the low 128 bits only.
    assert!(
        message(|a| a.movdqu(xmm0, ptr(rsi)).and_then(|()| a.vmovdqu(ptr(rdi), ymm0))).contains("reads ymm0, which")
    );
    assert_eq!(
        masked(|a| a.movdqu(xmm0, ptr(rsi)).and_then(|()| a.vzeroupper()).and_then(|()| a.vmovdqu(ptr(rdi), ymm0))),
        ""
    );
    // What depends on no register.
    assert_eq!(masked(|a| a.pxor(xmm0, xmm0).and_then(|()| a.pcmpeqb(xmm1, xmm1))), "");
    assert_eq!(masked(|a| a.vpternlogq(zmm0, zmm0, zmm0, 0xff).and_then(|()| a.vpxorq(zmm1, zmm9, zmm9))), "");
    assert!(masked(|a| a.vpternlogq(zmm0, zmm0, zmm0, 0x96)).contains("reads zmm0, which"));
    assert!(masked(|a| a.vpxorq(zmm1, zmm9, zmm8)).contains("reads zmm9, which"));
    assert_eq!(message(|a| a.xor(eax, eax).and_then(|()| a.sub(ecx, ecx)).and_then(|()| a.ret())), "");
}

#[test]
fn dirty_upper_halves() {
    let with = |rules: Rules, last: bool| {
        with_rules(&rules, |a| {
            a.vpxor(ymm0, ymm0, ymm0)?;
            if last {
                a.vzeroupper()?;
            }
            a.ret()
        })
    };
    assert_eq!(with(Rules::default(), false), "+0x4 `ret`: returns with dirty upper halves: vzeroupper is missing");
    assert_eq!(with(Rules::default(), true), "");
    assert_eq!(with(Rules { clean_upper: false, ..Rules::default() }, false), "");
    let leaves = |write: fn(&mut CodeAssembler) -> Written| message(|a| write(a).and_then(|()| a.ret()));
    assert_eq!(leaves(|a| a.vpxor(xmm0, xmm0, xmm0)), "");
    assert_eq!(leaves(|a| a.vpxorq(zmm16, zmm16, zmm16)), "");
    assert!(leaves(|a| a.vpxorq(zmm15, zmm15, zmm15)).contains("dirty upper"));
}

#[test]
fn leaving_the_code() {
    assert_eq!(message(|a| a.nop()), "+0x0 `nop`: execution leaves the code, to offset 0x1");
    // jmp to the byte after `ret`; and the first byte of the constants must not be executed either.
    let bytes = [0xeb, 0x01, 0xc3, 0x90, 0xc3, 0, 0, 0];
    let run = |code_len| {
        let program = Program::decode(Code { bytes: &bytes, code_len, pool_at: 5 });
        run_sysv(&program, &[], &mut Memory::new(), &Rules::default()).map_err(|fault| fault.to_string())
    };
    assert!(run(5).is_ok());
    assert!(run(3).unwrap_err().ends_with("execution leaves the code, to offset 0x3"));
    assert_eq!(run(4).unwrap_err(), "+0x3 `nop`: execution leaves the code, to offset 0x4");
    // The last instruction is cut off.
    let program = Program::decode(Code { bytes: &[0x90, 0xb8, 1, 0, 0, 0, 0xc3], code_len: 5, pool_at: 7 });
    let fault = run_sysv(&program, &[], &mut Memory::new(), &Rules::default()).unwrap_err();
    assert_eq!((fault.offset, fault.kind), (1, FaultKind::Invalid));
    let fault = run_sysv(&Program::decode(Code::new(&[])), &[], &mut Memory::new(), &Rules::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::OutsideCode { target: 0 });
}

#[test]
fn constants_are_data_and_code_is_not() {
    // mov eax, [rip + 9]; ret; padding; constants at 16.
    let mut bytes = vec![0x8b, 0x05, 10, 0, 0, 0, 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc];
    bytes.extend(0x1122_3344u32.to_le_bytes());
    let run = |bytes: &[u8]| {
        let program = Program::decode(Code { bytes, code_len: 7, pool_at: 16 });
        run_sysv(&program, &[], &mut Memory::new(), &Rules::default())
    };
    assert_eq!(run(&bytes).unwrap().rax, Some(0x1122_3344));
    for displacement in [9, 11, 0] {
        bytes[2] = displacement;
        assert!(matches!(run(&bytes).unwrap_err().kind, FaultKind::OutOfBounds { .. }), "{displacement}");
    }
}

#[test]
fn stack() {
    let rules = |stack_bytes, red_zone| Rules { stack_bytes, red_zone, ..Rules::default() };
    let pushes = |a: &mut CodeAssembler| {
        a.push(rbx)?;
        a.push(rbp)?;
        a.pop(rbp)?;
        a.pop(rbx)?;
        a.ret()
    };
    assert_eq!(with_rules(&rules(16, false), pushes), "");
    assert_eq!(
        with_rules(&rules(8, false), pushes),
        "+0x1 `push rbp`: moves rsp to -16 from its value on entry; it may go down by 8, in steps of 8"
    );
    assert!(
        with_rules(&rules(8, false), |a| a.push(rbx).and_then(|()| a.ret())).ends_with("not where it was on entry")
    );
    assert!(with_rules(&rules(64, false), |a| a.sub(rsp, 4)).contains("moves rsp to -4"));
    assert!(
        with_rules(&rules(64, false), |a| a.pop(rax)).contains("8 bytes of the stack outside its frame, at 0 from")
    );
    // The return address and the caller's frame.
    let touch = |displacement: i32, rules: Rules| {
        with_rules(&rules, |a| {
            a.mov(qword_ptr(rsp + displacement), 0)?;
            a.mov(rax, qword_ptr(rsp + displacement))?;
            a.ret()
        })
    };
    assert_eq!(
        touch(0, rules(64, true)),
        "+0x0 `mov qword ptr [rsp],0`: writes 8 bytes of the stack outside its frame, at 0 from rsp on entry"
    );
    assert!(touch(8, rules(64, true)).contains("outside its frame, at 8"));
    assert!(touch(-4, rules(64, true)).contains("outside its frame, at -4"));
    // The red zone.
    assert_eq!(touch(-8, rules(0, true)), "");
    assert_eq!(touch(-128, rules(0, true)), "");
    assert!(touch(-129, rules(0, true)).contains("outside its frame, at -129"));
    assert!(touch(-8, rules(64, false)).contains("outside its frame, at -8"));
    // A byte that nothing has written, and one that the stack pointer has left behind.
    assert!(
        with_rules(&rules(16, false), |a| a.sub(rsp, 16).and_then(|()| a.mov(eax, ptr(rsp + 4))))
            .contains("reads a stack byte that was never written, at -12")
    );
    let left = |a: &mut CodeAssembler| {
        a.push(rbx)?;
        a.pop(rbx)?;
        a.sub(rsp, 8)?;
        a.mov(rax, ptr(rsp))
    };
    assert!(with_rules(&rules(16, false), left).contains("never written, at -8"));
}

#[test]
fn step_limit() {
    let forever = assemble(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top)?;
        a.nop()?;
        a.jmp(top)
    });
    let fault = run(&forever, &Rules { step_limit: 1000, ..Rules::default() }).unwrap_err();
    assert_eq!((fault.kind, fault.steps), (FaultKind::StepLimit(1000), 1000));
}

#[test]
fn unsupported() {
    assert_eq!(message(|a| a.cpuid()), "+0x0 `cpuid`: is not supported by the interpreter");
    assert!(message(|a| a.std()).contains("`std`: is not supported"));
    assert!(message(|a| a.vaddps(ymm0, ymm0, ymm0)).contains("not supported"));
    assert!(message(|a| a.pxor(mm0, mm0)).contains("not supported"));
    assert!(message(|a| a.mov(ah, 1)).contains("not supported"));
    assert!(message(|a| a.jmp(rsi)).contains("not supported"));
    assert!(message(|a| a.ret_1(8)).contains("not supported"));
    assert!(message(|a| a.mov(eax, ptr(esi))).contains("not supported"));
    assert!(message(|a| a.mov(rax, ptr(rsi).fs())).contains("not supported"));
    assert!(message(|a| a.lock().add(dword_ptr(rdi), 1)).contains("not supported"));
    assert!(message(|a| a.rep().movsb()).contains("not supported"));
    for prefixed in [[0xf3, 0xc3], [0xf2, 0xc3]] {
        let fault = run(&Program::decode(Code::new(&prefixed)), &Rules::default()).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unsupported, "{fault}");
    }
    // An instruction that is not supported matters only where it is executed.
    assert_eq!(message(|a| a.ret().and_then(|()| a.cpuid())), "");
    let fault = run_sysv(&Program::decode(Code::new(&[0x06])), &[], &mut memory(), &Rules::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Invalid);
}
