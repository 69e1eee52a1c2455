//! Plain Rust by the definition: the judge of every kernel, and what runs where no kernel may.

pub mod fletcher;
pub mod xor;
