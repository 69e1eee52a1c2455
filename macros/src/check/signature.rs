//! The function's signature: what a kernel's has, and nothing else.

use lanesmith_codegen::spec::Destination;
use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::punctuated::Pair;
use syn::spanned::Spanned as _;
use syn::{
    Expr, ExprLit, FnArg, GenericArgument, Lit, Pat, PathArguments, ReturnType, Safety, Signature, Type, TypeReference,
};

use super::Faults;
use super::arguments::Settings;
use crate::parse::Function;

/// The names of the parameters, and what the function returns.
pub(crate) struct Parameters {
    /// None for a zero test.
    pub(crate) dest: Option<Ident>,
    pub(crate) sources: Ident,
    pub(crate) count: usize,
    pub(crate) returns: Returns,
}

/// How a kernel's function tells of an error.
#[derive(Clone, Copy)]
pub(crate) enum Returns {
    /// It panics.
    Plain,
    /// It returns it; the type is here.
    Result(Span),
}

/// Checks the signature and adds what is wrong with it to `faults`.
pub(crate) fn check(function: &Function, settings: &Settings, faults: &mut Faults) -> Option<Parameters> {
    if let Some(body) = &function.body {
        faults.add(body, "the attribute writes the body: put `;` here");
    }
    qualifiers(function, faults);
    let zero_test = settings.options.destination == Destination::ZeroTest;
    let returns = returns(&function.signature, zero_test, faults);

    let mut parameters = function.signature.inputs.iter();
    let dest = if zero_test { None } else { Some(parameters.next()) };
    let dest = dest.map(|parameter| parameter.and_then(|p| parameter_of(p, faults, dest_type)));
    let (sources, count) = match parameters.next() {
        Some(parameter) => {
            let mut count = None;
            let name = parameter_of(parameter, faults, |ty, faults| {
                count = sources_type(ty, settings, faults);
                count.is_some()
            });
            (name, count)
        }
        None => {
            let n = settings.sources.map_or("N".to_owned(), |n| n.to_string());
            let expected = if zero_test {
                format!("a zero test has one parameter: `srcs: [&[u8]; {n}]`")
            } else {
                format!("a kernel has two parameters: `dest: &mut [u8], srcs: [&[u8]; {n}]`")
            };
            faults.add(&function.signature, expected);
            (None, None)
        }
    };
    for more in parameters {
        let hint = if zero_test { "; a zero test has no destination" } else { "" };
        faults.add(more, format_args!("a parameter too many{hint}"));
    }
    Some(Parameters {
        dest: match dest {
            Some(None) => return None,
            Some(dest) => dest,
            None => None,
        },
        sources: sources?,
        count: count?,
        returns: returns?,
    })
}

/// What a kernel's function cannot be.
fn qualifiers(function: &Function, faults: &mut Faults) {
    let signature = &function.signature;
    let mut refuse = |tokens: Option<&dyn ToTokens>, what: &str| {
        if let Some(tokens) = tokens {
            faults.add(tokens.to_token_stream(), format_args!("a kernel cannot be {what}"));
        }
    };
    let Signature { constness, asyncness, safety, abi, generics, variadic, .. } = signature;
    refuse(constness.as_ref().map(|t| t as _), "const");
    refuse(asyncness.as_ref().map(|t| t as _), "async");
    let is_unsafe = matches!(safety, Safety::Unsafe(_));
    refuse(is_unsafe.then_some(safety as _), "unsafe: the function checks its arguments");
    refuse(abi.as_ref().map(|t| t as _), "extern: the function has the ABI of Rust");
    refuse((!generics.params.is_empty()).then_some(&generics.params as _), "generic");
    refuse(generics.where_clause.as_ref().map(|t| t as _), "restricted by a where clause");
    refuse(variadic.as_ref().map(|t| t as _), "variadic");
}

/// The name of a parameter whose type is what `is` demands.
fn parameter_of(parameter: &FnArg, faults: &mut Faults, is: impl FnOnce(&Type, &mut Faults) -> bool) -> Option<Ident> {
    let FnArg::Typed(parameter) = parameter else {
        faults.add(parameter, "a kernel has no `self`: its operands are all buffers");
        return None;
    };
    if let Some(attribute) = parameter.attrs.first() {
        faults.add(attribute, "a kernel's parameter has no attributes");
    }
    let name = match &*parameter.pat {
        Pat::Ident(pat) if pat.by_ref.is_none() && pat.mutability.is_none() && pat.subpat.is_none() => {
            Some(pat.ident.clone())
        }
        pat => {
            faults.add(pat, "a kernel's parameter needs a name, not a pattern");
            None
        }
    };
    if is(&parameter.ty, faults) { name } else { None }
}

/// The type without the invisible or visible parentheses around it.
fn bare(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            other => return other,
        }
    }
}

/// Whether it is `&[u8]` or `&mut [u8]`, with no named lifetime.
fn is_bytes(ty: &Type, mutable: bool) -> bool {
    let Type::Reference(TypeReference { lifetime, mutability, elem, .. }) = bare(ty) else { return false };
    let Type::Slice(slice) = bare(elem) else { return false };
    let is_u8 = matches!(bare(&slice.elem), Type::Path(path) if path.qself.is_none() && path.path.is_ident("u8"));
    is_u8 && mutability.is_some() == mutable && lifetime.as_ref().is_none_or(|l| l.ident == "_")
}

fn dest_type(ty: &Type, faults: &mut Faults) -> bool {
    let right = is_bytes(ty, true);
    if !right {
        faults.add(ty, "the destination's type is `&mut [u8]`");
    }
    right
}

/// The array's length, if the type is an array of sources as long as the arguments say.
fn sources_type(ty: &Type, settings: &Settings, faults: &mut Faults) -> Option<usize> {
    let n = settings.sources.map_or("N".to_owned(), |n| n.to_string());
    let array = match bare(ty) {
        Type::Array(array) if is_bytes(&array.elem, false) => array,
        _ => {
            faults.add(ty, format_args!("the type of the sources is `[&[u8]; {n}]`"));
            return None;
        }
    };
    let mut len = &array.len;
    while let Expr::Group(group) = len {
        len = &group.expr;
    }
    let written = match len {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_parse::<usize>().ok(),
        _ => None,
    };
    match (written, settings.sources) {
        (None, _) => {
            faults.add(len, format_args!("write the number of sources as a literal: `{n}`"));
            None
        }
        (Some(written), Some(sources)) if written != sources => {
            faults.add(len, format_args!("an array of {written} for a kernel of `srcs = {sources}`"));
            None
        }
        (written, _) => written,
    }
}

/// What the function returns, if a kernel can.
fn returns(signature: &Signature, zero_test: bool, faults: &mut Faults) -> Option<Returns> {
    let expected = if zero_test {
        "a zero test returns `bool` or `Result<bool, lanesmith::xor::Error>`"
    } else {
        "a kernel returns nothing or `Result<(), lanesmith::xor::Error>`"
    };
    let is_value = |ty: &Type| match bare(ty) {
        Type::Path(path) => zero_test && path.path.is_ident("bool"),
        Type::Tuple(tuple) => !zero_test && tuple.elems.is_empty(),
        _ => false,
    };
    let ty = match &signature.output {
        ReturnType::Default if zero_test => {
            faults.add(signature, expected);
            return None;
        }
        ReturnType::Default => return Some(Returns::Plain),
        ReturnType::Type(_, ty) => ty,
    };
    if is_value(ty) {
        return Some(Returns::Plain);
    }
    if let Type::Path(path) = bare(ty)
        && let Some(Pair::End(last)) = path.path.segments.pairs().next_back()
        && last.ident == "Result"
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(value)) = arguments.args.first()
    {
        if is_value(value) {
            return Some(Returns::Result(ty.span()));
        }
        faults.add(value, expected);
    } else {
        faults.add(ty, expected);
    }
    None
}
