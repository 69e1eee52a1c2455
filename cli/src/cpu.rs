//! `lanesmith cpu`: what was detected, what was chosen, and why.

use std::fmt::Write as _;

use lanesmith::arena::{Arena, Backing, JIT_VARIABLE};
use lanesmith::cpu::{Choice, Cpu, MAX_ISA_VARIABLE, XOR, brand};
use serde_json::{Value, json};

use crate::args::CpuArgs;

/// What is known about the machine and the environment.
struct Report {
    cpu: &'static Cpu,
    brand: String,
    choices: Vec<Choice>,
    /// Where kernels go, or why they cannot be compiled.
    backing: Result<Backing, String>,
    /// The environment variables that are set.
    overrides: Vec<(&'static str, String)>,
}

/// What `cpu` prints.
pub(crate) fn report(args: &CpuArgs) -> String {
    let cpu = Cpu::get();
    let variable = |name| Some((name, std::env::var_os(name)?.to_string_lossy().into_owned()));
    let report = Report {
        cpu,
        brand: brand(),
        choices: [&XOR].map(|family| cpu.choose(family)).into(),
        backing: Arena::global().ready().map_err(|e| e.to_string()),
        overrides: [MAX_ISA_VARIABLE, JIT_VARIABLE].into_iter().filter_map(variable).collect(),
    };
    if args.json { format!("{:#}\n", report.json()) } else { report.text() }
}

impl Report {
    fn text(&self) -> String {
        let mut out = String::new();
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(out, "{name:<10} {value}");
        };
        let snapshot = &self.cpu.snapshot;
        row("cpu", if self.brand.is_empty() { "unnamed" } else { &self.brand });
        row("model", &snapshot.model().to_string());
        row("features", &self.cpu.features().to_string());
        let disabled = snapshot.announced().minus(self.cpu.features());
        if !disabled.is_empty() {
            row("disabled", &format!("{disabled} (the operating system does not save their registers)"));
        }
        match snapshot.xcr0 {
            Some(xcr0) => row("xcr0", &format!("{xcr0:#x}")),
            None => row("xcr0", "unreadable: the operating system has not set OSXSAVE"),
        }
        if self.overrides.is_empty() {
            row("override", "none");
        }
        for (name, value) in &self.overrides {
            row("override", &format!("{name}={value}{}", if self.is_ignored(name) { " (ignored)" } else { "" }));
        }
        match &self.backing {
            Ok(backing) => row("jit", &format!("{backing}: {}", explain(*backing))),
            Err(why) => row("jit", &format!("none, portable code serves: {why}")),
        }
        for choice in &self.choices {
            let _ = write!(out, "\n{choice}");
        }
        out
    }

    fn json(&self) -> Value {
        let snapshot = &self.cpu.snapshot;
        let model = snapshot.model();
        let features = |set: lanesmith::codegen::target::FeatureSet| set.iter().map(|f| f.name()).collect::<Vec<_>>();
        let overrides = self
            .overrides
            .iter()
            .map(|(name, value)| json!({ "variable": name, "value": value, "ignored": self.is_ignored(name) }));
        let families = self.choices.iter().map(|choice| {
            let tiers = choice.rows.iter().map(|row| {
                json!({
                    "tier": row.tier.name(),
                    "legal": row.verdict.is_legal(),
                    "verdict": row.verdict.to_string(),
                })
            });
            json!({
                "family": choice.family.name,
                "tier": choice.tier.map(|tier| tier.name()),
                "tiers": tiers.collect::<Vec<_>>(),
            })
        });
        json!({
            "brand": self.brand,
            "vendor": model.vendor.to_string(),
            "family": model.family,
            "model": model.model,
            "stepping": model.stepping,
            "features": features(self.cpu.features()),
            "disabled": features(snapshot.announced().minus(self.cpu.features())),
            "xcr0": snapshot.xcr0,
            "overrides": overrides.collect::<Vec<_>>(),
            "jit": match &self.backing {
                Ok(backing) => json!({ "backing": backing.name() }),
                Err(why) => json!({ "backing": null, "error": why }),
            },
            "families": families.collect::<Vec<_>>(),
        })
    }

    /// Whether the value of a variable was not understood, and so changes nothing.
    fn is_ignored(&self, variable: &str) -> bool {
        variable == MAX_ISA_VARIABLE && self.cpu.policy.max_isa.is_none()
    }
}

fn explain(backing: Backing) -> &'static str {
    match backing {
        Backing::Alias => "shared memory with a writable alias",
        Backing::Memfd => "a memory file mapped twice",
        Backing::Reprotect => "pages made executable after they are written",
    }
}
