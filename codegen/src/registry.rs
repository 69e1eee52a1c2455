//! The kernels that exist by name: what snapshots lock, what proofs run over.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::spec::{
    Algorithm, Destination, FletcherOptions, FletcherSpec, Formulation, Head, LengthClass, MAX_SOURCES, Merge,
    SpecErrors, Store, Strategy, XorOptions, XorSpec,
};
use crate::target::Tier;

/// A kernel of the registry: of XOR unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<S = XorSpec> {
    /// Its name, also that of its snapshot.
    pub name: String,
    /// What it computes.
    pub spec: S,
    /// For which tier.
    pub tier: Tier,
}

/// The source counts whose kernels are locked: the small ones, and both sides of each change of plan.
pub const SOURCE_COUNTS: [usize; 16] = [1, 2, 3, 4, 5, 6, 8, 11, 13, 14, 16, 23, 24, 31, 32, 64];

/// The promises under which the Linux kernel's loops run: 64-byte alignment and a multiple of 512 bytes.
pub const fn linux_options(destination: Destination) -> XorOptions {
    XorOptions {
        destination,
        strategy: Strategy::Grouped(4),
        unroll: None,
        merge: Merge::Auto,
        store: Store::Temporal,
        head: Head::Off,
        aligned: 64,
        multiple_of: 512,
        length: LengthClass::Any,
    }
}

/// Every Fletcher kernel of the registry, in a fixed order.
///
/// # Errors
/// None in practice: each entry's spec is legal, which a test shows.
pub fn fletcher_entries() -> Result<Vec<Entry<FletcherSpec>>, SpecErrors> {
    let mut entries = Vec::new();
    for tier in Tier::FLETCHER {
        for formulation in [Formulation::Lanes, Formulation::Split] {
            for (byteswap, order) in [(false, "native"), (true, "byteswap")] {
                let options = FletcherOptions { byteswap, formulation, unroll: None };
                let spec = FletcherSpec::with(Algorithm::Fletcher4, options)?;
                entries.push(Entry { name: format!("fletcher4_{order}_{formulation}_{tier}"), spec, tier });
            }
        }
    }
    Ok(entries)
}

/// Every XOR kernel of the registry, in a fixed order.
///
/// # Errors
/// None in practice: each entry's spec is legal, which a test shows.
pub fn entries() -> Result<Vec<Entry>, SpecErrors> {
    let mut entries = Vec::new();
    let mut add = |name: String, sources, options, tier| -> Result<(), SpecErrors> {
        entries.push(Entry { name, spec: XorSpec::with(sources, options)?, tier });
        Ok(())
    };
    for tier in Tier::XOR {
        for sources in SOURCE_COUNTS {
            for destination in [Destination::Overwrite, Destination::Accumulate, Destination::ZeroTest] {
                let options = XorOptions { destination, ..XorOptions::default() };
                add(format!("xor_{sources}_{destination}_{tier}"), sources, options, tier)?;
            }
        }
        let long = XorOptions { length: LengthClass::Long, ..XorOptions::default() };
        for sources in [14, 31, MAX_SOURCES] {
            add(format!("xor_{sources}_long_{tier}"), sources, long, tier)?;
        }
        let short = XorOptions { length: LengthClass::Short, ..XorOptions::default() };
        for sources in [6, 8, 11] {
            add(format!("xor_{sources}_short_{tier}"), sources, short, tier)?;
        }
        let no_head = XorOptions { head: Head::Off, ..XorOptions::default() };
        add(format!("xor_5_head_off_{tier}"), 5, no_head, tier)?;
        let pairwise = XorOptions { merge: Merge::Pairwise, ..XorOptions::default() };
        add(format!("xor_5_pairwise_{tier}"), 5, pairwise, tier)?;
        let streamed = XorOptions { store: Store::NonTemporal, aligned: 64, ..XorOptions::default() };
        add(format!("xor_5_non_temporal_{tier}"), 5, streamed, tier)?;
        let grouped = XorOptions { strategy: Strategy::Grouped(4), ..XorOptions::default() };
        add(format!("xor_7_grouped4_{tier}"), 7, grouped, tier)?;
        for unroll in [1, 2, 8] {
            let options = XorOptions { unroll: Some(unroll), ..XorOptions::default() };
            add(format!("xor_3_unroll{unroll}_{tier}"), 3, options, tier)?;
        }
    }
    for (tier, name) in [(Tier::Sse2, "sse2"), (Tier::Avx2, "avx2"), (Tier::Avx512, "avx512")] {
        for sources in 1..=4 {
            // Linux counts buffers: the destination is one of them.
            let buffers = sources + 1;
            add(format!("linux_{name}_{buffers}"), sources, linux_options(Destination::Accumulate), tier)?;
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::xor::{Lowered, compile};
    use crate::plan::xor::XorTuning;
    use std::collections::HashSet;

    fn all() -> Vec<(Entry, Lowered)> {
        let lower = |e: Entry| {
            let lowered = compile(&e.spec, e.tier, &XorTuning::DEFAULT).unwrap_or_else(|x| panic!("{}: {x}", e.name));
            (e, lowered)
        };
        entries().unwrap().into_iter().map(lower).collect()
    }

    #[test]
    fn every_entry_has_its_own_name_and_lowers() {
        let all = all();
        let names: HashSet<&str> = all.iter().map(|(e, _)| e.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn fletcher_kernels_are_within_the_target() {
        use crate::kernel::fletcher::{MAX_STATE_LANES, compile};
        use crate::plan::fletcher::FletcherTuning;
        let entries = fletcher_entries().unwrap();
        let names: HashSet<&str> = entries.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names.len(), entries.len());
        for Entry { name, spec, tier } in &entries {
            for unroll in [None, Some(1), Some(2), Some(4), Some(8)] {
                let options = FletcherOptions { unroll, ..*spec.options() };
                let spec = FletcherSpec::with(spec.algorithm(), options).unwrap();
                let lowered = compile(&spec, *tier, &FletcherTuning::DEFAULT).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(lowered, compile(&spec, *tier, &FletcherTuning::DEFAULT).unwrap(), "{name}");
                assert!(lowered.contract.vectors.iter().all(|v| *v < tier.target().vectors), "{name}");
                assert!(tier.target().features.contains(lowered.contract.features), "{name}");
                assert!(lowered.plan.state_lanes() <= MAX_STATE_LANES, "{name}");
            }
        }
    }

    #[test]
    fn lowering_is_deterministic() {
        assert!(all() == all());
    }

    #[test]
    fn every_vector_register_is_within_the_target() {
        for (entry, lowered) in all() {
            for contract in &lowered.contracts {
                let most = entry.tier.target().vectors;
                assert!(contract.vectors.iter().all(|v| *v < most), "{}", entry.name);
                assert!(entry.tier.target().features.contains(contract.features), "{}", entry.name);
            }
        }
    }

    #[test]
    fn every_source_count_lowers_on_every_tier() {
        for tier in Tier::XOR {
            for sources in 1..=MAX_SOURCES {
                for destination in [Destination::Overwrite, Destination::Accumulate, Destination::ZeroTest] {
                    for length in [LengthClass::Any, LengthClass::Short, LengthClass::Long] {
                        let options = XorOptions { destination, length, ..XorOptions::default() };
                        let spec = XorSpec::with(sources, options).unwrap();
                        let lowered = compile(&spec, tier, &XorTuning::DEFAULT).unwrap();
                        let groups = &lowered.plan.driver.groups;
                        let covered: usize =
                            groups.iter().map(|g| usize::from(lowered.plan.passes[g.pass].sources)).sum();
                        assert_eq!(covered, sources, "{spec} on {tier}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_option_lowers_or_says_why_not() {
        for tier in Tier::XOR {
            for sources in 1..=40 {
                for unroll in [None, Some(1), Some(2), Some(4), Some(8)] {
                    for merge in [Merge::Auto, Merge::Ternary, Merge::Pairwise] {
                        for multiple_of in [1, 2, 8, 64, 512] {
                            let options = XorOptions { unroll, merge, multiple_of, ..XorOptions::default() };
                            let spec = XorSpec::with(sources, options).unwrap();
                            match compile(&spec, tier, &XorTuning::DEFAULT) {
                                Ok(_) => {}
                                Err(crate::kernel::xor::CompileError::Plan(_)) => {}
                                Err(other) => panic!("{spec} on {tier}: {other}"),
                            }
                        }
                    }
                }
            }
        }
    }
}
