//! The attribute `lanesmith::xor_kernel`: a XOR kernel compiled into the program at build time.
//!
//! Three passes: `parse` reads tokens, `check` finds every fault and says it on the token that is to blame, `expand`
//! writes the function.

mod check;
mod expand;
mod internal;
mod parse;

use proc_macro::TokenStream;

/// Makes a XOR kernel of a function without a body.
///
/// The kernel is compiled with the program, for exactly this source count: a CPU that it was not built on, a build for
/// a baseline CPU and a system that refuses executable memory run it at full speed. Each tier that a machine may need is
/// in the program; the first call chooses.
///
/// ```ignore
/// use lanesmith::xor_kernel;
///
/// /// `dest = s0 ^ s1 ^ s2 ^ s3 ^ s4`
/// #[xor_kernel(srcs = 5)]
/// fn parity(dest: &mut [u8], srcs: [&[u8]; 5]);
///
/// /// `dest ^= s0 ^ s1`; an error instead of a panic.
/// #[xor_kernel(srcs = 2, destination = accumulate, tier = "avx512-256")]
/// fn update(dest: &mut [u8], srcs: [&[u8]; 2]) -> Result<(), lanesmith::xor::Error>;
///
/// /// Whether the XOR is zero everywhere.
/// #[xor_kernel(srcs = 6, destination = zero_test)]
/// fn consistent(srcs: [&[u8]; 6]) -> bool;
/// ```
///
/// # Arguments
///
/// | argument | values | default |
/// |---|---|---|
/// | `srcs` | the number of sources, 1 to 1024; it is also the array's length | required |
/// | `destination` | `overwrite`, `accumulate`, `zero_test` | `overwrite` |
/// | `width` | `auto`, or bits: `128` (tier sse2), `256` (avx2), `512` (avx512) | `auto` |
/// | `tier` | `"sse2"`, `"avx2"`, `"avx512-256"`, `"avx512"`; instead of `width` | |
/// | `strategy` | `auto`, `single`, `grouped1` to `grouped12` | `auto` |
/// | `unroll` | `1`, `2`, `4`, `8` vectors a turn | by the plan |
/// | `merge` | `auto`, `ternary`, `pairwise` | `auto` |
/// | `store` | `temporal`, `non_temporal` (needs `aligned` of at least 64) | `temporal` |
/// | `head` | `auto`, `off` | `auto` |
/// | `aligned` | every buffer starts at a multiple of this power of two, up to 4096 | `1` |
/// | `multiple_of` | the length is a non-zero multiple of this power of two, up to 65536 | `1` |
/// | `length` | `any`, `short`, `long`: what is expected, not a promise | `any` |
/// | `crate` | the path of the crate `lanesmith`, where it has another name | `::lanesmith` |
///
/// With `width = auto` the program has every tier and the first call takes the one that `lanesmith::cpu` prefers. An
/// explicit width or tier is taken wherever it can run, even where a narrower one is preferred; elsewhere the next one
/// down serves, without the options that it cannot have. `LANESMITH_MAX_ISA` caps both.
///
/// # Signature
///
/// `fn NAME(dest: &mut [u8], srcs: [&[u8]; N])`, or `fn NAME(srcs: [&[u8]; N]) -> bool` for a zero test, with any names
/// for the parameters. Visibility and other attributes are kept. It may be an associated function of a type.
///
/// # Panics and errors
///
/// All buffers must have one length. The promises `aligned` and `multiple_of` are checked at each call. If one of these
/// is broken, a function declared with `-> Result<(), E>` or `-> Result<bool, E>` returns the `lanesmith::xor::Error`,
/// converted into `E`; any other panics with the text of that error. Nothing has been written then.
///
/// # Other architectures
///
/// On targets other than x86-64, and on those x86-64 targets whose code may not touch vector registers (operating-system
/// kernels), the function is portable code with the same results.
#[proc_macro_attribute]
pub fn xor_kernel(arguments: TokenStream, function: TokenStream) -> TokenStream {
    expand::xor_kernel(check::xor_kernel(arguments.into(), function.into())).into()
}

/// `static_kernels!(1, 2, 3)`: by destination, by tier, the source count and the entry of each kernel. For lanesmith
/// itself.
#[doc(hidden)]
#[proc_macro]
pub fn static_kernels(counts: TokenStream) -> TokenStream {
    internal::static_kernels(counts.into()).into()
}

/// `registry_kernels!()`: name, pass and entry of every program of the registry. For lanesmith's tests.
#[doc(hidden)]
#[proc_macro]
pub fn registry_kernels(nothing: TokenStream) -> TokenStream {
    internal::registry_kernels(nothing.into()).into()
}
