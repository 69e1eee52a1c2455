//! Which kernels this machine may run, and which it should: the only place that asks the CPU.
//!
//! Three steps, each usable alone. [`Snapshot`] holds raw register values and is all that touches the hardware.
//! [`Snapshot::features`], [`Snapshot::model`] and [`Snapshot::excluded_from_512`] are pure functions of it, so a test
//! can inject any machine. [`choose`] applies a [`Policy`] to a [`Family`] of kernels and explains its [`Choice`]
//! tier by tier.
//!
//! *Legal* and *preferred* are different questions. A tier is legal when CPUID and XCR0 say that its instructions
//! execute. It is preferred when it is also expected to be the fastest. The exclusion list by CPU model only decides
//! preference, because a hypervisor can present any model number it likes.
//!
//! A snapshot describes the core that took it. Machines whose cores differ in instruction set are expected to present
//! the common subset, as operating systems already require.

mod choose;
mod policy;
mod snapshot;

use alloc::boxed::Box;
use alloc::string::String;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use lanesmith_codegen::target::FeatureSet;

pub use choose::{Choice, FLETCHER, Family, Row, Verdict, XOR, choose};
pub use policy::{MAX_ISA_VARIABLE, Policy, UnknownMaxIsa};
pub use snapshot::{Model, Registers, Snapshot, Vendor, brand};

/// The machine that this process runs on, with the policy of its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The raw register values.
    pub snapshot: Snapshot,
    /// What may raise or lower the preference.
    pub policy: Policy,
    /// The value of [`MAX_ISA_VARIABLE`] that was ignored because it names no tier.
    pub ignored_max_isa: Option<String>,
}

impl Cpu {
    /// The machine, asked once per process.
    ///
    /// Without `std` there is no environment and the policy is the default one. With it, a value of
    /// [`MAX_ISA_VARIABLE`] that names no tier is reported once on standard error, and stays in
    /// [`Cpu::ignored_max_isa`].
    pub fn get() -> &'static Cpu {
        // Not a `OnceLock`: a process that forks while another thread initialises would leave the child waiting for a
        // thread that it does not have. Racing first calls each ask the CPU, and one answer stays.
        static CPU: AtomicPtr<Cpu> = AtomicPtr::new(ptr::null_mut());
        let known = CPU.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: the only non-null values stored in CPU come from `Box::into_raw` below. That box is never freed
            // once stored, and its contents were written before the Release half of the exchange.
            return unsafe { &*known };
        }
        let mine = Box::into_raw(Box::new(Cpu::detect()));
        match CPU.compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                // SAFETY: `mine` came from `Box::into_raw` and is now owned by CPU, which never frees it.
                let cpu = unsafe { &*mine };
                cpu.report_ignored();
                cpu
            }
            Err(winner) => {
                // SAFETY: `mine` came from `Box::into_raw`, was not stored, and nobody else has seen it.
                drop(unsafe { Box::from_raw(mine) });
                // SAFETY: as for `known`; a failed exchange from null returns a stored, hence non-null, pointer.
                unsafe { &*winner }
            }
        }
    }

    /// Asks the CPU and the environment again, without the cache and without a report on standard error.
    pub fn detect() -> Cpu {
        let (policy, ignored_max_isa) = environment();
        Cpu { snapshot: Snapshot::detect(), policy, ignored_max_isa }
    }

    /// What the machine has and its operating system has enabled.
    pub fn features(&self) -> FeatureSet {
        self.snapshot.features()
    }

    /// The tier for a family of kernels, with the reasons.
    pub fn choose(&self, family: &'static Family) -> Choice {
        choose(family, &self.snapshot, &self.policy)
    }

    fn report_ignored(&self) {
        #[cfg(feature = "std")]
        if let Some(value) = &self.ignored_max_isa {
            use std::io::Write as _;
            // Not `eprintln!`, which panics when standard error is closed.
            let _ = writeln!(std::io::stderr(), "lanesmith: {MAX_ISA_VARIABLE}={value:?} is ignored: {UnknownMaxIsa}");
        }
    }
}

#[cfg(feature = "std")]
fn environment() -> (Policy, Option<String>) {
    let Some(value) = std::env::var_os(MAX_ISA_VARIABLE).filter(|v| !v.is_empty()) else {
        return (Policy::default(), None);
    };
    let value = value.to_string_lossy();
    match Policy::parse_max_isa(&value) {
        Ok(max) => (Policy::default().with_max_isa(max), None),
        Err(UnknownMaxIsa) => (Policy::default(), Some(value.into_owned())),
    }
}

#[cfg(not(feature = "std"))]
fn environment() -> (Policy, Option<String>) {
    (Policy::default(), None)
}
