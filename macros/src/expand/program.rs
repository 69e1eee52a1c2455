//! From a program to a naked function.

use lanesmith_codegen::asm::Program;
use lanesmith_codegen::text;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote_spanned;

/// What stands for the constant pool in the text.
const POOL: &str = "lanesmith_pool";

/// The name of a program's function.
pub(crate) fn entry_name(program: &Program) -> Ident {
    Ident::new(program.name(), Span::mixed_site())
}

/// A primitive type, whatever else has its name where the function stands.
pub(crate) fn primitive(name: &str) -> TokenStream {
    let name = Ident::new(name, Span::mixed_site());
    quote_spanned! { Span::mixed_site() => ::core::primitive::#name }
}

/// A program as a function of its own name.
pub(crate) fn function(program: &Program) -> TokenStream {
    function_named(program, &entry_name(program))
}

/// A program as a function: `naked_asm!` with the same text that a listing shows.
pub(crate) fn function_named(program: &Program, name: &Ident) -> TokenStream {
    let span = Span::mixed_site();
    // The text becomes a format string: its braces are doubled before the only placeholder is put in.
    let escaped = text::body(program, POOL).replace('{', "{{").replace('}', "}}");
    let template = Literal::string(&escaped.replace(POOL, "{pool}"));
    let [byte, size, word] = ["u8", "usize", "u64"].map(primitive);
    let bytes = program.pool().bytes();
    let (pool, operand) = if bytes.is_empty() {
        (None, None)
    } else {
        let (len, bytes) = (bytes.len(), Literal::byte_string(bytes));
        let pool = quote_spanned! { span =>
            #[repr(C, align(64))]
            struct Pool([#byte; #len]);
            static POOL: Pool = Pool(*#bytes);
        };
        (Some(pool), Some(quote_spanned! { span => pool = sym POOL, }))
    };
    let function = quote_spanned! { span =>
        #[unsafe(naked)]
        unsafe extern "sysv64" fn #name(
            _: *mut #byte,
            _: *const *const #byte,
            _: #size,
            _: #size,
        ) -> #word {
            ::core::arch::naked_asm!(#template, #operand)
        }
    };
    match pool {
        None => function,
        // The pool's name is local to the block; the function is known outside by a constant.
        Some(pool) => quote_spanned! { span =>
            #[allow(non_upper_case_globals)]
            const #name: unsafe extern "sysv64" fn(*mut #byte, *const *const #byte, #size, #size) -> #word = {
                #pool
                #function
                #name
            };
        },
    }
}
