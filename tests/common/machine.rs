//! Kernels in the interpreter of `lanesmith-verify`, with nothing in memory but what the contract allows.

use lanesmith::codegen::kernel::xor::Lowered;
use lanesmith::codegen::plan::Bound;
use lanesmith::codegen::spec::{Destination, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::emit::Code;
use lanesmith::xor::generate;
use lanesmith_verify::{Access, Memory, Program, Region, Rules, run_sysv};

/// The address of the array of pointers.
const ARRAY: u64 = 0x1_0000;
/// Buffers begin at multiples of this, plus their misalignment.
const APART: u64 = 0x100_0000;
/// What a zero test gets for a destination: touching it is a fault.
const NOWHERE: u64 = 0xDEAD_0000;

/// A kernel as the interpreter takes it, on any machine.
pub(crate) struct Interpreted {
    pub(crate) tier: Tier,
    pub(crate) lowered: Lowered,
    programs: Vec<Program>,
}

/// The buffers of a call. Pointers are to `offset` bytes before the first byte.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) len: usize,
    pub(crate) offset: u64,
    /// Misalignment of the destination.
    pub(crate) dest: u64,
    /// Misalignment of each source.
    pub(crate) sources: Vec<u64>,
    /// The source that the destination is.
    pub(crate) alias: Option<usize>,
}

/// A buffer's address and contents.
type Placed = (u64, Vec<u8>);

impl Interpreted {
    pub(crate) fn new(spec: &XorSpec, tier: Tier) -> Interpreted {
        let (lowered, codes) = generate(spec, tier).unwrap_or_else(|e| panic!("{spec} on {tier}: {e}"));
        let decode = |c: &Code| {
            let code = lanesmith_verify::Code { bytes: &c.bytes, code_len: c.code_len, pool_at: c.pool_at };
            Program::decode(code)
        };
        Interpreted { tier, lowered, programs: codes.iter().map(decode).collect() }
    }

    fn spec(&self) -> &XorSpec {
        &self.lowered.plan.spec
    }

    /// Runs the kernel and compares the result with the reference.
    pub(crate) fn check(&self, case: &Case) {
        let (n, destination) = (self.spec().sources(), self.spec().options().destination);
        let mut sources = super::sources(n, case.len);
        let mut dest = super::before(case.len);
        if let Some(k) = case.alias {
            dest.clone_from(&sources[k]);
        }
        if destination != Destination::ZeroTest {
            let expected = super::expected(destination, &dest, &super::slices(&sources));
            self.run(case, &mut dest, &sources);
            super::assert_same(&dest, &expected, || self.name(case));
            return;
        }
        super::make_zero(&mut sources);
        assert_eq!(self.run(case, &mut dest, &sources), 0, "{}: the XOR is zero", self.name(case));
        if case.len > 0 {
            // One bit, at a place and in a source that change from case to case.
            let (k, at) = ((case.len * 31) % n, (case.len * 7 + case.dest as usize) % case.len);
            sources[k][at] ^= 1 << (case.len % 8);
            let what = || format!("{}: bit flipped in byte {at} of source {k}", self.name(case));
            assert_ne!(self.run(case, &mut dest, &sources), 0, "{}", what());
        }
    }

    fn name(&self, case: &Case) -> String {
        let Case { len, offset, dest, sources, alias } = case;
        let few = &sources[..sources.len().min(8)];
        format!(
            "{} on {}, {len} bytes at offset {offset}, dest misaligned by {dest}, sources by {few:?}, dest = {alias:?}",
            self.spec(),
            self.tier
        )
    }

    /// Calls the programs as the plan's driver says: block by block, within a block group by group. The result is the
    /// zero test's.
    fn run(&self, case: &Case, dest: &mut [u8], sources: &[Vec<u8>]) -> u64 {
        let driver = &self.lowered.plan.driver;
        let block = driver.block.map_or(usize::MAX, |b| b as usize);
        let mut result = 0;
        let mut start = 0;
        loop {
            let bytes = block.min(case.len - start);
            for group in &driver.groups {
                let first = usize::from(group.first);
                let count = usize::from(self.lowered.plan.passes[group.pass].sources);
                result |= self.call(group.pass, case, first..first + count, start..start + bytes, dest, sources);
            }
            start += bytes;
            if start >= case.len {
                return result;
            }
        }
    }

    /// One call of one program, in a memory that has exactly the bytes of this call.
    fn call(
        &self,
        pass: usize,
        case: &Case,
        group: std::ops::Range<usize>,
        bytes: std::ops::Range<usize>,
        dest: &mut [u8],
        sources: &[Vec<u8>],
    ) -> u64 {
        let destination = self.lowered.plan.passes[pass].destination;
        let offset = case.offset + bytes.start as u64;
        let base = |k: usize, misaligned: u64| (k as u64 + 2) * APART + misaligned;
        let source_base = |k: usize| base(k, case.sources[k]);
        let dest_base = case.alias.map_or(base(sources.len(), case.dest), source_base);
        // An access is at base + offset + index, so the first byte of the case is at base + case.offset.
        let at = |base: u64| base + offset;

        let mut memory = Memory::new();
        let mut add = |name: &str, (start, bytes): Placed, access| {
            memory.add(Region::new(name, start, bytes, access)).unwrap_or_else(|e| panic!("{}: {e}", self.name(case)));
        };
        let pointers: Vec<u8> = group.clone().flat_map(|k| source_base(k).to_le_bytes()).collect();
        add("pointers", (ARRAY, pointers), Access::Read);
        let aliased = case.alias.is_some_and(|k| group.contains(&k));
        let access = match destination {
            Destination::Overwrite if !aliased => Some(Access::Write),
            Destination::Overwrite | Destination::Accumulate => Some(Access::ReadWrite),
            Destination::ZeroTest => None,
        };
        if let Some(access) = access {
            add("dest", (at(dest_base), dest[bytes.clone()].to_vec()), access);
        }
        for k in group {
            if case.alias != Some(k) {
                add(&format!("source {k}"), (at(source_base(k)), sources[k][bytes.clone()].to_vec()), Access::Read);
            }
        }
        let dest_argument = if access.is_some() { dest_base } else { NOWHERE };
        let arguments = [dest_argument, ARRAY, offset, bytes.len() as u64];
        let rules = Rules { stack_bytes: self.lowered.contracts[pass].stack.into(), ..Rules::default() };
        let report = run_sysv(&self.programs[pass], &arguments, &mut memory, &rules)
            .unwrap_or_else(|fault| panic!("{}, pass {pass}: {fault}", self.name(case)));
        if access.is_some() {
            dest[bytes].copy_from_slice(memory.bytes("dest").unwrap());
            return 0;
        }
        report.rax.unwrap_or_else(|| panic!("{}: rax is undefined", self.name(case)))
    }

    /// Lengths on both sides of every boundary of the plan's regions and blocks, as far as the spec's promise allows.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        let mut edges = vec![0, self.tier.target().vector_bytes];
        edges.extend(self.lowered.plan.driver.block);
        for pass in &self.lowered.plan.passes {
            edges.extend(pass.regions.iter().map(|region| match region.bound {
                Bound::AtLeast(n) | Bound::Unaligned(n) => n,
                Bound::Exact | Bound::Remainder => pass.turn_bytes(),
            }));
            // A turn of the main loop and then something of each kind of tail.
            edges.extend([2 * pass.turn_bytes(), pass.turn_bytes() + self.tier.target().vector_bytes]);
            edges.extend([15, 7, 3].map(|tail| pass.turn_bytes() + tail));
        }
        let promised = self.spec().options().multiple_of as usize;
        let mut lengths: Vec<usize> = if promised == 1 {
            edges.into_iter().flat_map(|e| (e.saturating_sub(1)..=e + 1).map(|n| n as usize)).collect()
        } else {
            edges
                .into_iter()
                .flat_map(|e| (1..=3).map(move |k| (e as usize).next_multiple_of(promised) + k * promised))
                .collect()
        };
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// Misalignments of destination and sources, as far as the spec's promise allows: all aligned, congruent at an odd
    /// offset, at half a vector, and each buffer at its own.
    pub(crate) fn placements(&self) -> Vec<(u64, Vec<u64>)> {
        let n = self.spec().sources() as u64;
        let promised = u64::from(self.spec().options().aligned);
        let aligned = |m: u64| m / promised * promised;
        // Source j is misaligned by `first + step * j`.
        let mut placements: Vec<(u64, Vec<u64>)> =
            [(0, 0, 0), (1, 1, 0), (63, 63, 0), (32, 16, 0), (0, 1, 13), (9, 0, 41)]
                .into_iter()
                .map(|(dest, first, step)| (aligned(dest), (0..n).map(|j| aligned((first + step * j) % 64)).collect()))
                .collect();
        placements.dedup();
        placements
    }
}
