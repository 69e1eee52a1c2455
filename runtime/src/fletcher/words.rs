//! Whole words into a state: the only place that decides which code sums. Kernels take Fletcher-4 of long data where code may
//! be made; portable code does the rest.

use super::combine;
#[cfg(feature = "jit")]
use crate::fletcher_kernel::FletcherKernel;
use crate::reference::fletcher as reference;

/// Words that are worth four lanes and their combination.
const LANES_PAY_FROM: usize = 32;

/// Bytes that are worth a kernel's call and the folding of its lanes.
#[cfg(feature = "jit")]
const KERNEL_PAYS_FROM: usize = 1024;

/// Continues Fletcher-4 over `data`, a multiple of 4 bytes at any alignment.
pub(super) fn fletcher4(state: &mut [u64; 4], data: &[u8], byteswap: bool) {
    debug_assert!(data.len().is_multiple_of(4));
    let words = data.len() / 4;
    #[cfg(feature = "jit")]
    if data.len() >= KERNEL_PAYS_FROM
        && let Some(kernel) = FletcherKernel::preferred(byteswap)
    {
        *state = combine(*state, kernel.sum(data), words as u64);
        return;
    }
    *state = if words < LANES_PAY_FROM {
        reference::fletcher4_from(*state, data, byteswap)
    } else {
        combine(*state, reference::fletcher4_superscalar4(data, byteswap), words as u64)
    };
}

/// Continues Fletcher-2 over `data`, a multiple of 16 bytes at any alignment.
pub(super) fn fletcher2(state: &mut [u64; 4], data: &[u8], byteswap: bool) {
    debug_assert!(data.len().is_multiple_of(16));
    *state = reference::fletcher2_from(*state, data, byteswap);
}

/// The modulus of sums of `W`-byte words.
pub(super) const fn modulus<const W: usize>() -> u64 {
    u64::MAX >> (64 - 8 * W)
}

/// Words between two reductions.
///
/// With sums below 2^32 at first and words below 2^32, n words later s1 < (n + 1) 2^32 and
/// s2 < (1 + 2 + 3 + … + (n + 1)) 2^32 = (n + 1)(n + 2) / 2 · 2^32, which must not exceed 2^64.
const RUN: usize = 1 << 16;
const _: () = assert!((RUN as u64 + 1) * (RUN as u64 + 2) / 2 <= 1 << 32);

/// Continues s1 and s2, both below the modulus, over `data`: a multiple of `W` ≤ 4 bytes at any alignment.
pub(super) fn sums<const W: usize>([s1, s2]: &mut [u64; 2], data: &[u8]) {
    const { assert!(0 < W && W <= 4) };
    debug_assert!(data.len().is_multiple_of(W));
    for run in data.as_chunks::<W>().0.chunks(RUN) {
        for bytes in run {
            let mut word = [0; 8];
            word[..W].copy_from_slice(bytes);
            *s1 += u64::from_le_bytes(word);
            *s2 += *s1;
        }
        *s1 %= modulus::<W>();
        *s2 %= modulus::<W>();
    }
}
