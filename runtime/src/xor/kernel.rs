//! A kernel compiled for one specification, kept by its user.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use lanesmith_codegen::kernel::xor::{Lowered, compile};
use lanesmith_codegen::listing::listing;
use lanesmith_codegen::plan::xor::XorTuning;
use lanesmith_codegen::spec::{Destination, XorSpec};
use lanesmith_codegen::target::Tier;

use super::cache::{Compiled, RawXor};
use super::error::{Error, Operand};
use super::pointers::{FEW, Slot, few, with_pointers};
use super::{TUNING, check_promises};
use crate::arena::Arena;
use crate::cpu::{Cpu, XOR};
use crate::emit::{Code, assemble};

/// A kernel for one specification.
///
/// The safe functions of [`xor`](super) keep a kernel per source count by themselves; a handle is for specifications
/// with options. Its machine code stays in the process's arena when the handle is dropped: compile once and keep it.
///
/// ```
/// use lanesmith_runtime::xor::XorKernel;
/// use lanesmith_codegen::spec::{XorOptions, XorSpec, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let spec = XorSpec::with(3, XorOptions { unroll: Some(2), ..XorOptions::default() })?;
/// let kernel = XorKernel::compile(&spec)?;
/// let (a, b, c) = ([1u8; 70], [2u8; 70], [4u8; 70]);
/// let mut dest = [0u8; 70];
/// kernel.run(&mut dest, &[&a, &b, &c])?;
/// assert_eq!(dest, [7; 70]);
/// println!("{}", kernel.listing());
/// # Ok(())
/// # }
/// ```
pub struct XorKernel {
    spec: XorSpec,
    tier: Tier,
    lowered: Lowered,
    codes: Vec<Code>,
    compiled: Compiled,
    /// The only program, if it has a destination and the specification promises nothing.
    plain: Option<RawXor>,
}

impl XorKernel {
    /// Compiles `spec` for the tier that is preferred on this CPU.
    ///
    /// # Errors
    /// [`Error::Compile`] if explicit options cannot be had on that tier, [`Error::NoExecutableMemory`].
    pub fn compile(spec: &XorSpec) -> Result<XorKernel, Error> {
        XorKernel::compile_for(spec, preferred()?)
    }

    /// Compiles `spec` for `tier`.
    ///
    /// # Errors
    /// As for [`XorKernel::compile`], and [`Error::IllegalTier`] if this CPU cannot run the tier or the environment
    /// forbids it.
    pub fn compile_for(spec: &XorSpec, tier: Tier) -> Result<XorKernel, Error> {
        XorKernel::compile_tuned(spec, tier, &TUNING)
    }

    /// Compiles `spec` for `tier` with other thresholds than the default ones: for tuning and for benchmarks.
    ///
    /// # Errors
    /// As for [`XorKernel::compile_for`].
    pub fn compile_tuned(spec: &XorSpec, tier: Tier, tuning: &XorTuning) -> Result<XorKernel, Error> {
        if Cpu::get().choose(&XOR).next_legal_at_or_below(tier) != Some(tier) {
            return Err(Error::IllegalTier { tier });
        }
        let (lowered, codes) = generate_tuned(spec, tier, tuning)?;
        let compiled = publish(spec, tier, &lowered, &codes)?;
        let options = spec.options();
        let plain = options.destination != Destination::ZeroTest && options.aligned == 1 && options.multiple_of == 1;
        let plain = compiled.only_program().filter(|_| plain);
        Ok(XorKernel { spec: *spec, tier, lowered, codes, compiled, plain })
    }

    /// `dest = s0 ^ s1 ^ …` or `dest ^= s0 ^ s1 ^ …`, as the specification says.
    ///
    /// # Errors
    /// [`Error::SourceCount`], [`Error::UnequalLengths`], [`Error::WrongDestination`] for a zero test, and
    /// [`Error::Misaligned`] or [`Error::NotMultiple`] where the specification promised otherwise. `dest` is then
    /// untouched.
    pub fn run(&self, dest: &mut [u8], sources: &[&[u8]]) -> Result<(), Error> {
        let len = dest.len();
        let mut array = [const { Slot::uninit() }; FEW];
        if let Some(program) = self.plain
            && sources.len() == self.spec.sources()
            && let Some(pointers) = few(&mut array, sources, len)
        {
            // SAFETY: as in `run_any`; there is no promise to check.
            unsafe { program(dest.as_mut_ptr(), pointers.as_ptr(), 0, len) };
            return Ok(());
        }
        self.run_any(dest, sources)
    }

    /// Many sources, several groups, promises, and every error.
    #[inline(never)]
    fn run_any(&self, dest: &mut [u8], sources: &[&[u8]]) -> Result<(), Error> {
        self.checked(sources.len(), false)?;
        let len = dest.len();
        let dest = dest.as_mut_ptr();
        let done = with_pointers(sources, len, Operand::Source, Operand::Dest, |pointers| {
            self.promises(Some(dest), pointers, 0, len)?;
            // SAFETY: the pointers are those of as many borrowed slices of `len` bytes as the kernel takes, `dest` is
            // disjoint from them by the borrow rules, the promises have been checked, and `compile_for` checked the
            // tier.
            Ok(unsafe { self.compiled.call(dest, pointers, 0, len) })
        })?;
        done.map(drop)
    }

    /// Whether the XOR of the buffers is zero everywhere, for a specification with
    /// [`Destination::ZeroTest`].
    ///
    /// # Errors
    /// As for [`XorKernel::run`].
    pub fn check(&self, buffers: &[&[u8]]) -> Result<bool, Error> {
        self.checked(buffers.len(), true)?;
        let len = buffers.first().map_or(0, |b| b.len());
        with_pointers(buffers, len, Operand::Buffer, Operand::Buffer(0), |pointers| {
            self.promises(None, pointers, 0, len)?;
            // SAFETY: as in `run`; a zero test writes nothing.
            Ok(unsafe { self.compiled.call(core::ptr::null_mut(), pointers, 0, len) } == 0)
        })?
    }

    /// Runs the kernel on bytes `offset..offset + len` of raw buffers. The result is 0 unless the kernel is a zero
    /// test, which returns 0 if the XOR is zero everywhere.
    ///
    /// # Errors
    /// [`Error::SourceCount`]; [`Error::Overlap`] if `dest` overlaps a source partly, or equals more than one;
    /// [`Error::Misaligned`] and [`Error::NotMultiple`] for broken promises. Nothing is written then.
    ///
    /// # Safety
    /// Bytes `offset..offset + len` of every source must be readable, and of `dest` writable (ignored by a zero
    /// test), each within one allocation, and not accessed otherwise during the call, except that sources may alias
    /// each other and `dest` may equal **one source exactly**: that source's old bytes then enter the sum.
    pub unsafe fn run_raw(
        &self,
        dest: *mut u8,
        sources: &[*const u8],
        offset: usize,
        len: usize,
    ) -> Result<u64, Error> {
        let zero_test = self.spec.options().destination == Destination::ZeroTest;
        self.checked(sources.len(), zero_test)?;
        if zero_test {
            self.promises(None, sources, offset, len)?;
            // SAFETY: the caller vouches for the sources; promises, count and tier are checked.
            return Ok(unsafe { self.compiled.call(dest, sources, offset, len) });
        }
        self.promises(Some(dest), sources, offset, len)?;
        let mut alias = None;
        for (i, source) in sources.iter().enumerate() {
            let distance = dest.addr().abs_diff(source.addr());
            let equal = distance == 0;
            if len > 0 && distance < len && (!equal || alias.is_some()) {
                return Err(Error::Overlap { operand: Operand::Source(i) });
            }
            if equal {
                alias = Some(i);
            }
        }
        match alias {
            // Later groups would read what the first has written: the aliased source is taken first.
            Some(i) if i > 0 && self.lowered.plan.driver.groups.len() > 1 => {
                let mut reordered = sources.to_vec();
                reordered.swap(0, i);
                // SAFETY: as above; XOR does not care for the order.
                unsafe { self.compiled.call(dest, &reordered, offset, len) };
            }
            _ => {
                // SAFETY: the caller vouches for the buffers; count, overlap, promises and tier are checked.
                unsafe { self.compiled.call(dest, sources, offset, len) };
            }
        }
        // A kernel with a destination leaves anything in the register of the result, pointers too.
        Ok(0)
    }

    /// The machine code's entry if the plan is a single pass: for benchmarks and for callers that check by themselves.
    /// The contract is in the [listing](XorKernel::listing).
    pub fn entry(&self) -> Option<RawXor> {
        self.compiled.only_program()
    }

    /// The specification.
    pub fn spec(&self) -> &XorSpec {
        &self.spec
    }

    /// The tier that it was compiled for.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The plan with its programs and contracts.
    pub fn lowered(&self) -> &Lowered {
        &self.lowered
    }

    /// The machine code, one per program of the plan.
    pub fn code(&self) -> &[Code] {
        &self.codes
    }

    /// What a reviewer reads: plan, cost, contract, instructions.
    pub fn listing(&self) -> String {
        listings(&self.lowered, &self.codes)
    }

    fn checked(&self, sources: usize, zero_test: bool) -> Result<(), Error> {
        let destination = self.spec.options().destination;
        if (destination == Destination::ZeroTest) != zero_test {
            return Err(Error::WrongDestination { destination });
        }
        let compiled = self.spec.sources();
        if sources == compiled { Ok(()) } else { Err(Error::SourceCount { sources, compiled }) }
    }

    fn promises(&self, dest: Option<*mut u8>, sources: &[*const u8], offset: usize, len: usize) -> Result<(), Error> {
        let options = self.spec.options();
        let dest = dest.map(<*mut u8>::cast_const);
        check_promises(options.aligned, options.multiple_of, dest, sources, offset, len)
    }
}

impl fmt::Debug for XorKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XorKernel({} on {}: {})", self.spec, self.tier, self.compiled)
    }
}

/// The listings of every program of a plan.
pub fn listings(lowered: &Lowered, codes: &[Code]) -> String {
    let plan = format!("{}", lowered.plan);
    let parts = lowered.programs.iter().zip(&lowered.contracts).zip(codes);
    let parts: Vec<String> =
        parts.map(|((program, contract), code)| listing(&plan, program, contract, code.code_len)).collect();
    parts.join("\n")
}

/// The programs of `spec` on `tier` and their machine code. Pure: needs neither that CPU nor executable memory.
///
/// # Errors
/// [`Error::Compile`], [`Error::Emit`].
pub fn generate(spec: &XorSpec, tier: Tier) -> Result<(Lowered, Vec<Code>), Error> {
    generate_tuned(spec, tier, &TUNING)
}

fn generate_tuned(spec: &XorSpec, tier: Tier, tuning: &XorTuning) -> Result<(Lowered, Vec<Code>), Error> {
    let lowered = compile(spec, tier, tuning).map_err(Error::Compile)?;
    let codes = lowered.programs.iter().map(assemble).collect::<Result<Vec<_>, _>>().map_err(Error::Emit)?;
    Ok((lowered, codes))
}

fn preferred() -> Result<Tier, Error> {
    Cpu::get().choose(&XOR).tier.ok_or(Error::IllegalTier { tier: Tier::Sse2 })
}

/// Compiles and publishes `spec` for the preferred tier: what the cache keeps.
pub(super) fn publish_preferred(spec: &XorSpec) -> Result<Compiled, Error> {
    // Where there is no executable memory, nothing is compiled in vain.
    Arena::global().ready().map_err(Error::NoExecutableMemory)?;
    let tier = preferred()?;
    let (lowered, codes) = generate(spec, tier)?;
    publish(spec, tier, &lowered, &codes)
}

fn publish(spec: &XorSpec, tier: Tier, lowered: &Lowered, codes: &[Code]) -> Result<Compiled, Error> {
    let mut passes = Vec::with_capacity(codes.len());
    for ((code, program), pass) in codes.iter().zip(&lowered.programs).zip(&lowered.plan.passes) {
        let address = Arena::global().publish(&code.bytes).map_err(Error::NoExecutableMemory)?;
        #[cfg(unix)]
        crate::perf_map::record(address.as_ptr(), code.code_len, program.name());
        #[cfg(not(unix))]
        let _ = program;
        // SAFETY: the arena holds at `address`, for ever and executable, the machine code of a program that was
        // lowered with the prototype of `RawXor` as its contract.
        let entry = unsafe { core::mem::transmute::<*const (), RawXor>(address.as_ptr().cast_const().cast()) };
        passes.push((entry, pass.sources));
    }
    let sources = spec.sources() as u16;
    Ok(Compiled::new(passes.into_boxed_slice(), lowered.plan.driver.clone(), sources, tier))
}
