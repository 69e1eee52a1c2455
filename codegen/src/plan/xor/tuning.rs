//! Thresholds that plans are made by.

use super::Order;
use crate::spec::LengthClass;

/// Thresholds of the XOR plan. The defaults are measured; `docs/design.md` says what each one gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct XorTuning {
    /// Vectors a turn in the order of [`Order::Vectors`].
    pub unroll_vectors: u8,
    /// Vectors a turn in the order of [`Order::Operands`]; fewer where the registers do not suffice.
    pub unroll_operands: u8,
    /// The most sources whose pointers are kept in registers, those parked in vector registers included.
    pub resident_sources: u16,
    /// The most sources for which one plan serves every length: with the destination they are few enough for the
    /// first-level cache to hold a line of each, wherever the buffers start.
    pub any_length_sources: u16,
    /// The most sources that go vector by vector while all of them fit the first-level cache.
    pub vectors_sources: u16,
    /// Total bytes of the sources up to which that many go vector by vector.
    pub vectors_bytes: usize,
    /// Total bytes of the sources up to which more sources do.
    pub vectors_bytes_many: usize,
    /// The most sources whose pointers fit general-purpose registers: no more than that are ever grouped.
    pub single_pass_sources: u16,
    /// The length from which more sources than that are taken in groups.
    pub grouped_from: usize,
    /// The most sources of a group.
    pub group: u16,
    /// Bytes of the destination that all groups finish before the next block: it stays in the second-level cache.
    pub block: u32,
    /// Bytes of each source that a turn by operands must cover for more than `vectors_sources` sources in one pass.
    pub turn_from: u32,
    /// The length from which an unaligned destination is worth a masked head.
    pub head_from: u32,
}

impl XorTuning {
    /// The tuning in use when nothing else is said.
    pub const DEFAULT: XorTuning = XorTuning {
        unroll_vectors: 4,
        unroll_operands: 8,
        resident_sources: 23,
        any_length_sources: 5,
        vectors_sources: 8,
        vectors_bytes: 32 * 1024,
        vectors_bytes_many: 8 * 1024,
        single_pass_sources: 13,
        grouped_from: 256 * 1024,
        group: 12,
        block: 64 * 1024,
        turn_from: 256,
        head_from: 512,
    };

    /// The length class whose plan is best for `sources` (at most 1024) buffers of `len` bytes.
    pub const fn length_class(&self, sources: usize, len: usize) -> LengthClass {
        let short = if sources <= self.any_length_sources as usize {
            return LengthClass::Any;
        } else if sources <= self.vectors_sources as usize {
            len.saturating_mul(sources) <= self.vectors_bytes
        } else if sources <= self.single_pass_sources as usize {
            len.saturating_mul(sources) <= self.vectors_bytes_many
        } else {
            len < self.grouped_from
        };
        if short { LengthClass::Short } else { LengthClass::Long }
    }

    /// The order of a turn when every pointer is in a general-purpose register.
    pub(super) const fn order(&self, sources: usize, length: LengthClass) -> Order {
        match length {
            LengthClass::Short => Order::Vectors,
            LengthClass::Any if sources <= self.any_length_sources as usize => Order::Vectors,
            LengthClass::Any | LengthClass::Long => Order::Operands,
        }
    }
}

impl Default for XorTuning {
    fn default() -> XorTuning {
        XorTuning::DEFAULT
    }
}
