//! From a checked kernel to Rust.
//!
//! Everything that is written carries the span `mixed_site` of the attribute: its names cannot meet the user's, and
//! lints of the user's crate, `unsafe_code` among them, do not judge it.

pub(crate) mod program;
#[cfg(test)]
mod tests;

use lanesmith_codegen::kernel::xor::Lowered;
use lanesmith_codegen::spec::Destination;
use lanesmith_codegen::target::Tier;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};

use crate::check::{Kernel, Parameters, Refused, Returns};
use program::{entry_name, function, primitive};

/// The function of a kernel, or the errors.
pub(crate) fn xor_kernel(kernel: Result<Kernel, Box<Refused>>) -> TokenStream {
    match kernel {
        Ok(kernel) => written(&kernel),
        Err(refused) => {
            let mut tokens = refused.error.into_compile_error();
            if let Some(function) = refused.stub {
                let (attributes, visibility, signature) =
                    (&function.attributes, &function.visibility, &function.signature);
                quote_spanned! { Span::mixed_site() =>
                    #(#attributes)* #[allow(unused_variables)] #visibility #signature { loop {} }
                }
                .to_tokens(&mut tokens);
            }
            tokens
        }
    }
}

/// The name of a tier in the run-time support.
pub(crate) fn tier_name(tier: Tier) -> Ident {
    Ident::new(&format!("{tier:?}"), Span::mixed_site())
}

fn written(kernel: &Kernel) -> TokenStream {
    let span = Span::mixed_site();
    let Kernel { attributes, visibility, signature, library, .. } = kernel;
    let Parameters { dest, sources, count, returns } = &kernel.parameters;
    let support = quote_spanned! { span => #library::__private };

    let programs = kernel.variants.iter().flat_map(|lowered| &lowered.programs).map(function);
    let drivers = kernel.variants.iter().filter_map(|lowered| driver(lowered, &support));
    let variants = kernel.variants.iter().map(|lowered| {
        let (tier, entry) = (tier_name(lowered.plan.target.tier), entry(lowered));
        quote_spanned! { span => (#support::Tier::#tier, #entry) }
    });
    let wanted = match kernel.wanted.map(tier_name) {
        Some(tier) => quote_spanned! { span => ::core::option::Option::Some(#support::Tier::#tier) },
        None => quote_spanned! { span => ::core::option::Option::None },
    };

    let (aligned, multiple_of) = (kernel.options.aligned, kernel.options.multiple_of);
    let promises = quote_spanned! { span => #support::Promises { aligned: #aligned, multiple_of: #multiple_of } };
    let method = Ident::new(
        match kernel.options.destination {
            Destination::Overwrite => "overwrite",
            Destination::Accumulate => "accumulate",
            Destination::ZeroTest => "is_zero",
        },
        span,
    );
    // All items are in a block of their own: a parameter is written outside of it, and means what the user named.
    let items = quote_spanned! { span =>
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        static KERNEL: #support::Kernel<#count> = {
            #(#programs)*
            #(#drivers)*
            // SAFETY: each entry was lowered for so many sources, this destination and these promises, on the tier
            // that is named beside it.
            unsafe { #support::Kernel::new(#wanted, &[#(#variants),*]) }
        };
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
        static KERNEL: #support::Kernel<#count> = #support::Kernel::portable();
    };
    let dest = dest.iter();
    let call = quote_spanned! { span =>
        #support::Kernel::#method({ #items &KERNEL }, #promises, #(#dest,)* &#sources)
    };
    let (call, track_caller) = match returns {
        Returns::Plain => {
            let given = attributes.iter().any(|a| a.path().is_ident("track_caller"));
            let track_caller = (!given).then(|| quote_spanned! { span => #[track_caller] });
            (quote_spanned! { span => #support::or_panic(#call) }, track_caller)
        }
        Returns::Result(at) => {
            // A type that the error cannot become is the user's: the compiler says so there.
            let at = span.located_at(*at);
            let call = quote_spanned! { at => ::core::result::Result::map_err(#call, ::core::convert::From::from) };
            (call, None)
        }
    };

    quote_spanned! { span =>
        #(#attributes)*
        #track_caller
        #visibility #signature {
            #call
        }
    }
}

/// The function that serves a whole call: the only program, or the driver of several.
fn entry(lowered: &Lowered) -> Ident {
    match &*lowered.plan.driver.groups {
        [only] => entry_name(&lowered.programs[only.pass]),
        _ => Ident::new(&format!("driver_{}", tier_name(lowered.plan.target.tier)), Span::mixed_site()),
    }
}

/// A function with the entry's prototype that calls the programs of a plan, if there is more than one call to make.
fn driver(lowered: &Lowered, support: &TokenStream) -> Option<TokenStream> {
    let span = Span::mixed_site();
    let driver = &lowered.plan.driver;
    if driver.groups.len() == 1 {
        return None;
    }
    let name = entry(lowered);
    let groups = driver.groups.iter().map(|group| {
        let (program, first) = (entry_name(&lowered.programs[group.pass]), usize::from(group.first));
        quote_spanned! { span => (#program, #first) }
    });
    let [byte, size, word] = ["u8", "usize", "u64"].map(primitive);
    let block = match driver.block {
        Some(block) => {
            let block = block as usize;
            quote_spanned! { span => #block }
        }
        None => quote_spanned! { span => #size::MAX },
    };
    Some(quote_spanned! { span =>
        #[allow(non_snake_case)]
        unsafe extern "sysv64" fn #name(
            lanesmith_dest: *mut #byte,
            lanesmith_sources: *const *const #byte,
            lanesmith_offset: #size,
            lanesmith_len: #size,
        ) -> #word {
            // SAFETY: the caller's contract is that of the groups together; the plan has every source in one of them.
            unsafe {
                #support::grouped(
                    &[#(#groups),*],
                    #block,
                    lanesmith_dest,
                    lanesmith_sources,
                    lanesmith_offset,
                    lanesmith_len,
                )
            }
        }
    })
}
