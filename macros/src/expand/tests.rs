use lanesmith_codegen::kernel::xor::compile;
use lanesmith_codegen::plan::xor::XorTuning;
use lanesmith_codegen::spec::{Strategy, XorOptions, XorSpec};
use quote::quote;

use super::*;
use crate::check;

/// The expansion without spaces.
fn expanded(arguments: TokenStream, function: TokenStream) -> String {
    let tokens = xor_kernel(check::xor_kernel(arguments, function));
    assert!(syn::parse2::<syn::ItemFn>(tokens.clone()).is_ok(), "{tokens}");
    tokens.to_string().chars().filter(|c| !c.is_whitespace()).collect()
}

/// The names of the programs that a tier runs, one per group, and the source that each group starts with.
fn groups(tier: Tier, sources: usize, options: XorOptions) -> Vec<(String, u16)> {
    let spec = XorSpec::with(sources, options).expect("a legal spec");
    let lowered = compile(&spec, tier, &XorTuning::DEFAULT).expect("a kernel");
    let name = |pass: usize| lowered.programs[pass].name().to_owned();
    lowered.plan.driver.groups.iter().map(|group| (name(group.pass), group.first)).collect()
}

#[test]
fn each_entry_is_beside_its_own_tier_and_none_is_above_the_wanted_one() {
    let function = quote! { fn parity(dest: &mut [u8], srcs: [&[u8]; 5]); };
    let cases = [
        (quote! { srcs = 5 }, "None", 4),
        (quote! { srcs = 5, width = 128 }, "Some(::lanesmith::__private::Tier::Sse2)", 1),
        (quote! { srcs = 5, width = 256 }, "Some(::lanesmith::__private::Tier::Avx2)", 2),
        (quote! { srcs = 5, tier = "avx512-256" }, "Some(::lanesmith::__private::Tier::Avx512Vl256)", 3),
        (quote! { srcs = 5, width = 512 }, "Some(::lanesmith::__private::Tier::Avx512)", 4),
    ];
    for (arguments, wanted, tiers) in cases {
        let text = expanded(arguments, function.clone());
        let variants = Tier::XOR[..tiers].iter().map(|tier| {
            let (name, _) = &groups(*tier, 5, XorOptions::default())[0];
            format!("(::lanesmith::__private::Tier::{tier:?},{name})")
        });
        let all = variants.collect::<Vec<_>>().join(",");
        let call = format!("Kernel::new(::core::option::Option::{wanted},&[{all}])");
        assert!(text.contains(&call), "no {call} in {text}");
        assert_eq!(text.matches("naked_asm!").count(), tiers);
    }
}

#[test]
fn a_driver_calls_each_group_of_its_own_tier() {
    let options =
        XorOptions { strategy: Strategy::Grouped(4), destination: Destination::Accumulate, ..XorOptions::default() };
    let function = quote! { fn add(dest: &mut [u8], srcs: [&[u8]; 9]); };
    let text = expanded(quote! { srcs = 9, strategy = grouped4, destination = accumulate }, function);
    for tier in Tier::XOR {
        let groups = groups(tier, 9, options);
        assert_eq!(groups.iter().map(|(_, first)| *first).collect::<Vec<_>>(), [0, 4, 8]);
        let calls: Vec<String> = groups.iter().map(|(name, first)| format!("({name},{first}usize)")).collect();
        let driver = text.split(&format!("fndriver_{tier:?}(")).nth(1).expect("a driver");
        let call = format!("grouped(&[{}],", calls.join(","));
        assert_eq!(driver.find("grouped("), driver.find(&call), "the first call in {driver}");
        assert!(text.contains(&format!("Tier::{tier:?},driver_{tier:?})")), "{text}");
    }
}

#[test]
fn braces_are_escaped_and_there_are_no_directives() {
    let function = quote! { fn parity(dest: &mut [u8], srcs: [&[u8]; 3]); };
    let text = expanded(quote! { srcs = 3, width = 512 }, function);
    assert!(text.contains("{{k1}}{{z}}"));
    assert!(!text.contains(".cfi") && !text.contains(".p2align"));
}

#[test]
fn what_the_user_wrote_is_kept() {
    let function = quote! {
        /// Documented.
        #[cold]
        #[track_caller]
        pub(in crate::a) fn parity(d: &mut [u8], s: [&[u8]; 3]);
    };
    let text = expanded(quote! { srcs = 3, crate = a::b, aligned = 32, multiple_of = 64 }, function);
    assert!(text.starts_with("#[doc=r\"Documented.\"]#[cold]#[track_caller]pub(incrate::a)fnparity("), "{text}");
    assert_eq!(text.matches("track_caller").count(), 1);
    assert!(text.contains("a::b::__private::Promises{aligned:32u32,multiple_of:64u32},d,&s"), "{text}");
    assert!(!text.contains("::lanesmith"));
}
