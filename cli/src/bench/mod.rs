//! `lanesmith bench`: kernels against the Linux kernel's loops, each other and the machine's own limits.

mod figures;
mod overhead;
mod raw;
mod rows;
mod sweep;
mod table;
mod threads;
mod timing;

use std::io::{self, Write};

use lanesmith::xor;

use crate::args::{BenchArgs, BenchFamily};

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error(
        "{disks} disks of {size} bytes for {threads} threads need {needed} bytes of memory: more than 4 GiB are refused"
    )]
    Memory { disks: u64, size: u64, threads: usize, needed: u64 },
    #[error("{threads} threads need a core each, and {cores} can be used here")]
    Threads { threads: usize, cores: usize },
    #[error("{implementation} computes a wrong result for {sources} sources of {bytes} bytes: nothing is measured")]
    Wrong { implementation: &'static str, sources: usize, bytes: usize },
    #[error("a thread cannot be pinned to core {core}: {error}")]
    Pin { core: usize, error: io::Error },
    #[error("a thread has panicked")]
    Panicked,
    #[error(transparent)]
    Xor(#[from] xor::Error),
    #[error("standard output: {0}")]
    Stdout(io::Error),
}

impl BenchError {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            BenchError::Memory { .. } | BenchError::Threads { .. } => 2,
            _ => 1,
        }
    }
}

/// Measures, and prints each figure when it is known.
pub(crate) fn run(args: &BenchArgs) -> Result<(), BenchError> {
    let mut out = Output;
    let done = match &args.family {
        None => sweep::run(&args.xor, &mut out),
        Some(BenchFamily::Xor(args)) => sweep::run(args, &mut out),
        Some(BenchFamily::Overhead(args)) => overhead::run(args, &mut out),
    };
    match done {
        // A reader that has gone away has what it wanted.
        Err(BenchError::Stdout(e)) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Where results go.
struct Output;

impl Output {
    /// Writes results to standard output.
    fn write(&mut self, text: &str) -> Result<(), BenchError> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(BenchError::Stdout)
    }

    /// Says something beside the results, on standard error.
    fn note(&mut self, text: &str) {
        // Not `eprintln!`, which panics when standard error is closed.
        let _ = writeln!(io::stderr(), "lanesmith: {text}");
    }
}
