//! From tokens to what was written, right or wrong.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Attribute, Error, Ident, LitInt, LitStr, Path, Result, Signature, Token, Visibility};

/// `name = value`.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) value: Value,
}

/// What stands behind an argument's `=`.
pub(crate) enum Value {
    Int(LitInt),
    Text(LitStr),
    Word(Ident),
    Path(Path),
    Other(TokenStream),
}

impl ToTokens for Value {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Value::Int(int) => int.to_tokens(tokens),
            Value::Text(text) => text.to_tokens(tokens),
            Value::Word(word) => word.to_tokens(tokens),
            Value::Path(path) => path.to_tokens(tokens),
            Value::Other(other) => other.to_tokens(tokens),
        }
    }
}

impl Parse for Value {
    fn parse(input: ParseStream<'_>) -> Result<Value> {
        if input.peek(LitInt) {
            input.parse().map(Value::Int)
        } else if input.peek(LitStr) {
            input.parse().map(Value::Text)
        } else {
            let path = input.call(Path::parse_mod_style)?;
            Ok(path.get_ident().cloned().map_or(Value::Path(path), Value::Word))
        }
    }
}

/// The arguments of the attribute that could be read, and an error for each one that could not.
pub(crate) fn arguments(tokens: TokenStream) -> (Vec<Argument>, Vec<Error>) {
    let (mut arguments, mut errors) = (Vec::new(), Vec::new());
    let mut tokens = tokens.into_iter().peekable();
    while tokens.peek().is_some() {
        // One argument at a time: what is wrong with one says nothing about the next.
        let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
        let mut one = TokenStream::new();
        let mut comma = None;
        for token in tokens.by_ref() {
            if is_comma(&token) {
                comma = Some(token.span());
                break;
            }
            one.extend([token]);
        }
        let parsed = match comma {
            Some(span) if one.is_empty() => Err(Error::new(span, "expected an argument before this comma")),
            _ => argument.parse2(one),
        };
        match parsed {
            Ok(argument) => arguments.push(argument),
            Err(error) => errors.push(error),
        }
    }
    (arguments, errors)
}

fn argument(input: ParseStream<'_>) -> Result<Argument> {
    let form = |error: Error| Error::new(error.span(), "expected `name = value`, such as `srcs = 5`");
    let name = Ident::parse_any(input).map_err(form)?;
    if input.is_empty() {
        return Err(Error::new(name.span(), "expected `name = value`, such as `srcs = 5`"));
    }
    input.parse::<Token![=]>().map_err(form)?;
    if input.is_empty() {
        return Err(Error::new(name.span(), format!("`{name}` has no value")));
    }
    let rest: TokenStream = input.parse()?;
    let value = syn::parse2(rest.clone()).unwrap_or(Value::Other(rest));
    Ok(Argument { name, value })
}

/// A function, with or without a body.
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// The body that should not be there.
    pub(crate) body: Option<TokenTree>,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Function> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature = input.parse().map_err(|error| {
            let example = "fn parity(dest: &mut [u8], srcs: [&[u8]; 5]);";
            let text = format!("{error}; a kernel is declared by a function without a body, such as `{example}`");
            Error::new(error.span(), text)
        })?;
        let body = if input.peek(syn::token::Brace) {
            Some(input.parse()?)
        } else {
            input.parse::<Token![;]>()?;
            None
        };
        Ok(Function { attributes, visibility, signature, body })
    }
}
