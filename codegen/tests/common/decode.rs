//! The iced-x86 oracle: what an instruction's bytes say when an independent decoder reads them.

use std::collections::HashMap;

use iced_x86::{
    Code, CpuidFeature, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, InstructionInfoFactory,
    InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register,
};
use lanesmith_codegen::asm::table::{Alignment, Class, Encoding, MemBytes, Role, Row};
use lanesmith_codegen::asm::{Inst, Mem, Operand, Width};
use lanesmith_codegen::encode::{PoolFixup, encode};
use lanesmith_codegen::target::{Feature, FeatureSet};

use super::{Cover, Form, forms, memory_bytes};

/// Where instructions and the constant pool are taken to be; only their distance matters.
const CODE_AT: u64 = 0x7000_0000;
const POOL_AT: u64 = 0x7001_2340;

/// Decodes and compares; holds what is costly to make.
pub(crate) struct Oracle {
    mnemonics: HashMap<String, Mnemonic>,
    info: InstructionInfoFactory,
    encoder: Encoder,
    bytes: Vec<u8>,
}

fn differ<T: PartialEq + std::fmt::Debug>(what: &str, ours: T, decoded: T) -> Result<(), String> {
    if ours == decoded { Ok(()) } else { Err(format!("{what}: ours {ours:?}, decoded {decoded:?}")) }
}

impl Oracle {
    pub(crate) fn new() -> Oracle {
        let mnemonics = Mnemonic::values().map(|m| (format!("{m:?}").to_lowercase(), m)).collect();
        Oracle { mnemonics, info: InstructionInfoFactory::new(), encoder: Encoder::new(64), bytes: Vec::new() }
    }

    /// Checks every instance of `row` that `cover` asks for, and the columns that describe the row as a whole.
    /// Returns how many instances there were.
    ///
    /// # Errors
    /// The first difference, with the instruction and its bytes.
    pub(crate) fn row(&mut self, row: &'static Row, cover: Cover) -> Result<u64, String> {
        let mut count = 0;
        let (mut ours, mut needed) = (FeatureSet::EMPTY, FeatureSet::EMPTY);
        for form in forms(row) {
            let (features, instances) = self.form(&form, cover)?;
            count += instances;
            needed = needed.union(features.0);
            ours = ours.union(features.1);
        }
        // A row may ask for more than one of its widths needs, but not for more than all of them.
        differ(row.mnemonic, ours, needed)?;
        Ok(count)
    }

    /// Checks one form; returns (needed, claimed) features and the number of instances.
    pub(crate) fn form(&mut self, form: &Form, cover: Cover) -> Result<((FeatureSet, FeatureSet), u64), String> {
        let name = form.row.mnemonic;
        let mnemonic = *self.mnemonics.get(name).ok_or_else(|| format!("{name}: no such mnemonic"))?;
        let mut count = 0;
        let mut seen = Code::INVALID;
        let mut features = (FeatureSet::EMPTY, FeatureSet::EMPTY);
        for inst in form.instances(cover) {
            count += 1;
            self.bytes.clear();
            let fixup = encode(&inst, &mut self.bytes);
            let decoded = self
                .instance(&inst, fixup, mnemonic)
                .map_err(|e| format!("{:?} {:?}: {e}\n  {inst:?}\n  {:02x?}", form.width, form.rm, self.bytes))?;
            if decoded.code() != seen {
                seen = decoded.code();
                let found = columns(&inst, &decoded).map_err(|e| format!("{decoded}: {e}"))?;
                features = (features.0.union(found), features.1.union(inst.features()));
            }
        }
        Ok((features, count))
    }

    /// Checks `inst`, which `self.bytes` and `fixup` encode.
    fn instance(&mut self, inst: &Inst, fixup: Option<PoolFixup>, mnemonic: Mnemonic) -> Result<Instruction, String> {
        let len = self.bytes.len();
        if let Some(fixup) = fixup {
            differ("bytes after the displacement", fixup.trailing, len - 4 - fixup.field_at)?;
            let distance = POOL_AT + u64::from(fixup.offset) - (CODE_AT + len as u64);
            self.bytes[fixup.field_at..fixup.field_at + 4].copy_from_slice(&(distance as u32).to_le_bytes());
        }
        let mut decoder = Decoder::with_ip(64, &self.bytes, CODE_AT, DecoderOptions::NONE);
        let mut decoded = decoder.decode();
        if decoded.is_invalid() {
            return Err(format!("not an instruction: {:?}", decoder.last_error()));
        }
        differ("length", len, decoded.len())?;
        differ("mnemonic", mnemonic, decoded.mnemonic())?;
        differ("prefix scheme", scheme(inst.row().encoding), decoded.code().encoding())?;
        differ("operand count", inst.operands().len() as u32, decoded.op_count())?;
        for i in 0..inst.operands().len() {
            operand(inst, i, &decoded).map_err(|e| format!("operand {i}: {e}"))?;
        }
        let mask = inst.masking().map_or(Register::None, |m| Register::K0 + u32::from(m.mask.number()));
        differ("writemask", mask, decoded.op_mask())?;
        differ("zeroing", inst.masking().is_some_and(|m| m.zeroing), decoded.zeroing_masking())?;
        self.roles(inst, &decoded)?;
        self.canonical(&mut decoded)?;
        Ok(decoded)
    }

    /// Whether the row says of each operand what the decoder's tables say.
    fn roles(&mut self, inst: &Inst, decoded: &Instruction) -> Result<(), String> {
        // Of `pxor a, a` the tables know that it reads nothing; the row speaks of the instruction in general.
        if let [.., Operand::Vector(a), Operand::Vector(b)] = inst.operands()
            && a == b
        {
            return Ok(());
        }
        let skip = InstructionInfoOptions::NO_MEMORY_USAGE | InstructionInfoOptions::NO_REGISTER_USAGE;
        let info = self.info.info_options(decoded, skip);
        let merging = inst.masking().is_some_and(|m| !m.zeroing);
        for (i, slot) in inst.row().slots.iter().enumerate() {
            let expected: &[OpAccess] = match (slot.role, inst.operands()[i]) {
                (Role::Read, Operand::Mem(_)) if inst.masking().is_some() => &[OpAccess::Read, OpAccess::CondRead],
                (Role::Read, _) => &[OpAccess::Read],
                (Role::Write, Operand::Mem(_)) if merging => &[OpAccess::CondWrite],
                // Merging keeps the masked-out elements of a vector (below 512 bits the rest is still written), but
                // a mask result has zeros there.
                (Role::Write | Role::ReadWrite, Operand::Vector(_)) if merging => {
                    &[OpAccess::ReadWrite, OpAccess::ReadCondWrite]
                }
                (Role::Write, _) => &[OpAccess::Write],
                (Role::ReadWrite, _) => &[OpAccess::ReadWrite],
            };
            let access = info.op_access(i as u32);
            if !expected.contains(&access) {
                return Err(format!("operand {i} is {:?}, decoded {access:?}", slot.role));
            }
        }
        Ok(())
    }

    /// Whether the bytes are the shortest: ignored bits clear, two-byte VEX and 8-bit displacement where possible.
    fn canonical(&mut self, decoded: &mut Instruction) -> Result<(), String> {
        if decoded.op_kinds().any(|k| k == OpKind::Memory) && !decoded.is_ip_rel_memory_operand() {
            let none = decoded.memory_displacement64() == 0;
            decoded.set_memory_displ_size(if none { 0 } else { 1 });
        }
        self.encoder.encode(decoded, CODE_AT).map_err(|e| format!("cannot be encoded again: {e}"))?;
        let again = self.encoder.take_buffer();
        let same = again == self.bytes;
        let result = if same { Ok(()) } else { Err(format!("encoded again it is {again:02x?}")) };
        self.encoder.set_buffer({
            let mut buffer = again;
            buffer.clear();
            buffer
        });
        result
    }
}

fn scheme(encoding: Encoding) -> EncodingKind {
    match encoding {
        Encoding::Legacy => EncodingKind::Legacy,
        Encoding::Vex => EncodingKind::VEX,
        Encoding::Evex => EncodingKind::EVEX,
    }
}

fn operand(inst: &Inst, i: usize, decoded: &Instruction) -> Result<(), String> {
    let register = |class: Class, n: u8| {
        let first = match (class, inst.width()) {
            (Class::Xmm, _) | (Class::Vector, Width::W128) => Register::XMM0,
            (Class::Half, Width::W128 | Width::W256) => Register::XMM0,
            (Class::Half, Width::W512) => Register::YMM0,
            (Class::Vector, Width::W256) => Register::YMM0,
            (Class::Vector, Width::W512) => Register::ZMM0,
            (Class::Gpr32, _) => Register::EAX,
            (Class::Gpr64, _) => Register::RAX,
            (Class::Mask | Class::Imm8, _) => Register::K0,
        };
        differ("kind", OpKind::Register, decoded.op_kind(i as u32))?;
        differ("register", first + u32::from(n), decoded.op_register(i as u32))
    };
    let class = inst.row().slots[i].class;
    match inst.operands()[i] {
        Operand::Vector(v) => register(class, v.number()),
        Operand::Gpr(r) => register(class, r.number()),
        Operand::Mask(k) => register(class, k.number()),
        Operand::Imm(n) => {
            differ("kind", OpKind::Immediate8, decoded.op_kind(i as u32))?;
            differ("immediate", n, decoded.immediate8())
        }
        Operand::Mem(mem) => {
            differ("kind", OpKind::Memory, decoded.op_kind(i as u32))?;
            let bytes = memory_bytes(inst.row(), inst.width());
            differ("bytes of memory", bytes as usize, decoded.memory_size().size())?;
            address(mem, decoded)
        }
    }
}

fn address(mem: Mem, decoded: &Instruction) -> Result<(), String> {
    match mem {
        Mem::Pool { offset } => {
            differ("RIP-relative", true, decoded.is_ip_rel_memory_operand())?;
            differ("target", POOL_AT + u64::from(offset), decoded.ip_rel_memory_address())
        }
        Mem::Base { base, index, displacement } => {
            let gpr = |n: u8| Register::RAX + u32::from(n);
            differ("base", gpr(base.number()), decoded.memory_base())?;
            differ("index", index.map_or(Register::None, |i| gpr(i.register.number())), decoded.memory_index())?;
            differ("scale", index.map_or(1, |i| 1 << i.shift), decoded.memory_index_scale())?;
            differ("displacement", i64::from(displacement) as u64, decoded.memory_displacement64())?;
            differ("segment", Register::None, decoded.segment_prefix())
        }
    }
}

/// Compares the columns that hold for the whole row; returns the features that the decoder's tables name.
fn columns(inst: &Inst, decoded: &Instruction) -> Result<FeatureSet, String> {
    let (row, code) = (inst.row(), decoded.op_code());
    differ("can be masked", row.element != 0, code.can_use_op_mask_register())?;
    let to_memory = matches!(inst.operands().first(), Some(Operand::Mem(_)));
    differ("can zero", row.zeroing, code.can_use_zeroing_masking() && !to_memory)?;
    if inst.memory().is_some() {
        if row.element != 0 {
            // Of a destination twice as wide as its source, two bytes for each of the source's.
            let of_source = if row.mem_bytes == MemBytes::Half { row.element / 2 } else { row.element };
            differ("bytes of an element", usize::from(of_source), decoded.memory_size().element_size())?;
        }
        differ("needs alignment", row.alignment, alignment(inst))?;
    }
    let mut needed = baseline(inst);
    for feature in decoded.cpuid_features() {
        needed = needed.with(named(*feature)?);
    }
    if !inst.features().contains(needed) {
        return Err(format!("features: ours {}, decoded {needed}", inst.features()));
    }
    Ok(needed)
}

/// The manual's rule for memory operands: explicitly aligned moves and legacy operands of a whole vector fault,
/// unless the mnemonic says otherwise. No decoder's table has this column.
fn alignment(inst: &Inst) -> Alignment {
    let name = inst.row().mnemonic;
    let bare = name.strip_prefix('v').unwrap_or(name);
    let aligned_move = ["movdqa", "movaps", "movapd", "movnt"].iter().any(|m| bare.starts_with(m));
    let unaligned_move = ["movdqu", "movups", "movupd", "lddqu"].iter().any(|m| bare.starts_with(m));
    let whole = memory_bytes(inst.row(), inst.width()) == inst.width().bytes();
    let legacy = inst.row().encoding == Encoding::Legacy && whole && !unaligned_move;
    if aligned_move || legacy { Alignment::Vector } else { Alignment::Any }
}

/// What the prefix scheme itself implies, which the decoder's tables do not always list.
fn baseline(inst: &Inst) -> FeatureSet {
    match inst.row().encoding {
        Encoding::Legacy => FeatureSet::EMPTY,
        Encoding::Vex => FeatureSet::of(&[Feature::Avx]),
        Encoding::Evex => FeatureSet::of(&[Feature::Avx512F]),
    }
}

fn named(feature: CpuidFeature) -> Result<Feature, String> {
    let name = format!("{feature:?}").to_lowercase().replace('_', "");
    let spelled = |f: &Feature| f.name().replace(['.', '_'], "");
    Feature::ALL.into_iter().find(|f| spelled(f) == name).ok_or_else(|| format!("unknown feature {feature:?}"))
}
