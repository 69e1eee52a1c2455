//! `lanesmith parity`: the XOR of files, streamed.
//!
//! Everything that can be known beforehand is checked before anything is written.

mod inputs;
mod output;
mod stream;

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lanesmith::codegen::spec::{Destination, MAX_SOURCES};
use lanesmith::xor;

use crate::args::ParityArgs;
use crate::signal;
use inputs::{InputError, Inputs, Lengths};
use output::{Output, OutputError};
use stream::Buffers;

/// Why there is no parity.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParityError {
    #[error("{files} files are too many: at most {MAX_SOURCES}")]
    TooManyFiles { files: usize },
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("the XOR of the {files} files is not zero: the first byte that differs is at offset {offset}")]
    NotZero { files: usize, offset: u64 },
    #[error("interrupted; nothing was written")]
    Interrupted { signal: i32 },
    #[error(transparent)]
    Xor(#[from] xor::Error),
}

impl ParityError {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            ParityError::TooManyFiles { .. } => 2,
            // What a shell reports of a program that a signal has ended.
            ParityError::Interrupted { signal } => 128 + *signal as u8,
            _ => 1,
        }
    }
}

/// Does what is asked and returns what is to be said about it.
pub(crate) fn run(args: &ParityArgs) -> Result<String, ParityError> {
    let files = args.files.len();
    if files > MAX_SOURCES {
        return Err(ParityError::TooManyFiles { files });
    }
    let lengths = if args.zero_extend { Lengths::ZeroExtended } else { Lengths::Equal };
    let inputs = Inputs::open(&args.files, lengths)?;
    signal::note_interruptions();
    let done = match &args.output {
        Some(path) => write(&inputs, path, args)?,
        None => check(&inputs, args)?,
    };
    if args.quiet { Ok(String::new()) } else { done.describe(&inputs, args) }
}

/// What was done, for the summary.
struct Done {
    chunk: usize,
    streamed: Duration,
    synced: Option<Duration>,
}

fn write(inputs: &Inputs, path: &Path, args: &ParityArgs) -> Result<Done, ParityError> {
    let mut output = Output::create(path, inputs)?;
    let start = Instant::now();
    let chunk = stream(inputs, args, |_, dest, sources| {
        xor::parity(dest, sources)?;
        Ok(output.write(dest)?)
    })?;
    let streamed = start.elapsed();
    output.commit()?;
    Ok(Done { chunk, streamed, synced: Some(start.elapsed() - streamed) })
}

fn check(inputs: &Inputs, args: &ParityArgs) -> Result<Done, ParityError> {
    let start = Instant::now();
    let chunk = stream(inputs, args, |offset, dest, sources| {
        if xor::check(sources)? {
            return Ok(());
        }
        xor::parity(dest, sources)?;
        match dest.iter().position(|byte| *byte != 0) {
            Some(at) => Err(ParityError::NotZero { files: args.files.len(), offset: offset + at as u64 }),
            None => Ok(()),
        }
    })?;
    Ok(Done { chunk, streamed: start.elapsed(), synced: None })
}

/// Gives every chunk of the inputs to `visit`, and makes sure that they stayed what they were. Returns the length of
/// the chunks.
fn stream(
    inputs: &Inputs,
    args: &ParityArgs,
    visit: impl FnMut(u64, &mut [u8], &[&[u8]]) -> Result<(), ParityError>,
) -> Result<usize, ParityError> {
    let mut buffers = Buffers::new(args.files.len(), inputs.longest());
    let progress = progress_bar(inputs, args.quiet);
    let result = stream::for_each_chunk(inputs, &mut buffers, &progress, visit);
    progress.finish_and_clear();
    result?;
    inputs.check_unchanged()?;
    match signal::received() {
        Some(signal) => Err(ParityError::Interrupted { signal }),
        None => Ok(buffers.chunk()),
    }
}

fn progress_bar(inputs: &Inputs, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(inputs.total());
    let template = "{wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}";
    // A template that does not parse only costs the look of the bar.
    ProgressStyle::with_template(template).map(|style| bar.clone().with_style(style)).unwrap_or(bar)
}

impl Done {
    fn describe(&self, inputs: &Inputs, args: &ParityArgs) -> Result<String, ParityError> {
        let files = args.files.len();
        let mut said = String::new();
        if args.check {
            let _ = writeln!(said, "the XOR of the {files} files is zero");
        } else if let (true, Some(output)) = (args.rebuild, &args.output) {
            let _ = writeln!(said, "rebuilt {}", output.display());
        }
        let seconds = self.streamed.as_secs_f64();
        let rate = inputs.total() as f64 / seconds.max(1e-9);
        let _ = write!(
            said,
            "{files} source{}, {} read in {seconds:.2} s ({}/s)",
            if files == 1 { "" } else { "s" },
            decimal(inputs.total() as f64),
            decimal(rate),
        );
        if let Some(synced) = self.synced {
            let _ = write!(said, ", synced in {:.2} s", synced.as_secs_f64());
        }
        let destination = if args.check { Destination::ZeroTest } else { Destination::Overwrite };
        let len = self.chunk.min(usize::try_from(inputs.longest()).unwrap_or(usize::MAX));
        let _ = writeln!(said, ", kernel: {}", xor::describe(destination, files, len)?);
        Ok(said)
    }
}

/// Bytes in a unit of powers of 1000, as storage is sold.
fn decimal(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut scaled = bytes;
    let mut unit = 0;
    while scaled >= 1000.0 && unit + 1 < units.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{scaled:.0} B"),
        _ => format!("{scaled:.2} {}", units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn units_are_decimal() {
        assert_eq!(decimal(0.0), "0 B");
        assert_eq!(decimal(999.0), "999 B");
        assert_eq!(decimal(1000.0), "1.00 kB");
        assert_eq!(decimal(1_073_741_824.0), "1.07 GB");
    }
}
