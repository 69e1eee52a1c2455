//! Executing one instruction on a given state: the only unsafe code of this crate.
//!
//! ```text
//! load: all registers from STATE ──jmp──▶ code page: the instruction; jmp save ──▶ save: all registers to STATE
//!                                              │ faults                             ▲
//!                                              └──▶ signal handler: notes the trap ─┘
//! ```

use std::arch::naked_asm;
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, offset_of, zeroed};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::state::{PAGE, State};

/// What the trampoline shares with Rust.
#[repr(C, align(64))]
struct Shared {
    state: State,
    /// The stack pointer of the caller while the instruction runs.
    host_rsp: u64,
    /// Address of the instruction.
    entry: u64,
}

struct SharedCell(UnsafeCell<Shared>);

// SAFETY: only a `Cpu` touches the cell, and it holds the lock on `OWNER`.
unsafe impl Sync for SharedCell {}

static SHARED: SharedCell = SharedCell(UnsafeCell::new(Shared { state: State::ZERO, host_rsp: 0, entry: 0 }));
static OWNER: Mutex<()> = Mutex::new(());

/// For the signal handler: the code page, where to go on, and what it saw. Trap 0 (divide error) cannot happen here, so
/// zero is none.
static CODE: AtomicU64 = AtomicU64::new(0);
static RESUME: AtomicU64 = AtomicU64::new(0);
static TRAP: AtomicU64 = AtomicU64::new(0);

/// A trap of the CPU, by its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trap {
    /// 6.
    InvalidOpcode,
    /// 13: here, an address that is not aligned.
    GeneralProtection,
    /// 14: an address outside the page.
    PageFault,
    Other(u64),
}

/// How much of the vector registers this CPU has, and so which trampoline to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) vectors: usize,
    pub(super) bytes: usize,
    pub(super) masks: bool,
}

impl Extent {
    pub(super) fn detect() -> Extent {
        if is_x86_feature_detected!("avx512bw") {
            Extent { vectors: 32, bytes: 64, masks: true }
        } else if is_x86_feature_detected!("avx") {
            Extent { vectors: 16, bytes: 32, masks: false }
        } else {
            Extent { vectors: 16, bytes: 16, masks: false }
        }
    }
}

/// Defines a pair of functions, `load` and `save`, that move vector registers (and opmasks) with the given instructions.
macro_rules! trampoline {
    ($load:ident, $save:ident, $vectors:literal, $load_vec:literal, $save_vec:literal, $load_mask:literal,
     $save_mask:literal, $leave:literal) => {
        /// # Safety
        ///
        /// `Shared::entry` must be executable code that writes no memory but what the state's registers point to and ends
        /// with a jump to the function of the pair that saves.
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $load() {
            naked_asm!(
                "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
                "mov [rip + {shared} + {host_rsp}], rsp",
                $load_mask,
                ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                $load_vec,
                ".endr",
                $vectors,
                $load_vec,
                ".endr",
                "push qword ptr [rip + {shared} + {rflags}]",
                "popfq",
                "mov rax, [rip + {shared} + {gprs}]",
                "mov rcx, [rip + {shared} + {gprs} + 8]",
                "mov rdx, [rip + {shared} + {gprs} + 16]",
                "mov rbx, [rip + {shared} + {gprs} + 24]",
                "mov rsp, [rip + {shared} + {gprs} + 32]",
                "mov rbp, [rip + {shared} + {gprs} + 40]",
                "mov rsi, [rip + {shared} + {gprs} + 48]",
                "mov rdi, [rip + {shared} + {gprs} + 56]",
                ".irp i, 8,9,10,11,12,13,14,15",
                "mov r\\i, [rip + {shared} + {gprs} + 8 * \\i]",
                ".endr",
                "jmp qword ptr [rip + {shared} + {entry}]",
                shared = sym SHARED,
                state = const offset_of!(Shared, state),
                masks = const offset_of!(Shared, state) + offset_of!(State, masks),
                gprs = const offset_of!(Shared, state) + offset_of!(State, gprs),
                rflags = const offset_of!(Shared, state) + offset_of!(State, rflags),
                host_rsp = const offset_of!(Shared, host_rsp),
                entry = const offset_of!(Shared, entry),
            )
        }

        /// # Safety
        ///
        /// Only to be jumped to after the function of the pair that loads. `mov` comes first, for it leaves the flags alone.
        #[unsafe(naked)]
        unsafe extern "sysv64" fn $save() {
            naked_asm!(
                "mov [rip + {shared} + {gprs}], rax",
                "mov [rip + {shared} + {gprs} + 8], rcx",
                "mov [rip + {shared} + {gprs} + 16], rdx",
                "mov [rip + {shared} + {gprs} + 24], rbx",
                "mov [rip + {shared} + {gprs} + 32], rsp",
                "mov [rip + {shared} + {gprs} + 40], rbp",
                "mov [rip + {shared} + {gprs} + 48], rsi",
                "mov [rip + {shared} + {gprs} + 56], rdi",
                ".irp i, 8,9,10,11,12,13,14,15",
                "mov [rip + {shared} + {gprs} + 8 * \\i], r\\i",
                ".endr",
                "mov rsp, [rip + {shared} + {host_rsp}]",
                "pushfq",
                "pop qword ptr [rip + {shared} + {rflags}]",
                ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15",
                $save_vec,
                ".endr",
                $vectors,
                $save_vec,
                ".endr",
                $save_mask,
                $leave,
                "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
                "ret",
                shared = sym SHARED,
                state = const offset_of!(Shared, state),
                masks = const offset_of!(Shared, state) + offset_of!(State, masks),
                gprs = const offset_of!(Shared, state) + offset_of!(State, gprs),
                rflags = const offset_of!(Shared, state) + offset_of!(State, rflags),
                host_rsp = const offset_of!(Shared, host_rsp),
            )
        }
    };
}

// Every operand of the macro must be named somewhere, hence the comments in place of instructions below.
trampoline!(
    load_avx512,
    save_avx512,
    ".irp i, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vmovups zmm\\i, [rip + {shared} + {state} + 64 * \\i]",
    "vmovups [rip + {shared} + {state} + 64 * \\i], zmm\\i",
    ".irp i, 0,1,2,3,4,5,6,7\nkmovq k\\i, [rip + {shared} + {masks} + 8 * \\i]\n.endr",
    ".irp i, 0,1,2,3,4,5,6,7\nkmovq [rip + {shared} + {masks} + 8 * \\i], k\\i\n.endr",
    "vzeroupper"
);
trampoline!(
    load_avx,
    save_avx,
    ".rept 0",
    "vmovups ymm\\i, [rip + {shared} + {state} + 64 * \\i]",
    "vmovups [rip + {shared} + {state} + 64 * \\i], ymm\\i",
    "// {masks}",
    "// {masks}",
    "vzeroupper"
);
trampoline!(
    load_sse,
    save_sse,
    ".rept 0",
    "movups xmm\\i, [rip + {shared} + {state} + 64 * \\i]",
    "movups [rip + {shared} + {state} + 64 * \\i], xmm\\i",
    "// {masks}",
    "// {masks}",
    ""
);

/// The CPU, ready to execute one instruction at a time. While it lives, it owns the trampoline and the handlers of this
/// process for SIGSEGV, SIGBUS and SIGILL; faults elsewhere end the process as they do without a handler.
pub(super) struct Cpu {
    code: *mut u8,
    /// Three pages: inaccessible, data, inaccessible.
    data: *mut u8,
    alternate: Vec<u8>,
    old_alternate: libc::stack_t,
    old_handlers: [libc::sigaction; SIGNALS.len()],
    load: unsafe extern "sysv64" fn(),
    save: unsafe extern "sysv64" fn(),
    _owner: MutexGuard<'static, ()>,
}

const SIGNALS: [libc::c_int; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL];
/// Jump through the 8 bytes that follow.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

impl Cpu {
    /// Takes the CPU, waiting for whoever has it.
    pub(super) fn take(extent: Extent) -> Cpu {
        let owner = OWNER.lock().unwrap_or_else(PoisonError::into_inner);
        let (load, save) = match extent.bytes {
            64 => (load_avx512 as unsafe extern "sysv64" fn(), save_avx512 as unsafe extern "sysv64" fn()),
            32 => (load_avx as _, save_avx as _),
            _ => (load_sse as _, save_sse as _),
        };
        let code = map(PAGE, libc::PROT_READ | libc::PROT_WRITE);
        let data = map(3 * PAGE, libc::PROT_NONE);
        // SAFETY: the middle page belongs to the mapping just made.
        protect(unsafe { data.add(PAGE) }, libc::PROT_READ | libc::PROT_WRITE);
        CODE.store(code as u64, Ordering::SeqCst);
        RESUME.store(save as usize as u64, Ordering::SeqCst);

        // The instruction may have any rsp, so a handler needs a stack of its own.
        let mut alternate = vec![0; 64 << 10];
        let stack = libc::stack_t { ss_sp: alternate.as_mut_ptr().cast(), ss_flags: 0, ss_size: alternate.len() };
        let mut old_alternate = MaybeUninit::uninit();
        // SAFETY: both point to valid structures; `alternate` outlives its use, see `drop`.
        let result = unsafe { libc::sigaltstack(&stack, old_alternate.as_mut_ptr()) };
        assert_eq!(result, 0, "sigaltstack: {}", std::io::Error::last_os_error());
        let old_handlers = SIGNALS.map(|signal| {
            // SAFETY: all zeros is a valid sigaction, and the handler only does what a handler may do.
            unsafe {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let mut old = zeroed();
                assert_eq!(libc::sigaction(signal, &action, &mut old), 0, "{}", std::io::Error::last_os_error());
                old
            }
        });
        // SAFETY: sigaltstack succeeded and so filled it in.
        let old_alternate = unsafe { old_alternate.assume_init() };
        Cpu { code, data, alternate, old_alternate, old_handlers, load, save, _owner: owner }
    }

    /// Address of the instruction.
    pub(super) fn code_address(&self) -> u64 {
        self.code as u64
    }

    /// Address of the data page. It is below 2³¹, so that 32-bit displacements reach it.
    pub(super) fn data_address(&self) -> u64 {
        self.data as u64 + PAGE as u64
    }

    /// The data page.
    pub(super) fn data(&mut self) -> &mut [u8; PAGE] {
        // SAFETY: the middle page is readable and writable, lives as long as `self`, and is borrowed from it exclusively.
        unsafe { &mut *self.data.add(PAGE).cast() }
    }

    /// Sets the instruction to be executed.
    pub(super) fn set_instruction(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= 15, "an instruction has at most 15 bytes");
        let back = (self.save as usize as u64).to_le_bytes();
        let all: Vec<u8> = bytes.iter().chain(&JUMP).chain(&back).copied().collect();
        protect(self.code, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: at most 29 bytes, into a page that is writable now and not executed meanwhile, for `self` is exclusive.
        unsafe { self.code.copy_from_nonoverlapping(all.as_ptr(), all.len()) };
        protect(self.code, libc::PROT_READ | libc::PROT_EXEC);
    }

    /// Executes the instruction.
    ///
    /// # Safety
    ///
    /// With this state it must not write memory other than the data page (or fault trying), must not branch, and must not
    /// change any state of the CPU that is not part of `State`.
    pub(super) unsafe fn execute(&mut self, state: &mut State) -> Result<(), Trap> {
        TRAP.store(0, Ordering::SeqCst);
        let shared = SHARED.0.get();
        // SAFETY: `self` holds the lock, so nobody else has the cell. The instruction is as the caller promises, and what
        // follows it in the page jumps to `save`; a fault goes there through the handler.
        unsafe {
            (*shared).state = state.clone();
            (*shared).entry = self.code_address();
            (self.load)();
            *state = (*shared).state.clone();
        }
        match TRAP.load(Ordering::SeqCst) {
            0 => Ok(()),
            6 => Err(Trap::InvalidOpcode),
            13 => Err(Trap::GeneralProtection),
            14 => Err(Trap::PageFault),
            other => Err(Trap::Other(other)),
        }
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        // SAFETY: what `take` replaced is put back, on the same thread (a `Cpu` has raw pointers, so it is not `Send`);
        // the mappings are this value's own, and nothing refers to them any more.
        unsafe {
            for (signal, old) in SIGNALS.iter().zip(&self.old_handlers) {
                libc::sigaction(*signal, old, null_mut());
            }
            libc::sigaltstack(&self.old_alternate, null_mut());
            libc::munmap(self.code.cast(), PAGE);
            libc::munmap(self.data.cast(), 3 * PAGE);
        }
        CODE.store(0, Ordering::SeqCst);
        self.alternate.clear();
    }
}

fn map(bytes: usize, protection: libc::c_int) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing that exists.
    let address = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    assert_ne!(address, libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
    address.cast()
}

/// Changes the protection of a page that `map` made.
fn protect(page: *mut u8, protection: libc::c_int) {
    // SAFETY: callers pass pages of their own mappings, to which no reference exists.
    let result = unsafe { libc::mprotect(page.cast(), PAGE, protection) };
    assert_eq!(result, 0, "mprotect: {}", std::io::Error::last_os_error());
}

/// Notes the trap and goes on behind the instruction. A fault anywhere else gets the default action when it is repeated.
extern "C" fn handler(signal: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the third argument is a ucontext_t, exclusive to this handler.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let rip = registers[libc::REG_RIP as usize] as u64;
    let code = CODE.load(Ordering::SeqCst);
    if code != 0 && (code..code + PAGE as u64).contains(&rip) {
        TRAP.store(registers[libc::REG_TRAPNO as usize] as u64, Ordering::SeqCst);
        registers[libc::REG_RIP as usize] = RESUME.load(Ordering::SeqCst) as i64;
    } else {
        // SAFETY: signal() may be called in a handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
