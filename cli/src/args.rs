//! What can be asked of the program.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand, ValueEnum};
use lanesmith::codegen::spec::{Destination, Head, LengthClass, Merge, Store, Strategy};
use lanesmith::codegen::target::Tier;
use lanesmith::fletcher::Algorithm;

/// XOR parity by kernels compiled for the exact source count, and Fletcher checksums
#[derive(Debug, Parser)]
#[command(
    name = "lanesmith",
    version,
    after_help = "Example:
  lanesmith parity disk1 disk2 disk3 -o parity    make parity
  lanesmith parity --check disk1 disk2 disk3 parity
  lanesmith parity --rebuild -o disk2 disk1 disk3 parity
  lanesmith checksum --algorithm fletcher4 disk1 disk2"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// XOR files: make parity, check it, or rebuild a lost file from the others
    Parity(ParityArgs),
    /// Print a Fletcher checksum of each file
    Checksum(ChecksumArgs),
    /// Print the code of a kernel, for any tier on any machine
    Emit(EmitArgs),
    /// Time XOR kernels against the Linux kernel's loops and against the load limit of this machine
    Bench(BenchArgs),
    /// Print what was detected of this CPU, which tier was chosen, and why
    Cpu(CpuArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  lanesmith parity disk1 disk2 disk3 -o parity
  lanesmith parity --check disk1 disk2 disk3 parity
  lanesmith parity --rebuild -o disk2 disk1 disk3 parity

Files are read in chunks, in at most 64 MiB of memory whatever their number. OUT is written under a temporary
name beside it, synced, and renamed: it is there whole or not at all. An OUT that exists is replaced and keeps its
permission bits.")]
pub(crate) struct ParityArgs {
    /// The files to XOR, 1 to 1024
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Where the XOR of the files goes
    #[arg(short, long, value_name = "OUT", required_unless_present = "check", conflicts_with = "check")]
    pub(crate) output: Option<PathBuf>,

    /// Write nothing; succeed if the XOR of the files is zero, else name the first byte that is not
    #[arg(long)]
    pub(crate) check: bool,

    /// OUT is a lost file: FILE… are all the others, the parity among them
    #[arg(long, conflicts_with = "check")]
    pub(crate) rebuild: bool,

    /// Take files of unequal length, the shorter ones as if zeros followed
    #[arg(long)]
    pub(crate) zero_extend: bool,

    /// No progress bar and no summary: only errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  lanesmith checksum --algorithm fletcher4 disk1 disk2
  tail -c +9 block | lanesmith checksum --algorithm fletcher64-apfs

A line for each file: the words of the checksum in hexadecimal, separated by ':', two spaces, and the name. A file
that cannot be read, or whose length is not a whole number of words, is reported, the others are still summed, and
the exit code is 1. Files may be larger than memory. A name with a line feed, a carriage return or a backslash is
escaped as by sha256sum.")]
pub(crate) struct ChecksumArgs {
    /// The checksum; words are little-endian, or big-endian with -byteswap
    #[arg(short, long, value_parser = algorithms())]
    pub(crate) algorithm: Algorithm,

    /// The files; standard input for - or when there is none
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  lanesmith emit xor --srcs 5 --tier avx512")]
pub(crate) struct EmitArgs {
    #[command(subcommand)]
    pub(crate) family: EmitFamily,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EmitFamily {
    /// XOR of a number of buffers
    Xor(EmitXorArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  lanesmith emit xor --srcs 5 --tier avx512
  lanesmith emit xor --srcs 3 --width 256 --format asm | as -o xor3.o
  lanesmith emit xor --srcs 7 --format mca | llvm-mca -mcpu=icelake-server
  lanesmith emit xor --srcs 4 --width 512 --destination accumulate --strategy grouped4 \\
      --aligned 64 --multiple-of 512 --head off")]
pub(crate) struct EmitXorArgs {
    /// The number of sources, 1 to 1024
    #[arg(long, value_name = "N")]
    pub(crate) srcs: usize,

    /// The tier by vector width in bits: sse2, avx2 or avx512 [default: the tier chosen for this CPU]
    #[arg(long, value_name = "128|256|512", value_parser = tier_of_width, conflicts_with = "tier")]
    pub(crate) width: Option<Tier>,

    /// The tier by name [default: the tier chosen for this CPU]
    #[arg(long, value_name = "sse2|avx2|avx512-256|avx512", value_parser = tier_of_xor)]
    pub(crate) tier: Option<Tier>,

    /// What becomes of the XOR of the sources
    #[arg(long, value_name = "overwrite|accumulate|zero-test", default_value_t)]
    pub(crate) destination: Destination,

    /// How many passes over the destination; groupedN takes N sources a pass
    #[arg(long, value_name = "auto|single|groupedN", default_value_t)]
    pub(crate) strategy: Strategy,

    /// Vectors of the destination per loop turn: 1, 2, 4 or 8 [default: the plan decides]
    #[arg(long, value_name = "U")]
    pub(crate) unroll: Option<u8>,

    /// How operands are merged
    #[arg(long, value_name = "auto|ternary|pairwise", default_value_t)]
    pub(crate) merge: Merge,

    /// How the destination is stored
    #[arg(long, value_name = "temporal|non-temporal", default_value_t)]
    pub(crate) store: Store,

    /// Whether a masked first vector may align the destination
    #[arg(long, value_name = "auto|off", default_value_t)]
    pub(crate) head: Head,

    /// Promise: every buffer is aligned to this power of two
    #[arg(long, value_name = "BYTES", default_value_t = 1)]
    pub(crate) aligned: u32,

    /// Promise: the length is a non-zero multiple of this power of two
    #[arg(long, value_name = "BYTES", default_value_t = 1)]
    pub(crate) multiple_of: u32,

    /// The class of lengths that the plan is made for
    #[arg(long, value_name = "any|short|long", default_value_t)]
    pub(crate) length: LengthClass,

    /// What is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What `emit` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The plan, costs, contract and instructions, for a reader
    #[default]
    Listing,
    /// A file for GNU as or LLVM
    Asm,
    /// The machine code: offset, bytes and text of each instruction
    Bytes,
    /// The main loop, marked for llvm-mca
    Mca,
}

/// Time XOR kernels against the Linux kernel's loops and against the load limit of this machine
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:
  lanesmith bench
  lanesmith bench --disks 4,6,8 --sizes 4096 --cold
  lanesmith bench --quick --json | jq -c 'select(.implementation == \"auto\") | [.disks, .bytes, .ratio]'
  lanesmith bench overhead

All rows of a comparison run in one process, interleaved in shuffled order, and each is checked first. Without a
subcommand it is bench xor."
)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) family: Option<BenchFamily>,

    #[command(flatten)]
    pub(crate) xor: BenchXorArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchFamily {
    /// XOR kernels, by disks and bytes
    #[command(after_help = "Example:
  lanesmith bench xor --disks 5 --sizes 4096,65536 --json")]
    Xor(BenchXorArgs),
    /// What a call costs beside the kernel: the first for a source count, and each through the safe functions
    #[command(after_help = "Example:
  lanesmith bench overhead --json")]
    Overhead(BenchOverheadArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchXorArgs {
    /// Disks, one more than sources, 2 to 1025 [default: 2,3,4,5,6,7,8,10,12,15,16,24,32,64]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(2..=1025))]
    pub(crate) disks: Vec<u64>,

    /// Bytes of each buffer [default: 4096,16384,65536,1048576; with --quick up to 65536]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) sizes: Vec<u64>,

    /// Also with the first-level cache emptied before each call
    #[arg(long)]
    pub(crate) cold: bool,

    /// Threads that run each row in step, each pinned to a core and with buffers of its own
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub(crate) threads: usize,

    /// Print an object for each row, one a line: see docs/bench-json.md
    #[arg(long)]
    pub(crate) json: bool,

    /// Fewer rounds: seconds instead of minutes
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BenchOverheadArgs {
    /// Print one JSON object: see docs/bench-json.md
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  lanesmith cpu
  LANESMITH_MAX_ISA=avx2 lanesmith cpu --json")]
pub(crate) struct CpuArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn threads(number: &str) -> Result<usize, &'static str> {
    number.parse().ok().filter(|threads| *threads > 0).ok_or("expected a number from 1")
}

fn tier_of_xor(name: &str) -> Result<Tier, String> {
    let tier = name.parse().ok().filter(|tier| Tier::XOR.contains(tier));
    tier.ok_or_else(|| format!("unknown tier: expected one of {}", Tier::XOR.map(Tier::name).join(", ")))
}

fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    PossibleValuesParser::new(Algorithm::ALL.map(Algorithm::name)).try_map(|name| name.parse::<Algorithm>())
}

fn tier_of_width(bits: &str) -> Result<Tier, &'static str> {
    bits.parse().ok().and_then(Tier::of_width).ok_or("expected 128, 256 or 512")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_are_consistent() {
        Args::command().debug_assert();
    }

    /// The words that the help shows are those that the options take.
    #[test]
    fn every_word_of_the_help_is_accepted() {
        let mut command = Args::command();
        let xor = command.find_subcommand_mut("emit").and_then(|emit| emit.find_subcommand_mut("xor")).unwrap();
        let options: Vec<(String, String)> = xor
            .get_arguments()
            .filter_map(|arg| Some((arg.get_long()?.to_string(), arg.get_value_names()?.first()?.to_string())))
            .filter(|(_, words)| words.contains('|'))
            .collect();
        assert_eq!(options.len(), 8);
        for (option, words) in options {
            for word in words.split('|').map(|word| word.replace("groupedN", "grouped4")) {
                let line = ["lanesmith", "emit", "xor", "--srcs", "3", &format!("--{option}"), &word];
                Args::try_parse_from(line).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }

    #[test]
    fn every_subcommand_has_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example:\n  lanesmith "), "{}", command.get_name());
            command.get_subcommands().filter(|c| c.get_name() != "help").for_each(check);
        }
        check(&Args::command());
    }
}
