//! Handles of compiled kernels, specifications, and what is said about them.
#![cfg(feature = "jit")]

mod common;

use common::{plain, slices, sources, spec, tiers_here};
use lanesmith::codegen::kernel::xor::{CompileError, compile};
use lanesmith::codegen::plan::xor::{PlanError, XorTuning};
use lanesmith::codegen::spec::{Destination, LengthClass, Merge, SpecError, Store, Strategy, XorOptions, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::cpu::{Cpu, XOR};
use lanesmith::xor::{self, Error, XorKernel};

#[test]
fn a_kernel_is_used_as_it_was_compiled() {
    let data = sources(3, 50);
    let list = slices(&data);
    let mut dest = vec![7; 50];
    for destination in [Destination::Overwrite, Destination::Accumulate] {
        let kernel = XorKernel::compile(&plain(3, destination)).unwrap();
        let error = kernel.check(&list).unwrap_err();
        assert_eq!(error, Error::WrongDestination { destination });
        assert_eq!(error.to_string(), format!("a kernel for destination={destination} cannot be used this way"));
    }
    let kernel = XorKernel::compile(&plain(3, Destination::ZeroTest)).unwrap();
    let error = kernel.run(&mut dest, &list).unwrap_err();
    assert_eq!(error.to_string(), "a kernel for destination=zero-test cannot be used this way");
    assert_eq!(dest, [7; 50]);
}

#[test]
fn a_kernel_takes_its_own_source_count() {
    let data = sources(5, 50);
    let kernel = XorKernel::compile(&plain(3, Destination::Overwrite)).unwrap();
    let test = XorKernel::compile(&plain(3, Destination::ZeroTest)).unwrap();
    let mut dest = vec![7; 50];
    for n in [0, 1, 2, 4, 5] {
        let list = slices(&data[..n]);
        let error = Error::SourceCount { sources: n, compiled: 3 };
        assert_eq!(kernel.run(&mut dest, &list), Err(error.clone()));
        assert_eq!(test.check(&list), Err(error.clone()));
        assert_eq!(error.to_string(), format!("{n} sources given to a kernel for 3"));
        let pointers: Vec<*const u8> = list.iter().map(|s| s.as_ptr()).collect();
        // SAFETY: every buffer has 50 bytes; the count is refused.
        assert_eq!(unsafe { kernel.run_raw(dest.as_mut_ptr(), &pointers, 0, 50) }, Err(error));
    }
    assert_eq!(dest, [7; 50]);
}

/// A handle compares lengths as the functions do, for every count that it may treat by itself.
#[test]
fn a_kernel_refuses_unequal_lengths() {
    for n in 1..=40 {
        let kernel = XorKernel::compile(&plain(n, Destination::Accumulate)).unwrap();
        let test = XorKernel::compile(&plain(n, Destination::ZeroTest)).unwrap();
        let mut data = sources(n, 65);
        let mut dest = vec![7; 65];
        for k in 0..n {
            for len in [0, 64, 66] {
                data[k] = common::source(k, len);
                let text = format!("source {k} has {len} bytes, dest has 65");
                assert_eq!(kernel.run(&mut dest, &slices(&data)).unwrap_err().to_string(), text);
                if k > 0 {
                    let text = format!("buffer {k} has {len} bytes, buffer 0 has 65");
                    assert_eq!(test.check(&slices(&data)).unwrap_err().to_string(), text);
                }
            }
            data[k] = common::source(k, 65);
        }
        assert_eq!(dest, [7; 65]);
    }
}

#[test]
fn tiers_that_cannot_run_are_refused() {
    let choice = Cpu::get().choose(&XOR);
    for tier in Tier::XOR.into_iter().filter(|t| choice.next_legal_at_or_below(*t) != Some(*t)) {
        let error = XorKernel::compile_for(&plain(2, Destination::Overwrite), tier).unwrap_err();
        assert_eq!(error, Error::IllegalTier { tier });
        assert_eq!(error.to_string(), format!("tier {tier} cannot run here"));
    }
}

#[test]
fn tiers_of_other_families_are_refused() {
    for tier in Tier::ALL.into_iter().filter(|t| !Tier::XOR.contains(t)) {
        let refused = xor::generate(&plain(3, Destination::Overwrite), tier).unwrap_err().to_string();
        assert!(refused.contains(&format!("no XOR kernels for {tier}")), "{refused}");
    }
}

#[test]
fn what_a_target_lacks_is_refused() {
    let ternary = spec(3, XorOptions { merge: Merge::Ternary, ..XorOptions::default() });
    let error = |spec: &XorSpec, tier| xor::generate(spec, tier).map(drop).unwrap_err();
    for tier in [Tier::Sse2, Tier::Avx2] {
        let found = error(&ternary, tier);
        assert_eq!(found, Error::Compile(CompileError::Plan(PlanError::NoTernary { target: tier.name() })));
        assert_eq!(found.to_string(), format!("{tier} has no three-input XOR: merge=ternary is impossible"));
    }
    assert!(xor::generate(&ternary, Tier::Avx512).is_ok());
    let streamed =
        XorOptions { store: Store::NonTemporal, aligned: 64, strategy: Strategy::Grouped(4), ..XorOptions::default() };
    assert_eq!(
        error(&spec(5, streamed), Tier::Avx512).to_string(),
        "more than one group reads the destination again: non-temporal stores need a single pass"
    );
    assert!(xor::generate(&spec(4, streamed), Tier::Avx512).is_ok());
    // By default pointers are not parked where a full turn does not fit beside them.
    let many = XorOptions { unroll: Some(8), destination: Destination::ZeroTest, ..XorOptions::default() };
    let tuning = XorTuning { unroll_operands: 1, ..XorTuning::DEFAULT };
    assert_eq!(
        compile(&spec(23, many), Tier::Sse2, &tuning).unwrap_err().to_string(),
        "sse2 has too few vector registers for this unroll factor and source count"
    );
}

#[test]
fn a_spec_tells_every_error_at_once() {
    let options = XorOptions {
        destination: Destination::ZeroTest,
        strategy: Strategy::Grouped(0),
        unroll: Some(6),
        store: Store::NonTemporal,
        aligned: 8192,
        multiple_of: 131_072,
        ..XorOptions::default()
    };
    let errors = XorSpec::with(2000, options).unwrap_err();
    assert_eq!(
        errors.errors(),
        [
            SpecError::TooManySources { sources: 2000 },
            SpecError::GroupSize { size: 0 },
            SpecError::GroupedZeroTest,
            SpecError::Unroll { unroll: 6 },
            SpecError::Aligned { aligned: 8192 },
            SpecError::MultipleOf { multiple_of: 131_072 },
            SpecError::NonTemporalZeroTest,
        ]
    );
    assert_eq!(
        errors.to_string(),
        "2000 sources are too many: at most 1024; \
         a group of 0 sources: expected 1 to 12; \
         a zero test makes a single pass: it cannot be grouped; \
         unroll 6: expected 1, 2, 4 or 8; \
         promised alignment 8192: expected a power of two from 1 to 4096; \
         promised length multiple 131072: expected a power of two from 1 to 65536; \
         a zero test stores nothing: non-temporal has no meaning"
    );
    let streamed = XorOptions { store: Store::NonTemporal, aligned: 32, ..XorOptions::default() };
    assert_eq!(
        XorSpec::with(0, streamed).unwrap_err().to_string(),
        "a XOR kernel needs at least 1 source; non-temporal stores need buffers aligned to 64 bytes, promised are 32"
    );
}

#[test]
fn describe_says_what_serves_a_call() {
    let Some(tier) = Cpu::get().choose(&XOR).tier else { return };
    let text = |destination, sources, len| xor::describe(destination, sources, len).unwrap().to_string();
    for destination in common::DESTINATIONS {
        assert_eq!(
            text(destination, 5, 4096),
            format!("{tier}, 5 sources, single pass, compiled at run time"),
            "{destination}"
        );
    }
    // What a grouped plan says follows from the plan, whose thresholds are tuned.
    let long = XorOptions { length: LengthClass::Long, ..XorOptions::default() };
    let (lowered, _) = xor::generate(&spec(64, long), tier).unwrap();
    let (groups, block) = (lowered.plan.driver.groups.len(), lowered.plan.driver.block.unwrap());
    assert!(groups > 1);
    assert_eq!(
        text(Destination::Overwrite, 64, 100 << 20),
        format!("{tier}, 64 sources, {groups} groups in blocks of {block} bytes, compiled at run time")
    );
    // A zero test has no destination to carry a sum from group to group.
    assert_eq!(
        text(Destination::ZeroTest, 64, 100 << 20),
        format!("{tier}, 64 sources, single pass, compiled at run time")
    );
    let description = xor::describe(Destination::Overwrite, 5, 4096).unwrap();
    assert_eq!(format!("{description:?}"), format!("Description({description})"));
}

#[test]
fn a_handle_says_what_it_is() {
    for tier in tiers_here() {
        let options = XorOptions { strategy: Strategy::Grouped(4), ..XorOptions::default() };
        let kernel = XorKernel::compile_for(&spec(7, options), tier).unwrap();
        assert_eq!(kernel.tier(), tier);
        assert_eq!(kernel.spec(), &spec(7, options));
        assert_eq!(
            format!("{kernel:?}"),
            format!(
                "XorKernel(xor srcs=7 destination=overwrite strategy=grouped4 on {tier}: \
                 {tier}, 7 sources, 2 groups, compiled at run time)"
            )
        );
        assert!(kernel.entry().is_none(), "two programs have no single entry");
        assert_eq!(kernel.code().len(), 2);
        let (lowered, codes) = xor::generate(kernel.spec(), tier).unwrap();
        assert!((kernel.lowered(), kernel.code()) == (&lowered, &codes[..]));
        assert_eq!(kernel.listing(), xor::listings(&lowered, &codes));

        let single = XorKernel::compile_for(&plain(2, Destination::Overwrite), tier).unwrap();
        let entry = single.entry().unwrap();
        let (a, b, mut dest) = ([1u8; 70], [2u8; 70], [0u8; 70]);
        // SAFETY: the contract: two pointers, each to 70 bytes, and a destination of 70 bytes.
        unsafe { entry(dest.as_mut_ptr(), [a.as_ptr(), b.as_ptr()].as_ptr(), 0, 70) };
        assert_eq!(dest, [3; 70]);
    }
}
