//! The assembler oracles: our text through somebody else's assembler, compared with our bytes.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};
use lanesmith_codegen::asm::table::Row;
use lanesmith_codegen::asm::{AsmError, Inst};
use lanesmith_codegen::encode::encode;
use lanesmith_codegen::text::{self, Syntax};
use object::{Object, ObjectSection};

use super::mutate::leak;
use super::{Cover, forms};

/// Instructions as text and as our bytes. They get a section of their own, which starts with the constant pool's
/// label: so a RIP-relative displacement is known to the assembler, and its bytes can be compared.
pub(crate) struct Listing {
    pub(crate) name: String,
    pub(crate) count: usize,
    lines: Vec<String>,
    bytes: Vec<u8>,
}

impl Listing {
    /// The instances of `written` that `cover` asks for: their text from that row, their bytes from `encoded`.
    ///
    /// # Errors
    /// When `encoded` does not admit one of them.
    pub(crate) fn new(written: &'static Row, encoded: &'static Row, cover: Cover) -> Result<Listing, AsmError> {
        let name = format!("{} {:?}", written.mnemonic, written.encoding);
        let mut listing = Listing { name, count: 0, lines: Vec::new(), bytes: Vec::new() };
        for form in forms(written) {
            for request in form.requests(cover) {
                listing.push(&request.build(written)?, &request.build(encoded)?);
            }
        }
        Ok(listing)
    }

    /// The instances of `row`, written as they were asked for: any canonical choice in the bytes is ours alone.
    ///
    /// # Errors
    /// Never, unless the generator and the row disagree.
    pub(crate) fn literal(row: &'static Row, cover: Cover) -> Result<Listing, AsmError> {
        Listing::new(leak(Row { commutative: false, vex_form: None, ..*row }), row, cover)
    }

    fn push(&mut self, written: &Inst, encoded: &Inst) {
        self.count += 1;
        self.lines.push(text::inst(written, &Syntax { label_prefix: "", pool: "2b" }));
        let start = self.bytes.len();
        if let Some(fixup) = encode(encoded, &mut self.bytes) {
            let displacement = fixup.offset as i32 - self.bytes.len() as i32;
            let at = start + fixup.field_at;
            self.bytes[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
        }
    }

    /// Whether the assembler wrote our bytes.
    ///
    /// # Errors
    /// The first instruction that differs.
    pub(crate) fn same_bytes(&self, assembled: &[u8]) -> Result<(), String> {
        if self.bytes == assembled { Ok(()) } else { self.walk(assembled, |ours, theirs| ours.1 == theirs.1) }
    }

    /// Whether the assembler wrote the same instructions, perhaps with another choice of bytes. Returns how many
    /// have other bytes.
    ///
    /// # Errors
    /// The first instruction that differs.
    pub(crate) fn same_instructions(&self, assembled: &[u8]) -> Result<usize, String> {
        let mut other_bytes = 0;
        self.walk(assembled, |ours, theirs| {
            other_bytes += usize::from(ours.1 != theirs.1);
            ours.0 == theirs.0
        })?;
        Ok(other_bytes)
    }

    /// Decodes both sides in step until `same` denies a pair of (text, bytes).
    fn walk<'b>(
        &'b self,
        assembled: &'b [u8],
        mut same: impl FnMut(&(String, &'b [u8]), &(String, &'b [u8])) -> bool,
    ) -> Result<(), String> {
        let (mut ours, mut theirs) = (decoded(&self.bytes), decoded(assembled));
        for line in &self.lines {
            let nothing = || (String::from("nothing"), &[][..]);
            let (a, b) = (ours.next().unwrap_or_else(nothing), theirs.next().unwrap_or_else(nothing));
            if !same(&a, &b) {
                return Err(format!(
                    "{}: `{line}`\n  ours      {:02x?} {}\n  assembled {:02x?} {}",
                    self.name, a.1, a.0, b.1, b.0
                ));
            }
        }
        if ours.next().is_some() || theirs.next().is_some() {
            return Err(format!("{}: bytes are left over", self.name));
        }
        Ok(())
    }
}

/// Each instruction in `bytes` with its text.
fn decoded(bytes: &[u8]) -> impl Iterator<Item = (String, &[u8])> {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    std::iter::from_fn(move || {
        let start = decoder.position();
        decoder.can_decode().then(|| {
            let mut instruction = Instruction::default();
            decoder.decode_out(&mut instruction);
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            (text, &bytes[start..decoder.position()])
        })
    })
}

/// The assembly file of all listings.
fn source(listings: &[Listing]) -> String {
    let mut out = String::new();
    for (i, listing) in listings.iter().enumerate() {
        writeln!(out, ".section .lanesmith.{i},\"ax\",@progbits\n2:").unwrap();
        for line in &listing.lines {
            writeln!(out, "{line}").unwrap();
        }
    }
    out
}

/// Runs `command`, which is to write `object`, and returns the section of each listing.
fn assemble(command: &mut Command, object: &Path, listings: &[Listing]) -> Vec<Vec<u8>> {
    let output = command.output().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = errors.lines().take(30).collect();
    assert!(output.status.success(), "{command:?} failed:\n{}", first.join("\n"));
    let data = std::fs::read(object).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let section = |i: usize| {
        let section = file.section_by_name(&format!(".lanesmith.{i}")).unwrap();
        assert_eq!(section.relocations().count(), 0, "{}: unresolved displacements", listings[i].name);
        section.data().unwrap().to_vec()
    };
    (0..listings.len()).map(section).collect()
}

/// Assembles with LLVM, through the compiler.
pub(crate) fn with_rustc(listings: &[Listing]) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("listings.s"), source(listings)).unwrap();
    let crate_root = "#![no_std]\ncore::arch::global_asm!(include_str!(\"listings.s\"), options(raw));\n";
    std::fs::write(dir.path().join("listings.rs"), crate_root).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let object = dir.path().join("listings.o");
    let mut command = Command::new(rustc);
    command.current_dir(dir.path()).args(["--crate-type=lib", "--edition=2024", "--emit=obj", "-O", "-o"]);
    command.arg(&object).arg("listings.rs");
    assemble(&mut command, &object, listings)
}

/// Assembles with GNU as.
pub(crate) fn with_gnu(listings: &[Listing]) -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let (input, object) = (dir.path().join("listings.s"), dir.path().join("listings.o"));
    std::fs::write(&input, format!(".intel_syntax noprefix\n{}", source(listings))).unwrap();
    let mut command = Command::new("as");
    command.arg("--64").arg("-o").arg(&object).arg(&input);
    assemble(&mut command, &object, listings)
}
