//! The `lanesmith` program: parity and checksums of files, the code of kernels, benchmarks, and a report about the CPU.
//!
//! Exit codes: 0 for success, 1 for a failure, 2 for arguments that make no sense, and 128 plus the signal's number
//! after an interruption. A failure says what is wrong in one line on standard error.

#[cfg(not(unix))]
compile_error!("the lanesmith program needs the file operations of a Unix system; the library does not");

mod args;
mod bench;
mod checksum;
mod cpu;
mod emit;
mod parity;
mod signal;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command, EmitFamily};

/// Anything that ends the program early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Parity(#[from] parity::ParityError),
    #[error(transparent)]
    Emit(#[from] emit::EmitError),
    #[error(transparent)]
    Bench(#[from] bench::BenchError),
    #[error("standard output: {0}")]
    Stdout(io::Error),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Failure::Parity(e) => e.exit_code(),
            Failure::Emit(e) => e.exit_code(),
            Failure::Bench(e) => e.exit_code(),
            Failure::Stdout(_) => 1,
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(code) => code,
        Err(failure) => {
            complain(&failure.to_string());
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Says on standard error what is wrong.
fn complain(text: &str) {
    for line in text.lines() {
        // Not `eprintln!`, which panics when standard error is closed.
        let _ = writeln!(io::stderr(), "lanesmith: {line}");
    }
}

fn run(args: &Args) -> Result<ExitCode, Failure> {
    let said = match &args.command {
        Command::Parity(args) => parity::run(args)?,
        Command::Emit(args) => match &args.family {
            EmitFamily::Xor(args) => emit::xor(args)?,
        },
        // It prints as it goes on.
        Command::Bench(args) => {
            bench::run(args)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Cpu(args) => cpu::report(args),
        Command::Checksum(args) => {
            let all = checksum::run(args, complain).map_err(Failure::Stdout)?;
            return Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    };
    say(&said).map_err(Failure::Stdout)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes to standard output. A reader that has gone away, such as `head`, has what it wanted.
fn say(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
