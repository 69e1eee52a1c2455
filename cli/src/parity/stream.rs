//! Chunk by chunk through all inputs at once, in bounded memory.

use indicatif::ProgressBar;

use super::ParityError;
use super::inputs::Inputs;
use crate::signal;

/// Bytes of all chunk buffers together, at most: with the program itself the process stays below 64 MiB.
const MEMORY: usize = 60 << 20;
/// Bytes of a chunk are a multiple of this.
const PAGE: usize = 4096;
/// Bytes of a chunk, at most: what is read into a buffer should still be in a cache when it is XORed. Of 32 KiB to
/// 4 MiB, 256 to 512 KiB took the least CPU time for 5 and 6 files.
const LARGEST_CHUNK: usize = 256 << 10;
/// Buffers are aligned to this.
const LINE: usize = 64;

/// A buffer for a chunk of each source and of the destination.
///
/// A chunk is whole pages, and buffers are a page multiple and one line apart: so no two of them (of up to 64) begin in
/// the same set of the first-level cache, which has fewer ways than there may be sources.
#[derive(Debug)]
pub(crate) struct Buffers {
    memory: Vec<u8>,
    chunk: usize,
}

impl Buffers {
    /// Buffers for `sources` files of which the longest has `longest` bytes.
    pub(crate) fn new(sources: usize, longest: u64) -> Buffers {
        let buffers = sources + 1;
        let needed = usize::try_from(longest).unwrap_or(usize::MAX).clamp(1, LARGEST_CHUNK).next_multiple_of(PAGE);
        let fitting = ((MEMORY - LINE) / buffers - LINE) / PAGE * PAGE;
        let chunk = needed.min(fitting);
        Buffers { memory: vec![0; buffers * (chunk + LINE) + LINE], chunk }
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk(&self) -> usize {
        self.chunk
    }

    /// The destination's buffer and those of the sources.
    fn split(&mut self) -> (&mut [u8], impl Iterator<Item = &mut [u8]>) {
        // Never as far as the end: LINE bytes are there to be skipped.
        let start = self.memory.as_ptr().align_offset(LINE).min(LINE);
        let chunk = self.chunk;
        let (dest, sources) = self.memory[start..].split_at_mut(chunk + LINE);
        (&mut dest[..chunk], sources.chunks_exact_mut(chunk + LINE).map(move |buffer| &mut buffer[..chunk]))
    }
}

/// Reads the inputs chunk by chunk and calls `visit(offset, dest, sources)` for each, with all buffers of one length.
/// A file that has ended is not among the sources any more; one that ends within the chunk is padded with zeros.
pub(crate) fn for_each_chunk(
    inputs: &Inputs,
    buffers: &mut Buffers,
    progress: &ProgressBar,
    mut visit: impl FnMut(u64, &mut [u8], &[&[u8]]) -> Result<(), ParityError>,
) -> Result<(), ParityError> {
    let longest = inputs.longest();
    let mut offset = 0;
    while offset < longest {
        if let Some(signal) = signal::received() {
            return Err(ParityError::Interrupted { signal });
        }
        let left = longest - offset;
        let len = usize::try_from(left).map_or(buffers.chunk, |left| left.min(buffers.chunk));
        let (dest, free) = buffers.split();
        let mut sources: Vec<&[u8]> = Vec::new();
        for (input, buffer) in inputs.iter().filter(|input| input.len() > offset).zip(free) {
            let here = usize::try_from(input.len() - offset).map_or(len, |here| here.min(len));
            let (bytes, padding) = buffer[..len].split_at_mut(here);
            input.read_exact_at(bytes, offset)?;
            padding.fill(0);
            progress.inc(here as u64);
            sources.push(&buffer[..len]);
        }
        visit(offset, &mut dest[..len], &sources)?;
        offset += len as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_buffers_are_staggered() {
        for sources in [1, 2, 3, 63, 301, 1024] {
            for longest in [0, 1, 4096, 4097, u64::MAX] {
                let mut buffers = Buffers::new(sources, longest);
                let chunk = buffers.chunk();
                assert!(chunk > 0 && chunk.is_multiple_of(PAGE));
                assert!(buffers.memory.len() <= MEMORY);
                let (dest, free) = buffers.split();
                let mut starts = vec![dest.as_ptr().addr()];
                starts.extend(free.map(|buffer| {
                    assert_eq!(buffer.len(), chunk);
                    buffer.as_ptr().addr()
                }));
                assert_eq!(starts.len(), sources + 1);
                let expected = |k: usize| (starts[0] + k * LINE) % PAGE;
                assert!(starts.iter().enumerate().all(|(k, at)| at % LINE == 0 && at % PAGE == expected(k)));
            }
        }
    }
}
