//! `lanesmith emit`: the code of a kernel. Pure, apart from the default tier: any tier can be had on any machine.

use std::fmt::Write as _;

use iced_x86::{Decoder, DecoderOptions};
use lanesmith::codegen::asm::{Item, Label, Program, Scalar, Span};
use lanesmith::codegen::cost::Cost;
use lanesmith::codegen::kernel::xor::Lowered;
use lanesmith::codegen::plan::Role;
use lanesmith::codegen::spec::{SpecErrors, XorOptions, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::codegen::text::{self, Syntax};
use lanesmith::cpu::{Cpu, XOR};
use lanesmith::emit::Code;
use lanesmith::xor;

use crate::args::{EmitXorArgs, Format};

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmitError {
    /// One line for each rule that the options break.
    #[error("{}", lines(.0))]
    Spec(SpecErrors),
    #[error("{0}")]
    Xor(xor::Error),
    #[error("this CPU runs no tier: name one with --tier")]
    NoTier,
    #[error("the decoder does not agree with the generator on the instruction at {offset:#x}")]
    Disagreement { offset: usize },
}

impl EmitError {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            // The options contradict each other, or what the tier has.
            EmitError::Spec(_) | EmitError::NoTier | EmitError::Xor(xor::Error::Compile(_)) => 2,
            EmitError::Xor(_) | EmitError::Disagreement { .. } => 1,
        }
    }
}

fn lines(errors: &SpecErrors) -> String {
    errors.errors().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What `emit xor` prints.
pub(crate) fn xor(args: &EmitXorArgs) -> Result<String, EmitError> {
    let options = XorOptions {
        destination: args.destination,
        strategy: args.strategy,
        unroll: args.unroll,
        merge: args.merge,
        store: args.store,
        head: args.head,
        aligned: args.aligned,
        multiple_of: args.multiple_of,
        length: args.length,
    };
    let spec = XorSpec::with(args.srcs, options).map_err(EmitError::Spec)?;
    let tier = args.tier.or(args.width).or_else(default_tier).ok_or(EmitError::NoTier)?;
    let (lowered, codes) = xor::generate(&spec, tier).map_err(EmitError::Xor)?;
    Ok(match args.format {
        Format::Listing => xor::listings(&lowered, &codes),
        Format::Asm => asm(&lowered),
        Format::Bytes => bytes(&lowered, &codes)?,
        Format::Mca => mca(&lowered),
    })
}

fn default_tier() -> Option<Tier> {
    Cpu::get().choose(&XOR).tier
}

/// The plan, as comments.
fn plan_comments(lowered: &Lowered, mark: &str) -> String {
    lowered.plan.to_string().lines().map(|line| format!("{mark} {line}\n")).collect()
}

/// One file with a function per program of the plan.
fn asm(lowered: &Lowered) -> String {
    let mut out = plan_comments(lowered, "#");
    lowered.programs.iter().for_each(|program| out.push_str(&text::file(program)));
    out
}

/// Offset, bytes and text of each instruction, and the constants behind them.
fn bytes(lowered: &Lowered, codes: &[Code]) -> Result<String, EmitError> {
    let mut out = plan_comments(lowered, ";");
    for (program, code) in lowered.programs.iter().zip(codes) {
        let _ = writeln!(out, "\n{}:", program.name());
        let instructions = &code.bytes[..code.code_len];
        let mut decoder = Decoder::new(64, instructions, DecoderOptions::NONE);
        for (item, text) in text::items(program, Syntax { label_prefix: "L", pool: "pool" }) {
            match item {
                Item::Note(_) => {}
                Item::Label(_) => drop(writeln!(out, "{text}")),
                Item::Vector(_) | Item::Scalar(_) => {
                    // Only the lengths are asked of the decoder: where an instruction ends in the bytes.
                    let start = decoder.position();
                    if !decoder.can_decode() || decoder.decode().is_invalid() {
                        return Err(EmitError::Disagreement { offset: start });
                    }
                    let hex = hex(&instructions[start..decoder.position()]);
                    let _ = writeln!(out, "{start:6x}: {hex:<36}  {text}");
                }
            }
        }
        if decoder.can_decode() {
            return Err(EmitError::Disagreement { offset: decoder.position() });
        }
        if code.pool_at < code.bytes.len() {
            out.push_str("pool:\n");
            for (k, row) in code.bytes[code.pool_at..].chunks(16).enumerate() {
                let _ = writeln!(out, "{:6x}: {}", code.pool_at + 16 * k, hex(row));
            }
        }
    }
    Ok(out)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// The main loop of each program, as regions for llvm-mca.
fn mca(lowered: &Lowered) -> String {
    let mut out = plan_comments(lowered, "#");
    out.push_str("    .intel_syntax noprefix\n");
    for program in &lowered.programs {
        if let Some(span) = main_loop(program) {
            mca_region(&mut out, program, span);
        }
    }
    out
}

/// The loop that covers most bytes a turn, or the widest region of a kernel without a loop.
fn main_loop(program: &Program) -> Option<&Span> {
    program.spans().iter().max_by_key(|span| (span.region.role == Role::Loop, span.bytes))
}

fn mca_region(out: &mut String, program: &Program, span: &Span) {
    let prefix = format!("{}_L", program.name());
    let pool = format!("{}_pool", program.name());
    let texts: Vec<(&Item, String)> = text::items(program, Syntax { label_prefix: &prefix, pool: &pool }).collect();
    let _ = writeln!(out, "# {}: turn of [{}]: {}", program.name(), span.region, Cost::of(program, span));
    // The region is straight-line code to llvm-mca. Its branches still need their labels, and inside the region only
    // a loop that is written out below could define one, and more than once.
    for label in branch_targets(&texts[span.items.clone()]) {
        let _ = writeln!(out, "{prefix}{}:", label.number());
    }
    let _ = writeln!(out, "# LLVM-MCA-BEGIN {}", program.name());
    let mut write = |range: std::ops::Range<usize>| {
        for (item, text) in &texts[range] {
            if matches!(item, Item::Vector(_) | Item::Scalar(_)) {
                let _ = writeln!(out, "    {text}");
            }
        }
    };
    match &span.inner {
        None => write(span.items.clone()),
        Some((inner, turns)) => {
            write(span.items.start..inner.start);
            (0..*turns).for_each(|_| write(inner.clone()));
            write(inner.end..span.items.end);
        }
    }
    let _ = writeln!(out, "# LLVM-MCA-END");
}

/// The labels that the items branch to, each once.
fn branch_targets(items: &[(&Item, String)]) -> Vec<Label> {
    let mut labels = Vec::new();
    for (item, _) in items {
        if let Item::Scalar(Scalar::Branch(_, label) | Scalar::Jump(label)) = item
            && !labels.contains(label)
        {
            labels.push(*label);
        }
    }
    labels
}
