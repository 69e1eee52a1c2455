//! The attribute's arguments: each value, and the rules between them.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use lanesmith_codegen::spec::{SpecError, Strategy, XorOptions, XorSpec};
use lanesmith_codegen::target::Tier;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens as _;
use syn::{Path, parse_quote_spanned};

use super::Faults;
use crate::parse::{Argument, Value};

/// Every argument, as the error message for an unknown one lists them.
const NAMES: [&str; 13] = [
    "srcs",
    "destination",
    "width",
    "tier",
    "strategy",
    "unroll",
    "merge",
    "store",
    "head",
    "aligned",
    "multiple_of",
    "length",
    "crate",
];

/// What the arguments say.
pub(crate) struct Settings {
    /// The source count, if it is a number.
    pub(crate) sources: Option<usize>,
    pub(crate) options: XorOptions,
    pub(crate) tier: Option<Tier>,
    pub(crate) library: Path,
    /// The specification, if it is legal.
    pub(crate) spec: Option<XorSpec>,
    /// Each argument's value as written.
    values: HashMap<String, TokenStream>,
}

impl Settings {
    /// Reads the arguments and adds what is wrong with them to `faults`.
    pub(crate) fn read(arguments: &[Argument], faults: &mut Faults) -> Settings {
        let mut settings = Settings {
            sources: None,
            options: XorOptions::default(),
            tier: None,
            library: parse_quote_spanned!(Span::mixed_site() => ::lanesmith),
            spec: None,
            values: HashMap::new(),
        };
        for Argument { name, value } in arguments {
            let text = name.to_string();
            if settings.values.contains_key(&text) {
                faults.add(name, format_args!("`{text}` is given twice"));
                continue;
            }
            if !NAMES.contains(&text.as_str()) {
                let names = NAMES.join(", ");
                faults.add(name, format_args!("unknown argument `{text}`: expected one of {names}"));
                continue;
            }
            settings.values.insert(text.clone(), value.to_token_stream());
            if let Err(expected) = settings.set(&text, value) {
                faults.add(value, format_args!("`{text}`: expected {expected}"));
            }
        }
        if settings.values.contains_key("width")
            && let Some(tier) = settings.values.get("tier")
        {
            faults.add(tier, "`tier` and `width` say the same: give one of them");
        }
        if !settings.values.contains_key("srcs") {
            faults.add(TokenStream::new(), "`srcs` is missing: how many sources has the kernel? Write `srcs = 5`");
        }
        settings.check(faults);
        settings
    }

    /// The value of the argument `name` as written, or nothing.
    pub(crate) fn value(&self, name: &str) -> Option<&TokenStream> {
        self.values.get(name)
    }

    /// Sets one option, or says what was expected.
    fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let options = &mut self.options;
        match name {
            "srcs" => self.sources = Some(number(value, "the number of sources, such as 5")?),
            "destination" => options.destination = word(value)?,
            "width" => self.tier = width(value)?,
            "tier" => self.tier = Some(tier(value)?),
            "strategy" => options.strategy = strategy(value)?,
            "unroll" => options.unroll = Some(number(value, "1, 2, 4 or 8")?),
            "merge" => options.merge = word(value)?,
            "store" => options.store = word(value)?,
            "head" => options.head = word(value)?,
            "aligned" => options.aligned = number(value, "a power of two from 1 to 4096")?,
            "multiple_of" => options.multiple_of = number(value, "a power of two from 1 to 65536")?,
            "length" => options.length = word(value)?,
            _ => {
                self.library = match value {
                    Value::Word(word) => Path::from(word.clone()),
                    Value::Path(path) => path.clone(),
                    _ => return Err("a path, such as `crate = storage::lanesmith`".to_owned()),
                }
            }
        }
        Ok(())
    }

    /// The rules of a specification, each broken one on the argument that breaks it.
    fn check(&mut self, faults: &mut Faults) {
        // Without a count the other rules can still be checked.
        match XorSpec::with(self.sources.unwrap_or(1), self.options) {
            Ok(spec) => self.spec = Some(spec),
            Err(errors) => {
                for error in errors.errors() {
                    let argument = match error {
                        SpecError::GroupSize { .. } | SpecError::GroupedZeroTest => "strategy",
                        SpecError::Unroll { .. } => "unroll",
                        SpecError::Aligned { .. } => "aligned",
                        SpecError::MultipleOf { .. } => "multiple_of",
                        SpecError::NonTemporalZeroTest | SpecError::NonTemporalUnaligned { .. } => "store",
                        _ => "srcs",
                    };
                    faults.add(self.value(argument), error);
                }
            }
        }
    }
}

fn number<T: FromStr>(value: &Value, expected: &str) -> Result<T, String>
where
    T::Err: Display,
{
    match value {
        Value::Int(int) => int.base10_parse().map_err(|_| expected.to_owned()),
        _ => Err(expected.to_owned()),
    }
}

/// A word of an option, with `_` for the `-` that it has in text.
fn word<T: FromStr>(value: &Value) -> Result<T, String>
where
    T::Err: Display,
{
    let word = match value {
        Value::Word(word) => word.to_string().replace('_', "-"),
        _ => String::new(),
    };
    // The error's own text begins so.
    word.parse().map_err(|e: T::Err| e.to_string().trim_start_matches("expected ").replace('-', "_"))
}

fn strategy(value: &Value) -> Result<Strategy, String> {
    match value {
        Value::Word(word) => word.to_string().parse().ok(),
        _ => None,
    }
    .ok_or_else(|| "auto, single, or grouped1 to grouped12".to_owned())
}

fn width(value: &Value) -> Result<Option<Tier>, String> {
    match value {
        Value::Word(word) if word == "auto" => return Ok(None),
        Value::Int(int) => int.base10_parse().ok().and_then(Tier::of_width).map(Some),
        _ => None,
    }
    .ok_or_else(|| "auto, 128, 256 or 512".to_owned())
}

fn tier(value: &Value) -> Result<Tier, String> {
    match value {
        Value::Text(text) => text.value().parse().ok().filter(|tier| Tier::XOR.contains(tier)),
        _ => None,
    }
    .ok_or_else(|| {
        let names: Vec<String> = Tier::XOR.iter().map(|tier| format!("\"{tier}\"")).collect();
        format!("one of {}", names.join(", "))
    })
}
