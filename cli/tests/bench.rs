//! `lanesmith bench`: the JSON that scripts read, the tables, and what is refused. How fast anything is, is not tested.

mod common;

use std::collections::HashSet;
use std::path::Path;
use std::process::{Output, Stdio};

use common::{failed, lanesmith, run, shell, succeeded};
use serde_json::Value;

const KEYS: [&str; 16] = [
    "baseline",
    "bytes",
    "cycles",
    "destination",
    "disks",
    "family",
    "fraction_of_limit",
    "gb_per_s_parity",
    "gb_per_s_source",
    "head",
    "implementation",
    "layout",
    "ratio",
    "sources",
    "temperature",
    "threads",
];

const TIERS: [&str; 4] = ["sse2", "avx2", "avx512-256", "avx512"];

fn bench(line: &str) -> Output {
    run(Path::new("."), &format!("bench {line}"))
}

fn objects(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

fn text<'v>(object: &'v Value, key: &str) -> &'v str {
    object[key].as_str().unwrap_or_else(|| panic!("{key} of {object}"))
}

fn number(object: &Value, key: &str) -> f64 {
    object[key].as_f64().unwrap_or_else(|| panic!("{key} of {object}"))
}

/// The implementations that this machine can have, as `lanesmith cpu` sees it, for lengths that the Linux loops take.
fn implementations() -> HashSet<String> {
    let report: Value = serde_json::from_str(&succeeded(run(Path::new("."), "cpu --json"))).unwrap();
    let mut names = HashSet::from(["reference", "static", "limit-load", "limit-load-store"].map(str::to_owned));
    if report["jit"]["backing"].is_null() {
        return names;
    }
    let usable = |tier: &Value| tier["legal"] == true && !text(tier, "verdict").contains("above the allowed");
    for tier in report["families"][0]["tiers"].as_array().unwrap().iter().filter(|tier| usable(tier)) {
        let tier = text(tier, "tier");
        names.insert("auto".to_owned());
        names.insert(format!("single-{tier}"));
        if tier != "avx512-256" {
            names.insert(format!("linux-{tier}"));
        }
    }
    names
}

/// Keys, types, value sets, and what follows from each other.
fn check_shape(object: &Value, threads: u64) {
    let keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, KEYS);
    assert_eq!(object["family"], "xor");
    let implementation = text(object, "implementation");
    let known = ["reference", "static", "auto", "limit-load", "limit-load-store"];
    let of_tier =
        |name: &str| ["linux-", "single-"].iter().any(|p| name.strip_prefix(p).is_some_and(|t| TIERS.contains(&t)));
    assert!(known.contains(&implementation) || of_tier(implementation), "{object}");
    assert!(["overwrite", "accumulate"].contains(&text(object, "destination")), "{object}");
    assert!(["aligned", "staggered", "offset1"].contains(&text(object, "layout")), "{object}");
    assert!(["hot", "cold"].contains(&text(object, "temperature")), "{object}");
    assert!(["on", "off"].contains(&text(object, "head")), "{object}");
    let sources = object["sources"].as_u64().unwrap();
    assert_eq!(object["disks"].as_u64(), Some(sources + 1));
    assert_eq!(object["threads"].as_u64(), Some(threads));
    assert!(object["bytes"].as_u64().unwrap() > 0);
    for key in ["gb_per_s_source", "gb_per_s_parity", "fraction_of_limit"] {
        assert!(number(object, key) > 0.0, "{key} of {object}");
    }
    let per_source = number(object, "gb_per_s_source") / number(object, "gb_per_s_parity") / sources as f64;
    assert!((per_source - 1.0).abs() < 1e-4, "{object}");
    assert!(object["cycles"].is_null() || number(object, "cycles") > 0.0, "{object}");
    assert_eq!(object["baseline"].is_null(), object["ratio"].is_null(), "{object}");
    if object["baseline"].is_string() {
        assert!(text(object, "baseline").starts_with("linux-"), "{object}");
        assert!(number(object, "ratio") > 0.0, "{object}");
        assert!(text(object, "baseline") != implementation || number(object, "ratio") == 1.0, "{object}");
    }
    assert!(implementation != "limit-load" || number(object, "fraction_of_limit") == 1.0, "{object}");
}

#[test]
fn json_has_every_row_of_every_combination_once() {
    let output = bench("xor --quick --json --disks 9,2 --sizes 4096,1000,512");
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    let objects = objects(&succeeded(output));
    objects.iter().for_each(|object| check_shape(object, 1));

    let of = |o: &Value| {
        let place = (o["disks"].as_u64().unwrap(), o["bytes"].as_u64().unwrap());
        (place, ["destination", "layout", "temperature", "head", "implementation"].map(|key| text(o, key).to_owned()))
    };
    let got: HashSet<_> = objects.iter().map(of).collect();
    assert_eq!(got.len(), objects.len(), "a row appears twice");

    let implementations = implementations();
    let mut expected = HashSet::new();
    for disks in [2, 9] {
        for bytes in [512, 1000, 4096] {
            let mut add = |destination: &str, layout: &str, head: &str, implementation: &str| {
                let words = [destination, layout, "hot", head, implementation].map(str::to_owned);
                expected.insert(((disks, bytes), words));
            };
            for implementation in &implementations {
                let planned = implementation == "auto" || implementation.starts_with("single-");
                let head = if planned || implementation == "static" { "on" } else { "off" };
                if bytes != 1000 || !implementation.starts_with("linux-") {
                    for destination in ["overwrite", "accumulate"] {
                        add(destination, "aligned", head, implementation);
                        add(destination, "staggered", head, implementation);
                    }
                }
                let odd = !["linux-", "single-", "static"].iter().any(|name| implementation.starts_with(name));
                if bytes == 4096 && odd {
                    add("overwrite", "offset1", head, implementation);
                    if planned {
                        add("overwrite", "offset1", "off", implementation);
                    }
                }
            }
        }
    }
    assert_eq!(got, expected);

    let widest = ["linux-avx512", "linux-avx2", "linux-sse2"].into_iter().find(|name| implementations.contains(*name));
    for object in &objects {
        let none = object["layout"] == "offset1" || object["bytes"] == 1000;
        assert_eq!(object["baseline"].as_str(), widest.filter(|_| !none), "{object}");
    }
    // What is missing is said, with the reason, and not among the results.
    assert!(implementations.contains("static"), "{implementations:?}");
    assert!(stderr.contains("skipped linux-sse2: 1000 bytes are not a multiple of 512"), "{stderr}");
}

#[test]
fn cold_is_added_to_hot() {
    let objects = objects(&succeeded(bench("--quick --json --disks 4 --sizes 512 --cold")));
    objects.iter().for_each(|object| check_shape(object, 1));
    let cold = objects.iter().filter(|object| object["temperature"] == "cold").count();
    assert!(cold > 0 && cold * 2 == objects.len(), "{cold} of {}", objects.len());
}

#[test]
fn threads_run_together() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 || !cfg!(target_os = "linux") {
        eprintln!("skipped: two threads need two cores");
        return;
    }
    for line in
        ["--quick --json --disks 5 --sizes 4096 --threads 2", "--quick --json --disks 5 --sizes 512 --cold --threads 2"]
    {
        let objects = objects(&succeeded(bench(line)));
        assert!(!objects.is_empty());
        objects.iter().for_each(|object| check_shape(object, 2));
    }
}

#[test]
fn a_row_whose_tier_may_not_be_used_is_listed_with_the_reason() {
    let table = succeeded(shell(Path::new("."), "LANESMITH_MAX_ISA=sse2 \"$L\" bench --quick --disks 3 --sizes 512"));
    for implementation in ["linux-avx2", "linux-avx512", "single-avx2", "single-avx512-256", "single-avx512"] {
        let line = table.lines().find(|line| line.split_whitespace().next() == Some(implementation)).unwrap();
        assert!(line.contains(" skipped: "), "{line}");
    }
    let table = succeeded(shell(Path::new("."), "LANESMITH_JIT=off \"$L\" bench --quick --disks 3 --sizes 512"));
    let auto = table.lines().find(|line| line.starts_with("auto ") && line.contains("skipped")).unwrap();
    assert!(auto.contains("LANESMITH_JIT"), "{auto}");
    assert!(table.contains("\nreference "), "{table}");
    // Those need no executable memory that is made at run time.
    let built_in = table.lines().find(|line| line.starts_with("static ")).unwrap();
    assert!(!built_in.contains("skipped"), "{built_in}");
}

#[test]
fn tables_show_both_meanings_of_speed_within_120_columns() {
    let disks: Vec<String> = (2..=17).map(|disks| disks.to_string()).collect();
    let table = succeeded(bench(&format!("--quick --sizes 4096 --disks {}", disks.join(","))));
    for expected in [
        "source bytes consumed",
        "parity bytes produced",
        "overstate",
        "core clock",
        "== overwrite, 4096 bytes, offset1, hot ==",
    ] {
        assert!(table.contains(expected), "{expected:?} in {table}");
    }
    for implementation in implementations() {
        assert!(table.contains(&format!("\n{implementation} ")), "{implementation} in {table}");
    }
    let longest = table.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(120), "{longest:?}: {table}");
}

#[test]
fn overhead_is_one_object() {
    let objects = objects(&succeeded(bench("overhead --json")));
    let [object] = &objects[..] else { panic!("{objects:?}") };
    let keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["call_64_bytes_cycles", "dispatch_cycles", "family", "first_call_us"]);
    assert_eq!(object["family"], "xor");
    assert!(number(object, "first_call_us") > 0.0);
    assert!(object["call_64_bytes_cycles"].is_null() || number(object, "call_64_bytes_cycles") > 0.0);
    assert!(object["dispatch_cycles"].is_null() || number(object, "dispatch_cycles").is_finite());
    // Without kernels there is nothing to dispatch to.
    let objects = self::objects(&succeeded(shell(Path::new("."), "LANESMITH_JIT=off \"$L\" bench overhead --json")));
    assert!(objects[0]["dispatch_cycles"].is_null(), "{objects:?}");
    let table = succeeded(bench("overhead"));
    for expected in ["first call ", "dispatch ", "call "] {
        assert!(table.contains(&format!("\n{expected}")), "{expected:?} in {table}");
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for line in [
        "--disks 1",
        "--disks 1026",
        "--disks 4,x",
        "--disks 4,",
        "xor --disks 0",
        "--sizes 0",
        "--sizes -1",
        "--sizes 4k",
        "--threads 0",
        "--threads 100000",
        "--disks 1025 --sizes 1073741824",
        "overhead --disks 3",
        "fletcher",
    ] {
        let stderr = failed(bench(line), 2);
        assert!(!stderr.is_empty(), "{line}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_bench() {
    let mut child = lanesmith().args(["bench", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    // Well before all would have been measured.
    assert!(child.wait().unwrap().success());
}

#[test]
fn help_has_examples() {
    for line in ["--help", "xor --help", "overhead --help"] {
        let help = succeeded(bench(line));
        assert!(help.contains("Example:\n  lanesmith bench"), "{line}: {help}");
    }
}
