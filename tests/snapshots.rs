//! The listing of every kernel of the registry, locked, and the digest of its machine code.
//!
//! After a deliberate change of a plan or a lowering, write all of them anew and read the difference:
//!
//! ```text
//! INSTA_UPDATE=always cargo test --test snapshots
//! git diff snapshots
//! ```
//!
//! A listing says what is emitted; the digests also lock how it is encoded.
#![cfg(feature = "jit")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use insta::{Settings, assert_snapshot};
use lanesmith::codegen::registry::{Entry, entries, fletcher_entries};
use lanesmith::emit::Code;
use lanesmith::fletcher_kernel;
use lanesmith::xor::{generate, listings};

/// The snapshot with a line for each program of the registry.
const DIGESTS: &str = "code_digests";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots")
}

fn settings() -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(folder());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// Compares each named text with its snapshot; all of them before it fails.
fn compare(texts: impl Iterator<Item = (String, String)>) {
    let mut changed = Vec::new();
    settings().bind(|| {
        for (name, text) in texts {
            // The name is moved: a panic leaves nothing half done that is used later.
            let same = catch_unwind(AssertUnwindSafe(|| assert_snapshot!(name.as_str(), text)));
            if same.is_err() {
                changed.push(name);
            }
        }
    });
    assert!(
        changed.is_empty(),
        "{} snapshots are missing or differ: {}\n\
         review them with `cargo insta review`, or accept all with \
         `INSTA_UPDATE=always cargo test --test snapshots` and read `git diff snapshots`",
        changed.len(),
        changed.join(" ")
    );
}

fn generated(entry: &Entry) -> (String, Vec<Code>) {
    let (lowered, codes) = generate(&entry.spec, entry.tier).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
    (listings(&lowered, &codes), codes)
}

/// The name, the listing and the machine code of every kernel of every family.
fn all() -> impl Iterator<Item = (String, String, Vec<Code>)> {
    let xor = entries().unwrap().into_iter().map(|entry| {
        let (text, codes) = generated(&entry);
        (entry.name, text, codes)
    });
    let fletcher = fletcher_entries().unwrap().into_iter().map(|Entry { name, spec, tier }| {
        let (lowered, code) = fletcher_kernel::generate(&spec, tier).unwrap_or_else(|e| panic!("{name}: {e}"));
        (name, fletcher_kernel::listing_of(&lowered, &code), vec![code])
    });
    xor.chain(fletcher)
}

#[test]
fn listings_are_locked() {
    compare(all().map(|(name, text, _)| (name, text)));
}

/// FNV-1a, 64 bits: enough to see a change, with nothing to depend on.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

#[test]
fn machine_code_is_locked() {
    assert_eq!(digest(b"foobar"), 0x8594_4171_F739_67E8, "the published test vector of FNV-1a");
    let mut text = String::new();
    for (name, _, codes) in all() {
        for (pass, code) in codes.iter().enumerate() {
            let Code { bytes, code_len, .. } = code;
            writeln!(text, "{name} pass {pass}: {code_len} bytes, {:016x}", digest(bytes)).unwrap();
        }
    }
    compare([(DIGESTS.to_owned(), text)].into_iter());
}

#[test]
fn no_snapshot_is_an_orphan() {
    let mut known: BTreeSet<String> = all().map(|(name, _, _)| format!("{name}.snap")).collect();
    known.insert(format!("{DIGESTS}.snap"));
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    // A pending review is `x.snap.new` (or `.x.pending-snap`); it is nobody's orphan.
    let orphans: Vec<String> = files.filter(|name| name.ends_with(".snap") && !known.contains(name)).collect();
    assert!(
        orphans.is_empty(),
        "no kernel of the registry has these snapshots; remove them: git rm {}",
        orphans.iter().map(|name| format!("snapshots/{name}")).collect::<Vec<_>>().join(" ")
    );
}
