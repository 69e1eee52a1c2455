//! `lanesmith checksum`: values, standard input, and files that fail.

mod common;

use std::fs;
use std::path::Path;

use common::{failed, lanesmith, random, run, shell, succeeded};
use lanesmith::fletcher;
use tempfile::TempDir;

#[test]
fn every_checksum_has_its_digits() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("zfs"), [1u32, 2].map(u32::to_le_bytes).concat()).unwrap();
    fs::write(dir.path().join("pairs"), [1u64, 2, 3, 4].map(u64::to_le_bytes).concat()).unwrap();
    fs::write(dir.path().join("pairs-be"), [1u64, 2, 3, 4].map(u64::to_be_bytes).concat()).unwrap();
    fs::write(dir.path().join("zfs-be"), [1u32, 2].map(u32::to_be_bytes).concat()).unwrap();
    fs::write(dir.path().join("apfs"), [0; 4088]).unwrap();
    fs::write(dir.path().join("text"), "abcde").unwrap();
    let four = "0000000000000003:0000000000000004:0000000000000005:0000000000000006";
    let two = "0000000000000004:0000000000000006:0000000000000005:0000000000000008";
    for (algorithm, file, sum) in [
        ("fletcher4", "zfs", four),
        ("fletcher4-byteswap", "zfs-be", four),
        ("fletcher2", "pairs", two),
        ("fletcher2-byteswap", "pairs-be", two),
        ("fletcher64-apfs", "apfs", "ffffffffffffffff"),
        ("fletcher16", "text", "c8f0"),
        ("fletcher32", "text", "f04fc729"),
        ("fletcher64", "text", "c8c6c527646362c6"),
    ] {
        let said = succeeded(run(dir.path(), &format!("checksum --algorithm {algorithm} {file}")));
        assert_eq!(said, format!("{sum}  {file}\n"));
    }
}

#[test]
fn files_are_read_in_pieces_and_printed_in_order() {
    let dir = TempDir::new().unwrap();
    let mut expected = String::new();
    for (k, len) in [0, 4, (256 << 10) - 4, 256 << 10, (1 << 20) + 20].into_iter().enumerate() {
        let bytes = random(k as u64, len);
        fs::write(dir.path().join(k.to_string()), &bytes).unwrap();
        let words = fletcher::fletcher4(&bytes).unwrap().map(|word| format!("{word:016x}"));
        expected += &format!("{}  {k}\n", words.join(":"));
    }
    assert_eq!(succeeded(run(dir.path(), "checksum -a fletcher4 0 1 2 3 4")), expected);
}

#[test]
fn standard_input_is_read_whatever_its_pieces() {
    for script in [
        "printf abcde | \"$L\" checksum -a fletcher32",
        "(printf abc; sleep 0.1; printf de) | \"$L\" checksum -a fletcher32 -",
    ] {
        assert_eq!(succeeded(shell(Path::new("."), script)), "f04fc729  -\n");
    }
}

#[test]
fn files_that_fail_are_named_and_the_others_are_summed() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("good"), [0; 8]).unwrap();
    fs::write(dir.path().join("odd"), [0; 5]).unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    let output = run(dir.path(), "checksum --algorithm fletcher4 missing odd dir good");
    assert_eq!(output.status.code(), Some(1));
    let zeros = "0000000000000000:0000000000000000:0000000000000000:0000000000000000";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{zeros}  good\n"));
    let said = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].starts_with("lanesmith: missing: No such file"), "{said}");
    assert_eq!(lines[1], "lanesmith: odd: fletcher4: 5 bytes are not a whole number of words of 4 bytes");
    assert!(lines[2].starts_with("lanesmith: dir: cannot be read: Is a directory"), "{said}");
}

#[test]
fn an_unknown_algorithm_is_refused_with_the_known_ones() {
    let said = failed(run(Path::new("."), "checksum --algorithm fletcher8 x"), 2);
    assert!(said.contains("fletcher4-byteswap") && said.contains("fletcher64-apfs"), "{said}");
    failed(run(Path::new("."), "checksum x"), 2);
}

#[test]
fn standard_output_that_is_full_or_gone() {
    if cfg!(target_os = "linux") {
        let output = shell(Path::new("."), "printf abcd | \"$L\" checksum -a fletcher4 > /dev/full");
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stderr.starts_with(b"lanesmith: standard output: No space left"));
    }
    let mut child = lanesmith()
        .args(["checksum", "-a", "fletcher16", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
}
