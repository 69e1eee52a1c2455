//! What the tests of whole programs share.

use iced_x86::IcedError;
use iced_x86::code_asm::CodeAssembler;
use lanesmith_verify::{Code, Program};

/// Assembles a function.
pub(crate) fn assemble(write: impl FnOnce(&mut CodeAssembler) -> Result<(), IcedError>) -> Program {
    let mut assembler = CodeAssembler::new(64).unwrap();
    write(&mut assembler).unwrap();
    let bytes = assembler.assemble(Program::BASE).unwrap();
    Program::decode(Code::new(&bytes))
}
