//! Tables of kernels for lanesmith itself. The expressions name nothing but `core`.

use lanesmith_codegen::asm::Program;
use lanesmith_codegen::kernel::fletcher;
use lanesmith_codegen::kernel::xor::compile;
use lanesmith_codegen::plan::fletcher::FletcherTuning;
use lanesmith_codegen::plan::xor::XorTuning;
use lanesmith_codegen::registry;
use lanesmith_codegen::spec::{Destination, Strategy, XorOptions, XorSpec};
use lanesmith_codegen::target::Tier;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Error, LitInt, Result, Token};

use crate::expand::program::{entry_name, function, function_named};

/// `{ functions [[[(count, entry), …] per tier] per destination] }`
pub(crate) fn static_kernels(tokens: TokenStream) -> TokenStream {
    static_table(tokens).unwrap_or_else(Error::into_compile_error)
}

fn static_table(tokens: TokenStream) -> Result<TokenStream> {
    let counts = Punctuated::<LitInt, Token![,]>::parse_terminated.parse2(tokens)?;
    let mut functions = Vec::new();
    let mut table = Vec::new();
    for destination in [Destination::Overwrite, Destination::Accumulate, Destination::ZeroTest] {
        let mut by_tier = Vec::new();
        for tier in Tier::XOR {
            let mut row = Vec::new();
            for count in &counts {
                let fault = |e: &dyn std::fmt::Display| Error::new(count.span(), e);
                let sources: u16 = count.base10_parse()?;
                let options = XorOptions { destination, strategy: Strategy::Single, ..XorOptions::default() };
                let spec = XorSpec::with(sources.into(), options).map_err(|e| fault(&e))?;
                let lowered = compile(&spec, tier, &XorTuning::DEFAULT).map_err(|e| fault(&e))?;
                let [program] = &*lowered.programs else {
                    return Err(fault(&"this count has no kernel of one program"));
                };
                functions.push(function(program));
                let entry = entry_name(program);
                row.push(quote! { (#sources, #entry) });
            }
            by_tier.push(quote! { [#(#row),*] });
        }
        table.push(quote! { [#(#by_tier),*] });
    }
    Ok(quote! { { #(#functions)* [#(#table),*] } })
}

/// `{ functions &[(name, pass, entry), …] }`
pub(crate) fn registry_kernels(tokens: TokenStream) -> TokenStream {
    registry_table(tokens).unwrap_or_else(Error::into_compile_error)
}

fn registry_table(tokens: TokenStream) -> Result<TokenStream> {
    let fault = |e: &dyn std::fmt::Display| Error::new(Span::call_site(), e);
    if let Some(token) = tokens.into_iter().next() {
        return Err(Error::new(token.span(), "expected nothing"));
    }
    let mut functions = Vec::new();
    let mut rows = Vec::new();
    // Each with the prototype of XOR: the entries are looked at, not called.
    let mut add = |name: &str, pass: usize, program: &Program| {
        let ident: Ident = format_ident!("kernel_{}", rows.len(), span = Span::mixed_site());
        functions.push(function_named(program, &ident));
        rows.push(quote! { (#name, #pass, #ident) });
    };
    for registry::Entry { name, spec, tier } in registry::entries().map_err(|e| fault(&e))? {
        let lowered = compile(&spec, tier, &XorTuning::DEFAULT).map_err(|e| fault(&format!("{name}: {e}")))?;
        lowered.programs.iter().enumerate().for_each(|(pass, program)| add(&name, pass, program));
    }
    for registry::Entry { name, spec, tier } in registry::fletcher_entries().map_err(|e| fault(&e))? {
        let lowered = fletcher::compile(&spec, tier, &FletcherTuning::DEFAULT);
        add(&name, 0, &lowered.map_err(|e| fault(&format!("{name}: {e}")))?.program);
    }
    Ok(quote! { { #(#functions)* &[#(#rows),*] } })
}
