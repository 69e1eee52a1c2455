//! Fletcher kernels in executable memory: compiled, published, called. What the safe API of checksums stands on.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use lanesmith_codegen::kernel::fletcher::{CompileError, Fold, Lowered, MAX_STATE_LANES, compile, fold};
use lanesmith_codegen::listing::listing;
use lanesmith_codegen::plan::fletcher::FletcherTuning;
use lanesmith_codegen::spec::FletcherSpec;
use lanesmith_codegen::target::Tier;

use crate::arena::{Arena, ArenaError};
use crate::cpu::{Cpu, FLETCHER};
use crate::emit::{Code, EmitError, assemble};

/// The machine code's entry: state, data, steps.
#[cfg(not(target_arch = "x86_64"))]
pub type RawFletcher = unsafe extern "C" fn(*mut u8, *const u8, usize);
/// The machine code's entry: state, data, steps.
#[cfg(target_arch = "x86_64")]
pub type RawFletcher = unsafe extern "sysv64" fn(*mut u8, *const u8, usize);

/// Why there is no such kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// This CPU cannot run the tier, or the environment forbids it.
    #[error("{tier} cannot be used on this machine")]
    IllegalTier {
        /// The tier asked for.
        tier: Tier,
    },
    /// The spec has no kernel on the tier.
    #[error("{0}")]
    Compile(CompileError),
    /// A fault of the generator.
    #[error("{0}")]
    Emit(EmitError),
    /// No memory may be made executable.
    #[error("{0}")]
    NoExecutableMemory(ArenaError),
}

/// The sums of every lane between calls of one kernel. Another kernel has another use for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct State([u64; MAX_STATE_LANES]);

impl State {
    /// The state before the first word.
    pub const ZERO: State = State([0; MAX_STATE_LANES]);
}

/// A kernel for one specification on one tier.
pub struct FletcherKernel {
    tier: Tier,
    lowered: Lowered,
    code: Code,
    fold: Fold,
    entry: RawFletcher,
    /// The logarithm of the bytes of a step.
    step_shift: u32,
}

impl FletcherKernel {
    /// Compiles `spec` for the tier that is preferred on this CPU.
    ///
    /// # Errors
    /// As for [`FletcherKernel::compile_for`].
    pub fn compile(spec: &FletcherSpec) -> Result<FletcherKernel, KernelError> {
        let tier = Cpu::get().choose(&FLETCHER).tier.ok_or(KernelError::IllegalTier { tier: Tier::Sse2 })?;
        FletcherKernel::compile_for(spec, tier)
    }

    /// Compiles `spec` for `tier`.
    ///
    /// # Errors
    /// [`KernelError::IllegalTier`], [`KernelError::NoExecutableMemory`].
    pub fn compile_for(spec: &FletcherSpec, tier: Tier) -> Result<FletcherKernel, KernelError> {
        if Cpu::get().choose(&FLETCHER).next_legal_at_or_below(tier) != Some(tier) {
            return Err(KernelError::IllegalTier { tier });
        }
        let (lowered, code) = generate(spec, tier)?;
        let address = Arena::global().publish(&code.bytes).map_err(KernelError::NoExecutableMemory)?;
        #[cfg(unix)]
        crate::perf_map::record(address.as_ptr(), code.code_len, lowered.program.name());
        // SAFETY: the arena holds at `address`, for ever and executable, the machine code of a program that was lowered
        // with the prototype of `RawFletcher` as its contract.
        let entry = unsafe { core::mem::transmute::<*const (), RawFletcher>(address.as_ptr().cast_const().cast()) };
        let (fold, step_shift) = (Fold::new(&lowered.plan), lowered.plan.step_bytes.trailing_zeros());
        Ok(FletcherKernel { tier, fold, step_shift, lowered, code, entry })
    }

    /// The kernel that checksums use on this CPU, compiled on the first call; `None` where code cannot be made.
    pub fn preferred(byteswap: bool) -> Option<&'static FletcherKernel> {
        static KERNELS: [AtomicPtr<FletcherKernel>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];
        let slot = &KERNELS[usize::from(byteswap)];
        let known = slot.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: the only non-null values stored come from `Box::into_raw` below. Such a box is never freed once
            // stored, and its contents were written before the Release half of the exchange.
            return Some(unsafe { &*known });
        }
        // No lock, which a fork could leave held: racing first calls each compile, and one kernel stays.
        let mine = Box::into_raw(Box::new(FletcherKernel::compile(&FletcherSpec::fletcher4(byteswap)).ok()?));
        match slot.compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `mine` came from `Box::into_raw` and is now owned by the slot, which never frees it.
            Ok(_) => Some(unsafe { &*mine }),
            Err(winner) => {
                // SAFETY: `mine` came from `Box::into_raw`, was not stored, and nobody else has seen it.
                drop(unsafe { Box::from_raw(mine) });
                // SAFETY: as for `known`; a failed exchange from null returns a stored, hence non-null, pointer.
                Some(unsafe { &*winner })
            }
        }
    }

    /// Bytes of data that a step takes.
    pub fn step_bytes(&self) -> usize {
        self.lowered.plan.step_bytes as usize
    }

    /// Takes as many whole steps as `data` has, and returns the bytes that remain: fewer than a step.
    pub fn steps<'d>(&self, state: &mut State, data: &'d [u8]) -> &'d [u8] {
        // A step is a power of two: a division would cost as much as many steps.
        let steps = data.len() >> self.step_shift;
        let (taken, rest) = data.split_at(steps << self.step_shift);
        // SAFETY: the state has at least the bytes that the contract names, at its alignment, and `taken` has `steps`
        // steps of data; they are disjoint by the borrow rules. `compile_for` checked the tier.
        unsafe { (self.entry)((&raw mut state.0).cast(), taken.as_ptr(), steps) };
        rest
    }

    /// a, b, c, d of the words that this kernel took into `state`.
    pub fn totals(&self, state: &State) -> [u64; 4] {
        self.fold.totals(&state.0)
    }

    /// a, b, c, d of the words of `data`: whole steps by the kernel, the others one by one. Bytes after the last whole
    /// word do not count.
    pub fn sum(&self, data: &[u8]) -> [u64; 4] {
        let mut state = State::ZERO;
        let rest = self.steps(&mut state, data);
        let mut sums = self.totals(&state);
        let byteswap = self.lowered.plan.spec.options().byteswap;
        for word in rest.as_chunks::<4>().0 {
            let word = if byteswap { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
            fold::step(&mut sums, word.into());
        }
        sums
    }

    /// The tier that it was compiled for.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The plan with its program and contract.
    pub fn lowered(&self) -> &Lowered {
        &self.lowered
    }

    /// The machine code.
    pub fn code(&self) -> &Code {
        &self.code
    }
}

impl fmt::Debug for FletcherKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FletcherKernel({} on {})", self.lowered.plan.spec, self.tier)
    }
}

/// The program of `spec` on `tier` and its machine code. Pure: needs neither that CPU nor executable memory.
///
/// # Errors
/// [`KernelError::Compile`], [`KernelError::Emit`].
pub fn generate(spec: &FletcherSpec, tier: Tier) -> Result<(Lowered, Code), KernelError> {
    let lowered = compile(spec, tier, &FletcherTuning::DEFAULT).map_err(KernelError::Compile)?;
    let code = assemble(&lowered.program).map_err(KernelError::Emit)?;
    Ok((lowered, code))
}

/// What a reviewer reads: plan, cost, contract, instructions.
pub fn listing_of(lowered: &Lowered, code: &Code) -> String {
    listing(&lowered.asked(), &lowered.program, &lowered.contract, code.code_len)
}
