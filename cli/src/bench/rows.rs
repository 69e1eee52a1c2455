//! The rows of a comparison: which implementations there are for a configuration, and why others are missing.

use std::collections::HashMap;
use std::sync::Arc;

use lanesmith::arena::Arena;
use lanesmith::codegen::plan::xor::XorTuning;
use lanesmith::codegen::registry::linux_options;
use lanesmith::codegen::spec::{Destination, Head, Strategy, XorOptions, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::cpu::{Choice, Cpu, XOR};
use lanesmith::xor::{StaticKernel, XorKernel};
use lanesmith_measure::Layout;
use lanesmith_measure::limits::Width;

use super::raw::{Call, Kernel};

/// The name of the row whose kernel the library's plan picks.
pub(crate) const AUTO: &str = "auto";
/// The name of the row that bounds every kernel.
pub(crate) const LIMIT: &str = "limit-load";

/// Every name of a row, in the order of tables, and what the row is.
const IMPLEMENTATIONS: [(&str, Kind); 12] = [
    ("reference", Kind::Reference),
    ("linux-sse2", Kind::Linux(Tier::Sse2)),
    ("linux-avx2", Kind::Linux(Tier::Avx2)),
    ("linux-avx512", Kind::Linux(Tier::Avx512)),
    ("single-sse2", Kind::Single(Tier::Sse2)),
    ("single-avx2", Kind::Single(Tier::Avx2)),
    ("single-avx512-256", Kind::Single(Tier::Avx512Vl256)),
    ("single-avx512", Kind::Single(Tier::Avx512)),
    ("static", Kind::Static),
    (AUTO, Kind::Auto),
    (LIMIT, Kind::Load),
    ("limit-load-store", Kind::LoadStore),
];

#[derive(Clone, Copy)]
enum Kind {
    Reference,
    Linux(Tier),
    Single(Tier),
    Static,
    Auto,
    Load,
    LoadStore,
}

/// What all rows of a comparison have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) sources: usize,
    /// Of each buffer.
    pub(crate) bytes: usize,
    pub(crate) destination: Destination,
    pub(crate) layout: Layout,
    pub(crate) cold: bool,
}

/// One way to do the call of a configuration. Several can share a name: limits of several widths, heads on and off.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) implementation: &'static str,
    /// Whether a masked head was allowed.
    pub(crate) head: bool,
    pub(crate) call: Call,
}

/// A row that a configuration cannot have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Skipped {
    pub(crate) implementation: &'static str,
    pub(crate) reason: String,
}

/// What rows are made of: the machine, and the kernels that are compiled already.
pub(crate) struct Rows {
    choice: Choice,
    /// Why there is no memory for kernels, if there is none.
    jit: Result<(), String>,
    kernels: HashMap<(XorSpec, Tier), Arc<XorKernel>>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        let jit = Arena::global().ready().map(drop).map_err(|e| e.to_string());
        Self { choice: Cpu::get().choose(&XOR), jit, kernels: HashMap::new() }
    }

    /// The tier that the library prefers here.
    pub(crate) fn preferred(&self) -> Option<Tier> {
        self.choice.tier
    }

    /// The rows of a configuration, in the order of tables, and those that it cannot have.
    ///
    /// At an odd offset there are only the definition, the library's choice with and without a head, and the limits.
    pub(crate) fn of(&mut self, config: &Config) -> (Vec<Variant>, Vec<Skipped>) {
        let odd = config.layout == Layout::Offset1;
        let (mut variants, mut skipped) = (Vec::new(), Vec::new());
        for (implementation, kind) in IMPLEMENTATIONS {
            if odd && matches!(kind, Kind::Linux(_) | Kind::Single(_) | Kind::Static) {
                continue;
            }
            let mut add = |head, call: Result<Call, String>| match call {
                Ok(call) => variants.push(Variant { implementation, head, call }),
                Err(reason) => skipped.push(Skipped { implementation, reason }),
            };
            match kind {
                Kind::Reference => add(false, Ok(Call::Reference(config.destination))),
                Kind::Linux(tier) => add(false, self.linux(config, tier)),
                Kind::Single(tier) => add(true, self.planned(config, tier, Strategy::Single, Head::Auto)),
                Kind::Static => {
                    let kernel = StaticKernel::new(config.destination, config.sources);
                    add(true, kernel.map(Call::Static).map_err(|error| error.to_string()));
                }
                Kind::Auto => {
                    add(true, self.auto(config, Head::Auto));
                    if odd {
                        add(false, self.auto(config, Head::Off));
                    }
                }
                Kind::Load => widths().for_each(|width| add(false, Ok(Call::Load(width)))),
                Kind::LoadStore => widths().for_each(|width| add(false, Ok(Call::LoadStore(width)))),
            }
        }
        (variants, skipped)
    }

    /// The Linux way: groups of four sources, each a pass over the whole destination. Those kernels only accumulate; the
    /// analogue that overwrites does not read the destination in its first pass.
    fn linux(&mut self, config: &Config, tier: Tier) -> Result<Call, String> {
        const GROUP: usize = 4;
        let options = linux_options(config.destination);
        // The length first: it is the same on every machine.
        if !config.bytes.is_multiple_of(options.multiple_of as usize) {
            return Err(format!("{} bytes are not a multiple of {}", config.bytes, options.multiple_of));
        }
        let kernels = (0..config.sources).step_by(GROUP).map(|first| {
            let destination = if first == 0 { config.destination } else { Destination::Accumulate };
            self.kernel(GROUP.min(config.sources - first), linux_options(destination), tier)
        });
        Ok(Call::Kernel(Kernel::passes(kernels.collect::<Result<Vec<_>, _>>()?)))
    }

    fn auto(&mut self, config: &Config, head: Head) -> Result<Call, String> {
        let tier = self.preferred().ok_or("no tier may be used: portable code serves")?;
        self.planned(config, tier, Strategy::Auto, head)
    }

    fn planned(&mut self, config: &Config, tier: Tier, strategy: Strategy, head: Head) -> Result<Call, String> {
        let length = XorTuning::DEFAULT.length_class(config.sources, config.bytes);
        let options = XorOptions { destination: config.destination, strategy, head, length, ..XorOptions::default() };
        Ok(Call::Kernel(Kernel::passes([self.kernel(config.sources, options, tier)?])))
    }

    /// The kernel, compiled if it was not: machine code is never freed, so a sweep must not compile anything twice.
    fn kernel(&mut self, sources: usize, options: XorOptions, tier: Tier) -> Result<Arc<XorKernel>, String> {
        if self.choice.next_legal_at_or_below(tier) != Some(tier) {
            let row = self.choice.rows.iter().find(|row| row.tier == tier);
            return Err(row.map_or_else(|| "unknown tier".to_owned(), |row| row.verdict.to_string()));
        }
        self.jit.clone()?;
        let spec = XorSpec::with(sources, options).map_err(|e| e.to_string())?;
        if let Some(known) = self.kernels.get(&(spec, tier)) {
            return Ok(known.clone());
        }
        let kernel = Arc::new(XorKernel::compile_for(&spec, tier).map_err(|e| e.to_string())?);
        self.kernels.insert((spec, tier), kernel.clone());
        Ok(kernel)
    }
}

/// The widths that may load fastest: the two widest. A narrower one needs at least four times the loads of the widest,
/// and no machine does so many more of them a cycle.
fn widths() -> impl Iterator<Item = Width> {
    Width::available().into_iter().rev().take(2)
}

/// The row that ratios are taken to: the widest form of the Linux loops.
pub(crate) fn baseline(variants: &[Variant]) -> Option<&'static str> {
    let linux = |variant: &&Variant| variant.implementation.starts_with("linux-");
    variants.iter().rfind(linux).map(|variant| variant.implementation)
}
