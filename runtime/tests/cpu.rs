//! Detection and the choice of a tier, on injected machines.

use lanesmith_codegen::target::{Feature, FeatureSet, Tier};
use lanesmith_runtime::cpu::{
    Choice, Cpu, FLETCHER, Model, Policy, Registers, Snapshot, Vendor, Verdict, XOR, brand, choose,
};

/// x87, xmm and ymm.
const XCR0_AVX: u64 = 0x7;
/// Those, opmasks and zmm.
const XCR0_AVX512: u64 = 0xE7;

fn intel(model: u32) -> Model {
    Model { vendor: Vendor::INTEL, family: 6, model, stepping: 1 }
}

fn amd(family: u32, model: u32) -> Model {
    Model { vendor: Vendor::AMD, family, model, stepping: 0 }
}

fn everything() -> FeatureSet {
    FeatureSet::of(&Feature::ALL)
}

fn xor(machine: &Snapshot) -> Choice {
    choose(&XOR, machine, &Policy::default())
}

fn verdict(choice: &Choice, tier: Tier) -> Verdict {
    choice.rows.iter().find(|row| row.tier == tier).unwrap().verdict
}

#[test]
fn a_snapshot_keeps_features_and_model() {
    let machine = Snapshot::of(intel(0xAD), everything(), Some(XCR0_AVX512));
    assert_eq!(machine.features(), everything());
    for model in [intel(0x8F), intel(0x0F), amd(0x19, 0x61), amd(0x1A, 0x44), amd(0xF, 0x41), amd(0x17, 0x08)] {
        assert_eq!(Snapshot::of(model, FeatureSet::EMPTY, None).model(), model);
    }
    for feature in Feature::ALL {
        let rest = everything().minus(FeatureSet::of(&[feature]));
        let without = Snapshot::of(intel(0xAD), rest, Some(XCR0_AVX512)).features();
        assert!(!without.has(feature) && rest.contains(without), "{feature:?}");
    }
}

#[test]
fn each_feature_is_where_the_manual_says() {
    use Feature::*;
    // Intel SDM, volume 2A, CPUID: the leaf, the register and the bit.
    let manual = [
        (Pclmulqdq, 1, 'c', 1),
        (Ssse3, 1, 'c', 9),
        (Sse41, 1, 'c', 19),
        (Aes, 1, 'c', 25),
        (Avx, 1, 'c', 28),
        (Sse2, 1, 'd', 26),
        (Bmi1, 7, 'b', 3),
        (Avx2, 7, 'b', 5),
        (Bmi2, 7, 'b', 8),
        (Avx512F, 7, 'b', 16),
        (Avx512Dq, 7, 'b', 17),
        (Avx512Bw, 7, 'b', 30),
        (Avx512Vl, 7, 'b', 31),
        (Avx512Vbmi, 7, 'c', 1),
        (Gfni, 7, 'c', 8),
        (Vaes, 7, 'c', 9),
        (Vpclmulqdq, 7, 'c', 10),
        (Avx512Vnni, 7, 'c', 11),
    ];
    assert_eq!(manual.len(), Feature::ALL.len());
    let all = Registers { eax: !0, ebx: !0, ecx: !0, edx: !0 };
    let full = Snapshot { leaf0: Registers { eax: 7, ..all }, leaf1: all, leaf7: all, ..Snapshot::EMPTY };
    let full = Snapshot { xcr0: Some(XCR0_AVX512), ..full };
    assert_eq!(full.features(), everything());
    for (feature, leaf, register, bit) in manual {
        let mut machine = full;
        let registers = if leaf == 1 { &mut machine.leaf1 } else { &mut machine.leaf7 };
        *match register {
            'b' => &mut registers.ebx,
            'c' => &mut registers.ecx,
            _ => &mut registers.edx,
        } &= !(1 << bit);
        let lost = everything().minus(machine.features());
        assert!(lost.has(feature), "{feature:?}");
        assert!(lost.iter().count() == 1 || matches!(feature, Avx | Avx2 | Avx512F), "{feature:?} takes {lost}");
    }
}

#[test]
fn signatures_of_real_machines() {
    let model = |vendor: Vendor, eax| {
        let mut machine = Snapshot::of(Model { vendor, ..Model::default() }, FeatureSet::EMPTY, None);
        machine.leaf1.eax = eax;
        machine.model()
    };
    // Skylake-SP, Zen 4 (Raphael), and a K7, whose extended model field is not used.
    assert_eq!(model(Vendor::INTEL, 0x0005_0654), Model { stepping: 4, ..intel(0x55) });
    assert_eq!(model(Vendor::AMD, 0x00A6_0F12), Model { stepping: 2, ..amd(0x19, 0x61) });
    assert_eq!(model(Vendor::AMD, 0x0000_0591), Model { stepping: 1, ..amd(0x5, 0x9) });
    assert_eq!(model(Vendor::INTEL, 0x0005_0654).to_string(), "GenuineIntel family 0x6 model 0x55 stepping 0x4");
}

#[test]
fn avx512_bits_without_the_os_state() {
    let machine = Snapshot::of(intel(0x8F), everything(), Some(XCR0_AVX));
    let choice = xor(&machine);
    assert_eq!(choice.tier, Some(Tier::Avx2));
    assert_eq!(choice.legal().collect::<Vec<_>>(), [Tier::Sse2, Tier::Avx2]);
    let os = FeatureSet::of(&[Feature::Avx512F, Feature::Avx512Bw]);
    assert_eq!(verdict(&choice, Tier::Avx512), Verdict::Missing { cpu: FeatureSet::EMPTY, os });
    // One of the three bits missing is as good as all.
    for bit in [5, 6, 7, 2, 1] {
        let machine = Snapshot::of(intel(0x8F), everything(), Some(XCR0_AVX512 & !(1 << bit)));
        assert!(!machine.features().has(Feature::Avx512F), "XCR0[{bit}]");
        assert_eq!(machine.features().has(Feature::Avx2), bit >= 5, "XCR0[{bit}]");
    }
}

#[test]
fn without_osxsave_only_sse() {
    let mut machine = Snapshot::of(intel(0x8F), everything(), None);
    for _ in 0..2 {
        assert_eq!(xor(&machine).tier, Some(Tier::Sse2));
        let features = machine.features();
        for feature in [Feature::Avx, Feature::Avx2, Feature::Avx512F, Feature::Vaes, Feature::Vpclmulqdq] {
            assert!(!features.has(feature), "{feature:?}");
        }
        for feature in [Feature::Ssse3, Feature::Aes, Feature::Bmi2, Feature::Gfni] {
            assert!(features.has(feature), "{feature:?}");
        }
        // An XCR0 beside a clear OSXSAVE counts for nothing.
        machine.xcr0 = Some(XCR0_AVX512);
    }
}

#[test]
fn leaf_7_counts_only_below_the_highest_leaf() {
    // What an Intel CPU would answer there: another leaf's registers.
    let mut machine = Snapshot::of(intel(0x2A), everything(), Some(XCR0_AVX512));
    machine.leaf7 = Registers { eax: !0, ebx: !0, ecx: !0, edx: !0 };
    for max in [1, 2, 5, 6] {
        machine.leaf0.eax = max;
        assert!(machine.features().has(Feature::Avx));
        assert!(!machine.features().has(Feature::Avx2));
        assert_eq!(xor(&machine).tier, Some(Tier::Sse2), "highest leaf {max}");
    }
    machine.leaf0.eax = 7;
    assert_eq!(xor(&machine).tier, Some(Tier::Avx512));
}

#[test]
fn the_exclusion_list_prefers_256_bit_evex() {
    for model in [0x55, 0x6A, 0x6C, 0x7D, 0x7E, 0x9D, 0x8C, 0x8D] {
        let machine = Snapshot::of(intel(model), everything(), Some(XCR0_AVX512));
        let choice = xor(&machine);
        assert!(machine.excluded_from_512(), "{model:#x}");
        assert_eq!(choice.tier, Some(Tier::Avx512Vl256), "{model:#x}");
        assert_eq!(verdict(&choice, Tier::Avx512), Verdict::ExcludedModel);
        // The list does not decide legality, and a request overrides it.
        assert_eq!(choice.legal().collect::<Vec<_>>(), XOR.tiers);
        assert_eq!(choice.next_legal_at_or_below(Tier::Avx512), Some(Tier::Avx512));

        let without_vl = everything().minus(FeatureSet::of(&[Feature::Avx512Vl]));
        let machine = Snapshot::of(intel(model), without_vl, Some(XCR0_AVX512));
        assert_eq!(xor(&machine).tier, Some(Tier::Avx512), "256-bit EVEX is not legal here");

        // The same numbers of another vendor or family mean nothing.
        for other in [Model { vendor: Vendor::AMD, ..intel(model) }, Model { family: 0x13, ..intel(model) }] {
            assert!(!Snapshot::of(other, everything(), Some(XCR0_AVX512)).excluded_from_512(), "{other}");
        }
    }
}

#[test]
fn other_models_prefer_512() {
    // Rocket Lake, Sapphire Rapids, Emerald Rapids, Granite Rapids, Zen 4, Zen 5.
    for model in [intel(0xA7), intel(0x8F), intel(0xCF), intel(0xAD), amd(0x19, 0x11), amd(0x1A, 0x02)] {
        let choice = xor(&Snapshot::of(model, everything(), Some(XCR0_AVX512)));
        assert_eq!(choice.tier, Some(Tier::Avx512), "{model}");
        assert_eq!(verdict(&choice, Tier::Avx512), Verdict::Preferred);
        assert_eq!(verdict(&choice, Tier::Avx512Vl256), Verdict::Narrower);
    }
}

#[test]
fn knights_landing_has_neither_bw_nor_vl() {
    use Feature::*;
    let features = FeatureSet::of(&[Sse2, Ssse3, Sse41, Avx, Avx2, Bmi1, Bmi2, Avx512F, Aes, Pclmulqdq]);
    let choice = xor(&Snapshot::of(intel(0x57), features, Some(XCR0_AVX512)));
    assert_eq!(choice.tier, Some(Tier::Avx2));
    let cpu = FeatureSet::of(&[Avx512Bw]);
    assert_eq!(verdict(&choice, Tier::Avx512), Verdict::Missing { cpu, os: FeatureSet::EMPTY });
}

#[test]
fn avx_without_avx2() {
    use Feature::*;
    let features = FeatureSet::of(&[Sse2, Ssse3, Sse41, Avx, Aes, Pclmulqdq]);
    let machine = Snapshot::of(intel(0x3A), features, Some(XCR0_AVX));
    assert_eq!(machine.features(), features);
    assert_eq!(xor(&machine).tier, Some(Tier::Sse2));
}

#[test]
fn vaes_counts_with_avx2_alone() {
    use Feature::*;
    let alder_lake =
        FeatureSet::of(&[Sse2, Ssse3, Sse41, Avx, Avx2, Bmi1, Bmi2, Aes, Pclmulqdq, Vaes, Vpclmulqdq, Gfni]);
    assert_eq!(Snapshot::of(intel(0x97), alder_lake, Some(XCR0_AVX)).features(), alder_lake);
    let without = alder_lake.minus(FeatureSet::of(&[Avx2]));
    let features = Snapshot::of(intel(0x97), without, Some(XCR0_AVX)).features();
    assert!(!features.has(Vaes) && !features.has(Vpclmulqdq) && features.has(Gfni));
}

#[test]
fn no_machine_no_tier() {
    let choice = xor(&Snapshot::EMPTY);
    assert_eq!(choice.tier, None);
    assert_eq!(choice.legal().count(), 0);
    assert_eq!(choice.next_legal_at_or_below(Tier::Avx512), None);
    assert!(choice.to_string().starts_with("xor: portable code\n"));
}

#[test]
fn a_policy_only_lowers() {
    let granite_rapids = Snapshot::of(intel(0xAD), everything(), Some(XCR0_AVX512));
    for max in Tier::XOR {
        let choice = choose(&XOR, &granite_rapids, &Policy::default().with_max_isa(max));
        assert_eq!(choice.tier, Some(max));
        assert_eq!(choice.next_legal_at_or_below(Tier::Avx512), Some(max), "requests are bound as well");
        assert_eq!(choice.legal().collect::<Vec<_>>(), XOR.tiers, "legal whatever is allowed");
        assert!(verdict(&choice, Tier::Avx512).is_legal());
    }
    let skylake = Snapshot::of(intel(0x55), everything(), Some(XCR0_AVX512));
    let tier = |max| choose(&XOR, &skylake, &Policy::default().with_max_isa(max)).tier;
    assert_eq!(Tier::XOR.map(tier), [Tier::Sse2, Tier::Avx2, Tier::Avx512Vl256, Tier::Avx512Vl256].map(Some));
    let nehalem = Snapshot::of(intel(0x1A), FeatureSet::of(&[Feature::Sse2, Feature::Ssse3]), None);
    for max in Tier::XOR {
        assert_eq!(choose(&XOR, &nehalem, &Policy::default().with_max_isa(max)).tier, Some(Tier::Sse2));
    }
}

#[test]
fn a_request_takes_the_next_one_down() {
    let haswell = everything().minus(Tier::Avx512.target().features).union(Tier::Avx2.target().features);
    let choice = xor(&Snapshot::of(intel(0x3C), haswell, Some(XCR0_AVX)));
    assert_eq!(Tier::XOR.map(|t| choice.next_legal_at_or_below(t)), {
        use Tier::*;
        [Sse2, Avx2, Avx2, Avx2].map(Some)
    });
    let without_vl = everything().minus(FeatureSet::of(&[Feature::Avx512Vl]));
    let choice = xor(&Snapshot::of(intel(0xAD), without_vl, Some(XCR0_AVX512)));
    assert_eq!(choice.next_legal_at_or_below(Tier::Avx512Vl256), Some(Tier::Avx2));
    assert_eq!(choice.next_legal_at_or_below(Tier::Avx512), Some(Tier::Avx512));
}

#[test]
fn values_of_the_variable() {
    let parsed =
        ["sse2", "ssse3", "avx2", "avx512-256", "avx512f", "avx512"].map(|v| Policy::parse_max_isa(v).unwrap());
    assert_eq!(parsed, Tier::ALL);
    let nehalem = Snapshot::of(intel(0x1A), everything(), None);
    let under_ssse3 = Policy::default().with_max_isa(Tier::Ssse3);
    assert_eq!(choose(&XOR, &nehalem, &under_ssse3).tier, Some(Tier::Sse2));
    assert_eq!(choose(&FLETCHER, &nehalem, &under_ssse3).tier, Some(Tier::Ssse3));
    let under_sse2 = Policy::default().with_max_isa(Tier::Sse2);
    assert_eq!(choose(&FLETCHER, &nehalem, &under_sse2).tier, Some(Tier::Sse2));
    for unknown in ["", "AVX2", " avx2", "avx", "avx512bw", "512"] {
        let error = Policy::parse_max_isa(unknown).unwrap_err();
        assert_eq!(error.to_string(), "unknown tier: expected one of sse2, ssse3, avx2, avx512-256, avx512f, avx512");
    }
}

#[test]
fn an_explanation_reads_well() {
    let machine = Snapshot::of(intel(0x6A), everything().minus(FeatureSet::of(&[Feature::Bmi2])), Some(XCR0_AVX));
    assert_eq!(
        choose(&XOR, &machine, &Policy::default().with_max_isa(Tier::Sse2)).to_string(),
        "\
xor: sse2
  sse2        preferred
  avx2        legal, but above the allowed sse2 (LANESMITH_MAX_ISA)
  avx512-256  not legal: the CPU lacks bmi2, and the operating system has not enabled avx512f avx512vl avx512bw
  avx512      not legal: the CPU lacks bmi2, and the operating system has not enabled avx512f avx512bw
"
    );
    let machine = Snapshot::of(intel(0x6A), everything(), Some(XCR0_AVX512));
    assert_eq!(
        xor(&machine).to_string(),
        "\
xor: avx512-256
  sse2        legal, but a wider tier is preferred
  avx2        legal, but a wider tier is preferred
  avx512-256  preferred
  avx512      legal, but this CPU model prefers 256-bit vectors
"
    );
}

#[test]
fn the_cached_machine_is_this_one() {
    let snapshot = Snapshot::detect();
    let cpu = Cpu::get();
    // Leaf 1 EBX[31:24] is the core's own number, which differs when a test moves between cores.
    assert_eq!(Snapshot { leaf1: cpu.snapshot.leaf1, ..snapshot }, cpu.snapshot);
    assert!(std::ptr::eq(cpu, Cpu::get()));
    println!("{}\n{}\n{}\n{}", brand(), snapshot.model(), cpu.features(), cpu.choose(&XOR));
    assert!(brand().chars().all(|c| c.is_ascii_graphic() || c == ' '));
    if cfg!(target_arch = "x86_64") {
        assert!(cpu.features().has(Feature::Sse2));
        assert_eq!(cpu.choose(&XOR).next_legal_at_or_below(Tier::Sse2), Some(Tier::Sse2));
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn detection_agrees_with_the_standard_library() {
    let features = Snapshot::detect().features();
    let mut compared = 0;
    macro_rules! agrees {
        ($($feature:ident $name:tt)*) => {$(
            assert_eq!(features.has(Feature::$feature), std::is_x86_feature_detected!($name), $name);
            assert_eq!(Feature::$feature.name(), $name);
            compared += 1;
        )*};
    }
    agrees! {
        Sse2 "sse2" Ssse3 "ssse3" Sse41 "sse4.1" Avx "avx" Avx2 "avx2" Bmi1 "bmi1" Bmi2 "bmi2"
        Avx512F "avx512f" Avx512Vl "avx512vl" Avx512Bw "avx512bw" Avx512Dq "avx512dq" Avx512Vbmi "avx512vbmi"
        Avx512Vnni "avx512vnni" Aes "aes" Pclmulqdq "pclmulqdq" Vaes "vaes" Vpclmulqdq "vpclmulqdq" Gfni "gfni"
    }
    assert_eq!(compared, Feature::ALL.len());
}
