//! Fletcher-4 on all cores.

use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;

use super::{Error, combine, fletcher4, fletcher4_byteswap};

/// Bytes of a task, a multiple of the word: long enough to outweigh what a task costs, short enough for the second-level
/// cache of most cores.
const TASK: usize = 256 << 10;

/// [`fletcher4`], by as many threads as rayon's current pool has.
///
/// # Errors
/// As for [`fletcher4`].
pub fn fletcher4_parallel(data: &[u8]) -> Result<[u64; 4], Error> {
    parallel(data, fletcher4)
}

/// [`fletcher4_byteswap`], by as many threads as rayon's current pool has.
///
/// # Errors
/// As for [`fletcher4_byteswap`].
pub fn fletcher4_byteswap_parallel(data: &[u8]) -> Result<[u64; 4], Error> {
    parallel(data, fletcher4_byteswap)
}

fn parallel(data: &[u8], sum: fn(&[u8]) -> Result<[u64; 4], Error>) -> Result<[u64; 4], Error> {
    // A length that is refused is refused as a whole, not as that of the last task.
    if data.len() <= TASK || !data.len().is_multiple_of(4) {
        return sum(data);
    }
    let nothing = || ([0; 4], 0);
    let append = |(a, words_in_a), (b, words_in_b)| (combine(a, b, words_in_b), words_in_a + words_in_b);
    let (state, _) = data
        .par_chunks(TASK)
        .map(|task| Ok((sum(task)?, task.len() as u64 / 4)))
        // In order, if in any grouping: combining is associative and not commutative.
        .try_reduce(nothing, |a, b| Ok(append(a, b)))?;
    Ok(state)
}
