//! `lanesmith parity` computes, checks and rebuilds.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use common::{failed, failed_in_one_line, files, lanesmith, names, random, run, shell, succeeded};
use tempfile::tempdir;

#[test]
fn parity_of_three_files_is_their_xor() {
    // More than a chunk, and less than a page, and every kind of remainder.
    for len in [1, 63, 64, 4095, 4096, 100_003, 262_144, 262_145, 3_000_001] {
        let dir = tempdir().unwrap();
        let expected = files(dir.path(), &[len; 3]);
        let said = succeeded(run(dir.path(), "parity 0 1 2 -o p"));
        assert!(fs::read(dir.path().join("p")).unwrap() == expected, "{len}");
        let last = said.lines().last().unwrap();
        assert!(last.starts_with("3 sources, ") && last.contains("B/s)") && last.contains("kernel: "), "{last}");
        assert_eq!(names(dir.path()).len(), 4);
    }
}

#[test]
fn one_file_is_copied() {
    let dir = tempdir().unwrap();
    let expected = files(dir.path(), &[10_000]);
    succeeded(run(dir.path(), "parity 0 -o p"));
    assert_eq!(fs::read(dir.path().join("p")).unwrap(), expected);
}

#[test]
fn shorter_files_are_zero_extended_if_asked() {
    let dir = tempdir().unwrap();
    let expected = files(dir.path(), &[100, 0, 262_144, 600_001, 262_145, 600_000]);
    succeeded(run(dir.path(), "parity --zero-extend 0 1 2 3 4 5 -o p"));
    assert!(fs::read(dir.path().join("p")).unwrap() == expected);
    succeeded(run(dir.path(), "parity --zero-extend --check 0 1 2 3 4 5 p"));
}

#[test]
fn unequal_lengths_are_refused_before_anything_is_written() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[100, 100, 99, 101]);
    let said = failed_in_one_line(run(dir.path(), "parity 0 1 2 3 -o p"));
    assert_eq!(said, "lanesmith: 2: has 99 bytes, but 0 has 100 (--zero-extend takes unequal lengths)\n");
    assert_eq!(names(dir.path()).len(), 4);
}

#[test]
fn empty_files_have_an_empty_parity() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[0, 0, 0]);
    assert!(succeeded(run(dir.path(), "parity 0 1 2 -o p")).contains("0 B read"));
    assert_eq!(fs::read(dir.path().join("p")).unwrap(), []);
    succeeded(run(dir.path(), "parity --check 0 1 2 p"));
}

#[test]
fn check_names_the_first_byte_that_differs() {
    let dir = tempdir().unwrap();
    let mut parity = files(dir.path(), &[1_000_000; 4]);
    fs::write(dir.path().join("p"), &parity).unwrap();
    let said = succeeded(run(dir.path(), "parity --check 0 1 2 3 p"));
    assert!(said.starts_with("the XOR of the 5 files is zero\n5 sources, 5.00 MB read"), "{said}");
    assert_eq!(succeeded(run(dir.path(), "parity -q --check 0 1 2 3 p")), "");
    for at in [999_999, 524_288, 524_287, 77, 0] {
        parity[at] ^= 0x10;
        fs::write(dir.path().join("p"), &parity).unwrap();
        let said = failed_in_one_line(run(dir.path(), "parity --check 0 1 2 3 p"));
        assert!(said.ends_with(&format!("the first byte that differs is at offset {at}\n")), "{said}");
    }
}

#[test]
fn a_lost_file_is_rebuilt() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[300_000; 5]);
    succeeded(run(dir.path(), "parity 0 1 2 3 4 -o p"));
    let lost = fs::read(dir.path().join("3")).unwrap();
    fs::remove_file(dir.path().join("3")).unwrap();
    let said = succeeded(run(dir.path(), "parity --rebuild -o 3 0 1 2 4 p"));
    assert!(said.starts_with("rebuilt 3\n5 sources, "), "{said}");
    assert!(fs::read(dir.path().join("3")).unwrap() == lost);
}

#[test]
fn more_files_than_may_be_open_are_read_all_the_same() {
    let dir = tempdir().unwrap();
    let expected = files(dir.path(), &[300_000; 301]);
    // 301 inputs take 204,800 bytes a chunk: two chunks, so that files are opened again. With a limit of 40 only 8 are
    // kept, and with 20 none is.
    for limit in [40, 20, 256, 1024] {
        let script =
            format!("ulimit -n {limit}; \"$L\" parity $(seq 0 300) -o p && \"$L\" parity --check $(seq 0 300) p");
        let said = succeeded(shell(dir.path(), &script));
        assert!(said.contains("301 sources, 90.30 MB"), "{said}");
        let path = dir.path().join("p");
        assert!(fs::read(&path).unwrap() == expected, "{limit}");
        fs::remove_file(path).unwrap();
    }
    let soft = "ulimit -S -n 64; \"$L\" parity $(seq 0 300) -o p";
    succeeded(shell(dir.path(), soft));
    assert!(fs::read(dir.path().join("p")).unwrap() == expected);
}

#[test]
fn the_largest_number_of_files_is_1024() {
    let dir = tempdir().unwrap();
    files(dir.path(), &[5000]);
    succeeded(lanesmith().current_dir(dir.path()).args(["parity", "-o", "p"]).args(["0"; 1024]).output().unwrap());
    assert!(fs::read(dir.path().join("p")).unwrap().iter().all(|byte| *byte == 0));
    let output = lanesmith().current_dir(dir.path()).args(["parity", "-o", "q"]).args(["0"; 1025]).output().unwrap();
    assert_eq!(failed(output, 2), "lanesmith: 1025 files are too many: at most 1024\n");
}

#[test]
fn an_output_that_is_replaced_keeps_its_permission_bits() {
    let dir = tempdir().unwrap();
    let expected = files(dir.path(), &[5000; 2]);
    let path = dir.path().join("p");
    fs::write(&path, "old").unwrap();
    for mode in [0o640, 0o444, 0o751] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        succeeded(run(dir.path(), "parity 0 1 -o p"));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        assert_eq!(fs::read(&path).unwrap(), expected);
    }
    succeeded(shell(dir.path(), "umask 027; \"$L\" parity 0 1 -o new"));
    assert_eq!(fs::metadata(dir.path().join("new")).unwrap().mode() & 0o7777, 0o640);
}

#[test]
fn an_output_behind_a_symbolic_link_is_replaced_there() {
    let dir = tempdir().unwrap();
    let expected = files(dir.path(), &[5000; 2]);
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("sub/p"), "old").unwrap();
    symlink("sub/p", dir.path().join("link")).unwrap();
    succeeded(run(dir.path(), "parity 0 1 -o link"));
    assert!(fs::symlink_metadata(dir.path().join("link")).unwrap().is_symlink());
    assert_eq!(fs::read(dir.path().join("sub/p")).unwrap(), expected);
}

#[test]
fn parity_does_not_depend_on_the_tier() {
    let dir = tempdir().unwrap();
    let expected = files(dir.path(), &[70_001; 17]);
    let settings =
        ["LANESMITH_MAX_ISA=sse2", "LANESMITH_MAX_ISA=avx2", "LANESMITH_MAX_ISA=avx512-256", "LANESMITH_JIT=off"];
    for setting in settings {
        succeeded(shell(dir.path(), &format!("{setting} \"$L\" parity $(seq 0 16) -o p")));
        assert!(fs::read(dir.path().join("p")).unwrap() == expected, "{setting}");
    }
}

#[test]
fn sparse_and_repeated_inputs_are_ordinary() {
    let dir = tempdir().unwrap();
    let bytes = random(9, 3_000_000);
    fs::write(dir.path().join("a"), &bytes).unwrap();
    fs::File::create(dir.path().join("sparse")).unwrap().set_len(3_000_000).unwrap();
    succeeded(run(dir.path(), "parity a sparse a a -o p"));
    assert!(fs::read(dir.path().join("p")).unwrap() == bytes);
}
