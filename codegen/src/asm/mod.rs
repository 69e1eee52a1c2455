//! Instructions and programs: physical registers, the instruction table, and the layer through which a lowering
//! speaks of loads, stores and XORs without naming an instruction set.

pub mod builder;
pub mod inst;
pub mod mem;
pub mod ops;
pub mod program;
pub mod reg;
pub mod scalar;
pub mod table;

pub use builder::{AsmError, Builder};
pub use inst::{Inst, Operand};
pub use mem::{Index, Mem};
pub use program::{Item, Label, Pool, Program, Span};
pub use reg::{Gpr, Mask, Vector, Width};
pub use scalar::{Condition, Scalar};
