//! What the attribute `xor_kernel` says about wrong arguments and signatures, and where.
//!
//! After a deliberate change of a message: `TRYBUILD=overwrite cargo test --test macro_ui`, and read the difference.

#[test]
fn messages_are_locked() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}
