//! Raw CPUID and XCR0 values, and pure functions of them.
//!
//! Register and bit positions are those of the Intel SDM, volume 2A, CPUID, and volume 1, 13.3 (XCR0). AMD's APM,
//! volume 3, appendix E agrees on every bit that is read here.

use alloc::string::String;
use core::fmt;

use lanesmith_codegen::target::{Feature, FeatureSet};

/// The four registers that CPUID returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the registers' own names
pub struct Registers {
    pub eax: u32,
    pub ebx: u32,
    pub ecx: u32,
    pub edx: u32,
}

/// Everything that was asked of a CPU, as it answered. Leaves that it does not have are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// Leaf 0: EAX is the highest basic leaf, EBX, EDX, ECX spell the vendor.
    pub leaf0: Registers,
    /// Leaf 1: model in EAX, features in ECX and EDX.
    pub leaf1: Registers,
    /// Leaf 7, subleaf 0: EAX is the highest subleaf, the others are features.
    pub leaf7: Registers,
    /// Leaf 7, subleaf 1: features.
    pub leaf7_1: Registers,
    /// Leaf 0x8000_0000: EAX is the highest extended leaf.
    pub extended0: Registers,
    /// Leaf 0x8000_0001: extended features.
    pub extended1: Registers,
    /// Leaf 0x8000_0008: address sizes.
    pub extended8: Registers,
    /// XCR0, the register state that the operating system saves; `None` when it has not set CR4.OSXSAVE.
    pub xcr0: Option<u64>,
}

/// Leaf 1 ECX: the operating system has set CR4.OSXSAVE, so XGETBV may be executed.
const OSXSAVE: u32 = 1 << 27;
/// XCR0[2:1]: the xmm registers and the upper halves of the ymm registers are saved.
const XCR0_AVX: u64 = 0b110;
/// XCR0[7:5] as well: opmasks, the upper halves of zmm0–15 and the whole of zmm16–31 are saved.
const XCR0_AVX512: u64 = 0b1110_0110;

/// Which operating-system support a feature's registers need.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// General and xmm registers, which every x86-64 operating system saves.
    Base,
    Avx,
    Avx512,
}

/// Where a feature is announced, what has to be saved for it, and which feature it is part of.
struct Bit {
    feature: Feature,
    leaf: Leaf,
    register: Register,
    bit: u32,
    state: State,
    within: FeatureSet,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    One,
    Seven,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Register {
    Ebx,
    Ecx,
    Edx,
}

use Feature::*;
use Leaf::{One, Seven};
use Register::{Ebx, Ecx, Edx};

const NOTHING: FeatureSet = FeatureSet::EMPTY;
const IN_AVX: FeatureSet = FeatureSet::of(&[Avx]);
const IN_AVX2: FeatureSet = FeatureSet::of(&[Avx2]);
const IN_AVX512F: FeatureSet = FeatureSet::of(&[Avx512F]);

const fn row(feature: Feature, at: (Leaf, Register, u32), state: State, within: FeatureSet) -> Bit {
    Bit { feature, leaf: at.0, register: at.1, bit: at.2, state, within }
}

/// One row per feature. A row stands below the rows that it is `within`.
///
/// VAES and VPCLMULQDQ have neither a legacy encoding nor a state of their own: the CPU announces them however little
/// the operating system saves, and they count once AVX2 is usable. The GFNI bit stands for a legacy SSE encoding as
/// well, so it counts alone; a kernel that uses it on ymm or zmm names AVX2 or AVX-512 in its target.
#[rustfmt::skip]
static BITS: [Bit; Feature::ALL.len()] = [
    row(Sse2,       (One,   Edx, 26), State::Base,   NOTHING),
    row(Ssse3,      (One,   Ecx,  9), State::Base,   NOTHING),
    row(Sse41,      (One,   Ecx, 19), State::Base,   NOTHING),
    row(Aes,        (One,   Ecx, 25), State::Base,   NOTHING),
    row(Pclmulqdq,  (One,   Ecx,  1), State::Base,   NOTHING),
    row(Bmi1,       (Seven, Ebx,  3), State::Base,   NOTHING),
    row(Bmi2,       (Seven, Ebx,  8), State::Base,   NOTHING),
    row(Gfni,       (Seven, Ecx,  8), State::Base,   NOTHING),
    row(Avx,        (One,   Ecx, 28), State::Avx,    NOTHING),
    row(Avx2,       (Seven, Ebx,  5), State::Avx,    IN_AVX),
    row(Vaes,       (Seven, Ecx,  9), State::Avx,    IN_AVX2),
    row(Vpclmulqdq, (Seven, Ecx, 10), State::Avx,    IN_AVX2),
    row(Avx512F,    (Seven, Ebx, 16), State::Avx512, IN_AVX),
    row(Avx512Dq,   (Seven, Ebx, 17), State::Avx512, IN_AVX512F),
    row(Avx512Bw,   (Seven, Ebx, 30), State::Avx512, IN_AVX512F),
    row(Avx512Vl,   (Seven, Ebx, 31), State::Avx512, IN_AVX512F),
    row(Avx512Vbmi, (Seven, Ecx,  1), State::Avx512, IN_AVX512F),
    row(Avx512Vnni, (Seven, Ecx, 11), State::Avx512, IN_AVX512F),
];

/// Intel family 6 models whose clock drops under 512-bit work by more than the wider vectors gain.
const EXCLUDED_FROM_512: [u32; 8] = [
    0x55, // Skylake-SP, Cascade Lake, Cooper Lake
    0x6A, // Ice Lake-SP
    0x6C, // Ice Lake-D
    0x7D, // Ice Lake
    0x7E, // Ice Lake, mobile
    0x9D, // Ice Lake, NNP-I
    0x8C, // Tiger Lake, mobile
    0x8D, // Tiger Lake
];

impl Snapshot {
    /// A machine without any feature, of no vendor: what [`Snapshot::detect`] returns where there is no CPUID.
    pub const EMPTY: Snapshot = {
        const NONE: Registers = Registers { eax: 0, ebx: 0, ecx: 0, edx: 0 };
        Snapshot {
            leaf0: NONE,
            leaf1: NONE,
            leaf7: NONE,
            leaf7_1: NONE,
            extended0: NONE,
            extended1: NONE,
            extended8: NONE,
            xcr0: None,
        }
    };

    /// The machine that `model` names, announcing `features`, whose operating system has set XCR0 to `xcr0`.
    ///
    /// For tests and for asking what another machine would choose. The highest basic leaf is 7.
    pub fn of(model: Model, features: FeatureSet, xcr0: Option<u64>) -> Snapshot {
        let mut snapshot = Snapshot { xcr0, ..Snapshot::EMPTY };
        let [b, d, c] = model.vendor.words();
        snapshot.leaf0 = Registers { eax: 7, ebx: b, ecx: c, edx: d };
        snapshot.leaf1.eax = model.signature();
        if xcr0.is_some() {
            snapshot.leaf1.ecx |= OSXSAVE;
        }
        for bit in BITS.iter().filter(|b| features.has(b.feature)) {
            let registers = match bit.leaf {
                One => &mut snapshot.leaf1,
                Seven => &mut snapshot.leaf7,
            };
            *match bit.register {
                Ebx => &mut registers.ebx,
                Ecx => &mut registers.ecx,
                Edx => &mut registers.edx,
            } |= 1 << bit.bit;
        }
        snapshot
    }

    /// Asks this CPU. Costs a few dozen cycles a leaf, and an exit to the hypervisor a leaf in a virtual machine.
    #[cfg(target_arch = "x86_64")]
    pub fn detect() -> Snapshot {
        let leaf0 = cpuid(0, 0);
        let basic = |leaf, sub| if leaf <= leaf0.eax { cpuid(leaf, sub) } else { Registers::default() };
        let extended0 = cpuid(0x8000_0000, 0);
        // A CPU without extended leaves answers with those of a basic leaf, whose top bit is clear.
        let extended = |leaf| if leaf <= extended0.eax { cpuid(leaf, 0) } else { Registers::default() };
        let leaf1 = basic(1, 0);
        let leaf7 = basic(7, 0);
        Snapshot {
            leaf0,
            leaf1,
            leaf7,
            leaf7_1: if leaf7.eax >= 1 { basic(7, 1) } else { Registers::default() },
            extended0,
            extended1: extended(0x8000_0001),
            extended8: extended(0x8000_0008),
            xcr0: (leaf1.ecx & OSXSAVE != 0).then(xcr0),
        }
    }

    /// There is no CPUID here: [`Snapshot::EMPTY`], for which no tier is legal.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn detect() -> Snapshot {
        Snapshot::EMPTY
    }

    /// What the CPU announces and the operating system has enabled: what may be executed.
    pub fn features(&self) -> FeatureSet {
        self.features_given(|state| self.os_saves(state))
    }

    /// What the CPU announces, whether or not the operating system has enabled it. For explanations only.
    pub fn announced(&self) -> FeatureSet {
        self.features_given(|_| true)
    }

    fn features_given(&self, usable: impl Fn(State) -> bool) -> FeatureSet {
        BITS.iter().fold(FeatureSet::EMPTY, |found, bit| {
            // Beyond its highest leaf an Intel CPU answers with another leaf's registers, so never read those.
            let (number, registers) = match bit.leaf {
                One => (1, self.leaf1),
                Seven => (7, self.leaf7),
            };
            let value = match bit.register {
                Ebx => registers.ebx,
                Ecx => registers.ecx,
                Edx => registers.edx,
            };
            let announced = self.leaf0.eax >= number && value >> bit.bit & 1 != 0;
            if announced && usable(bit.state) && found.contains(bit.within) { found.with(bit.feature) } else { found }
        })
    }

    fn os_saves(&self, state: State) -> bool {
        let wanted = match state {
            State::Base => return true,
            State::Avx => XCR0_AVX,
            State::Avx512 => XCR0_AVX512,
        };
        // Both are asked because an injected snapshot may hold an XCR0 that a program could not have read.
        self.leaf1.ecx & OSXSAVE != 0 && self.xcr0.is_some_and(|xcr0| xcr0 & wanted == wanted)
    }

    /// Vendor, family, model and stepping, with the extended fields joined.
    pub fn model(&self) -> Model {
        let eax = self.leaf1.eax;
        let base_family = eax >> 8 & 0xF;
        let base_model = eax >> 4 & 0xF;
        let family = if base_family == 0xF { base_family + (eax >> 20 & 0xFF) } else { base_family };
        let model = if matches!(base_family, 0x6 | 0xF) { base_model | (eax >> 16 & 0xF) << 4 } else { base_model };
        Model { vendor: self.vendor(), family, model, stepping: eax & 0xF }
    }

    fn vendor(&self) -> Vendor {
        Vendor::of_words([self.leaf0.ebx, self.leaf0.edx, self.leaf0.ecx])
    }

    /// Whether the model prefers 256-bit vectors where both widths are legal. It never decides what is legal.
    pub fn excluded_from_512(&self) -> bool {
        let model = self.model();
        model.vendor == Vendor::INTEL && model.family == 6 && EXCLUDED_FROM_512.contains(&model.model)
    }
}

/// A CPU vendor's twelve characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Vendor(pub [u8; 12]);

impl Vendor {
    /// `GenuineIntel`
    pub const INTEL: Vendor = Vendor(*b"GenuineIntel");
    /// `AuthenticAMD`
    pub const AMD: Vendor = Vendor(*b"AuthenticAMD");

    /// The vendor that leaf 0 spells in EBX, EDX, ECX.
    fn of_words(words: [u32; 3]) -> Vendor {
        let mut text = [0; 12];
        for (four, word) in text.chunks_exact_mut(4).zip(words) {
            four.copy_from_slice(&word.to_le_bytes());
        }
        Vendor(text)
    }

    fn words(self) -> [u32; 3] {
        [0, 4, 8].map(|at| u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]]))
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vendor({self})")
    }
}

/// Which CPU this is, as leaf 1 tells it with the extended family and model joined in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Model {
    /// Who made it.
    pub vendor: Vendor,
    /// The family: 6 for most of Intel's, 0x17 and up for AMD's Zen.
    pub family: u32,
    /// The model within the family.
    pub model: u32,
    /// The stepping within the model.
    pub stepping: u32,
}

impl Model {
    /// The inverse of [`Snapshot::model`]: EAX of leaf 1.
    fn signature(self) -> u32 {
        let extended_family = self.family.saturating_sub(0xF);
        (self.stepping & 0xF)
            | (self.model & 0xF) << 4
            | (self.family - extended_family) << 8
            | (self.model >> 4 & 0xF) << 16
            | (extended_family & 0xFF) << 20
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Model { vendor, family, model, stepping } = self;
        write!(f, "{vendor} family {family:#x} model {model:#x} stepping {stepping:#x}")
    }
}

/// The CPU's name as its vendor prints it; empty when it has none. Only for display, so a snapshot does without the
/// three leaves that it takes.
pub fn brand() -> String {
    #[cfg(target_arch = "x86_64")]
    if cpuid(0x8000_0000, 0).eax >= 0x8000_0004 {
        let leaves = [0x8000_0002, 0x8000_0003, 0x8000_0004].map(|leaf| cpuid(leaf, 0));
        let words = leaves.iter().flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx]);
        let text = words.flat_map(u32::to_le_bytes).filter(|byte| matches!(byte, b' '..=b'~')).map(char::from);
        return String::from(text.collect::<String>().trim());
    }
    String::new()
}

#[cfg(target_arch = "x86_64")]
fn cpuid(leaf: u32, subleaf: u32) -> Registers {
    // The intrinsic is a safe function in later compilers than the oldest that is supported.
    #[allow(unused_unsafe)]
    // SAFETY: CPUID exists on every x86-64 CPU and only writes the registers that it returns.
    let core::arch::x86_64::CpuidResult { eax, ebx, ecx, edx } =
        unsafe { core::arch::x86_64::__cpuid_count(leaf, subleaf) };
    Registers { eax, ebx, ecx, edx }
}

/// XCR0. Only to be called when leaf 1 has OSXSAVE set: XGETBV raises #UD otherwise.
#[cfg(target_arch = "x86_64")]
fn xcr0() -> u64 {
    #[target_feature(enable = "xsave")]
    fn read() -> u64 {
        // SAFETY: XCR0 is the extended control register that XGETBV with ECX = 0 may always read.
        #[allow(unused_unsafe)]
        unsafe {
            core::arch::x86_64::_xgetbv(0)
        }
    }
    // SAFETY: OSXSAVE, which the only caller has seen set, implies that the CPU has XSAVE and that XGETBV is enabled.
    unsafe { read() }
}
