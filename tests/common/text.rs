//! Decoded machine code, and its text in the notation of the listings.

use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, MemorySizeOptions, NumberBase};
use lanesmith::emit::Code;

/// The instructions of `code`, decoded from its first byte to `code_len` without a gap.
///
/// # Panics
/// At bytes that are no instruction, and at an instruction that goes beyond `code_len`.
pub(crate) fn decode(what: &str, code: &Code) -> Vec<Instruction> {
    let mut decoder = Decoder::new(64, &code.bytes[..code.code_len], DecoderOptions::NONE);
    let mut all = Vec::new();
    while decoder.can_decode() {
        let instruction = decoder.decode();
        assert!(!instruction.is_invalid(), "{what}: no instruction at {:#x}", instruction.ip());
        all.push(instruction);
    }
    all
}

/// Writes decoded instructions as the listings do, without spaces (the decoder's own style has others).
pub(crate) struct Notation {
    formatter: IntelFormatter,
}

impl Notation {
    pub(crate) fn new() -> Notation {
        let mut formatter = IntelFormatter::new();
        let options = formatter.options_mut();
        options.set_number_base(NumberBase::Decimal);
        options.set_memory_size_options(MemorySizeOptions::Always);
        options.set_branch_leading_zeros(false);
        options.set_show_branch_size(false);
        Notation { formatter }
    }

    /// The text. Immediates of scalar instructions are signed, those of vector instructions are a table of bits.
    pub(crate) fn of(&mut self, instruction: &Instruction, signed: bool) -> String {
        self.formatter.options_mut().set_signed_immediate_operands(signed);
        let mut text = String::new();
        self.formatter.format(instruction, &mut text);
        bare(&text)
    }
}

/// The text without spaces, a table of bits in decimal.
pub(crate) fn bare(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    match text.rsplit_once(",0x") {
        Some((rest, bits)) => format!("{rest},{}", u8::from_str_radix(bits, 16).expect("a byte")),
        None => text,
    }
}
