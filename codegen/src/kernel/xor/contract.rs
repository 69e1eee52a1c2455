//! The contract of a XOR program.

use alloc::vec;

use crate::asm::Program;
use crate::kernel::contract::{Access, Buffer, Contract};
use crate::plan::xor::XorPass;
use crate::spec::Destination;

/// The contract of a pass and its program.
pub fn contract(pass: &XorPass, program: &Program) -> Contract {
    let aligned = pass.aligned;
    let bytes = "bytes offset..offset+len";
    let mut buffers = vec![
        Buffer { name: "sources", count: 1, bytes: "the pointers", access: Access::Read, aligned: 8 },
        Buffer { name: "source", count: pass.sources.into(), bytes, access: Access::Read, aligned },
    ];
    let access = match pass.destination {
        Destination::Overwrite => Some(Access::Write),
        Destination::Accumulate => Some(Access::ReadWrite),
        Destination::ZeroTest => None,
    };
    buffers.extend(access.map(|access| Buffer { name: "dest", count: 1, bytes, access, aligned }));
    let multiple_of = pass.multiple_of;
    Contract {
        prototype: "uint64_t f(uint8_t *dest, const uint8_t *const *sources, size_t offset, size_t len)",
        buffers,
        length: if multiple_of > 1 { "a non-zero promised multiple" } else { "any, zero too" },
        multiple_of,
        aliasing: match access {
            Some(_) => "sources may alias each other; dest may equal a source exactly, but not overlap one partly",
            None => "sources may alias each other; dest is ignored",
        },
        result: match access {
            Some(_) => "unspecified",
            None => "0 if the XOR of all sources is zero everywhere, otherwise not 0",
        },
        stack: 0,
        features: program.features(),
        vectors: vec![],
        masks: vec![],
        gprs: vec![],
    }
    .derive(program)
}
