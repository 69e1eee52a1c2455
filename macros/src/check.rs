//! From what was written to a kernel, or to everything that is wrong with it.

mod arguments;
mod signature;

use lanesmith_codegen::kernel::xor::{CompileError, Lowered, compile};
use lanesmith_codegen::plan::xor::{PlanError, XorTuning};
use lanesmith_codegen::spec::{Merge, XorOptions, XorSpec};
use lanesmith_codegen::target::Tier;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Error, Path, Signature, Visibility};

use crate::parse::{self, Function};
use arguments::Settings;
pub(crate) use signature::{Parameters, Returns};

/// A kernel's function, ready to be written.
pub(crate) struct Kernel {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    pub(crate) parameters: Parameters,
    /// The path of the crate lanesmith.
    pub(crate) library: Path,
    pub(crate) options: XorOptions,
    /// The tier that the arguments name.
    pub(crate) wanted: Option<Tier>,
    /// What each tier runs, from the narrowest to the widest.
    pub(crate) variants: Vec<Lowered>,
}

/// Everything that is wrong.
pub(crate) struct Refused {
    pub(crate) error: Error,
    /// The function, if it is the arguments that are wrong: callers then need not be told that there is none.
    pub(crate) stub: Option<Function>,
}

/// The kernel that the attribute's arguments and its function describe.
pub(crate) fn xor_kernel(attribute: TokenStream, item: TokenStream) -> Result<Kernel, Box<Refused>> {
    let (written, errors) = parse::arguments(attribute);
    let mut faults = Faults(errors);
    let settings = Settings::read(&written, &mut faults);
    let function: Function = match syn::parse2(item) {
        Ok(function) => function,
        Err(error) => {
            faults.0.push(error);
            return Err(faults.refuse(None));
        }
    };
    let of_arguments = faults.0.len();
    let parameters = signature::check(&function, &settings, &mut faults);
    let fits = faults.0.len() == of_arguments;
    let variants = match (faults.0.is_empty(), settings.spec) {
        (true, Some(spec)) => variants(&spec, &settings, &mut faults),
        _ => Vec::new(),
    };
    match parameters {
        Some(parameters) if faults.0.is_empty() => Ok(Kernel {
            attributes: function.attributes,
            visibility: function.visibility,
            signature: function.signature,
            parameters,
            library: settings.library,
            options: settings.options,
            wanted: settings.tier,
            variants,
        }),
        _ => Err(faults.refuse(fits.then_some(function))),
    }
}

/// The faults found so far.
pub(crate) struct Faults(Vec<Error>);

impl Faults {
    /// Blames all of `tokens`; the whole attribute if there are none.
    fn add(&mut self, tokens: impl ToTokens, text: impl std::fmt::Display) {
        self.0.push(Error::new_spanned(tokens, text));
    }

    fn refuse(self, stub: Option<Function>) -> Box<Refused> {
        let mut errors = self.0.into_iter();
        let mut error = errors.next().unwrap_or_else(|| Error::new(Span::call_site(), "no kernel can be made of this"));
        errors.for_each(|e| error.combine(e));
        Box::new(Refused { error, stub })
    }
}

/// What each tier runs that a machine may need.
fn variants(spec: &XorSpec, settings: &Settings, faults: &mut Faults) -> Vec<Lowered> {
    let widest = settings.tier.unwrap_or(Tier::Avx512);
    let mut variants = Vec::new();
    for tier in Tier::XOR.into_iter().filter(|tier| *tier <= widest) {
        let lowered = match settings.tier {
            Some(wanted) if tier != wanted => fallback(spec, tier),
            _ => compile(spec, tier, &XorTuning::DEFAULT),
        };
        match lowered {
            Ok(lowered) => variants.push(lowered),
            Err(error) => {
                let blamed = match &error {
                    CompileError::Plan(PlanError::NoTernary { .. }) => settings.value("merge"),
                    CompileError::Plan(PlanError::TooFewRegisters { .. }) => settings.value("unroll"),
                    CompileError::Plan(PlanError::NonTemporalGrouped) => settings.value("store"),
                    _ => settings.value("srcs"),
                };
                let hint = match (&error, settings.tier) {
                    (CompileError::Plan(PlanError::NonTemporalGrouped), _) | (_, Some(_)) => "",
                    _ => "; without `tier` or `width` a kernel is made for every tier: name one that can",
                };
                faults.add(blamed, format_args!("{error}{hint}"));
                break;
            }
        }
    }
    variants
}

/// What runs where the named tier cannot: the same kernel without the options that the tier cannot have.
fn fallback(spec: &XorSpec, tier: Tier) -> Result<Lowered, CompileError> {
    let relaxed = |change: fn(&mut XorOptions)| {
        let mut options = *spec.options();
        options.merge = Merge::Auto;
        change(&mut options);
        let spec = XorSpec::with(spec.sources(), options).unwrap_or(*spec);
        compile(&spec, tier, &XorTuning::DEFAULT)
    };
    compile(spec, tier, &XorTuning::DEFAULT).or_else(|_| relaxed(|_| {})).or_else(|_| relaxed(|o| o.unroll = None))
}
