//! The kernels that are built with the library serve every call when no code may be made at run time.
#![cfg(all(feature = "std", target_arch = "x86_64"))]

mod common;

use std::process::Command;

use common::{assert_same, before, expected, make_zero, slices, sources};
use lanesmith::codegen::spec::Destination;
use lanesmith::codegen::target::Tier;
use lanesmith::xor;

fn counts() -> impl Iterator<Item = usize> {
    (1..=64).chain([100, 300, 1024])
}

/// Runs in a process whose environment turns the JIT off.
#[test]
#[ignore = "the child of the other tests"]
fn child() {
    for n in counts() {
        for destination in common::DESTINATIONS {
            let text = xor::describe(destination, n, 4096).unwrap().to_string();
            assert!(text.contains("static"), "{destination} of {n} sources: {text}");
        }
        for len in [0, 1, 65, 4100, 70_001].into_iter().filter(|len| n * len < 1_000_000) {
            let mut data = sources(n, len);
            // The first call, and one that finds its kernel.
            for _ in 0..2 {
                let mut dest = before(len);
                xor::parity(&mut dest, &slices(&data)).unwrap();
                let want = expected(Destination::Overwrite, &before(len), &slices(&data));
                assert_same(&dest, &want, || format!("parity of {n} x {len}"));
                dest = before(len);
                xor::accumulate(&mut dest, &slices(&data)).unwrap();
                let want = expected(Destination::Accumulate, &before(len), &slices(&data));
                assert_same(&dest, &want, || format!("accumulate {n} x {len}"));
            }
            make_zero(&mut data);
            assert_eq!(xor::check(&slices(&data)), Ok(true), "{n} x {len}");
            if len > 0 {
                data[n / 2][len - 1] ^= 0x80;
                assert_eq!(xor::check(&slices(&data)), Ok(false), "{n} x {len}");
            }
        }
    }
    #[cfg(feature = "jit")]
    {
        // Who asks for a kernel of his own is told.
        let spec = lanesmith::codegen::spec::XorSpec::new(3).unwrap();
        assert!(matches!(xor::XorKernel::compile(&spec), Err(xor::Error::NoExecutableMemory(_))));
    }
    println!("all static");
}

#[test]
fn they_serve_every_call_on_every_tier() {
    for tier in Tier::XOR {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "child", "--nocapture"])
            .env("LANESMITH_JIT", "off")
            .env("LANESMITH_MAX_ISA", tier.name())
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && out.contains("all static"), "{tier}: {out}\n{child:?}");
    }
}

#[test]
#[cfg(all(feature = "jit", target_os = "linux"))]
fn they_do_not_serve_where_code_may_be_made() {
    let text = xor::describe(Destination::Overwrite, 5, 4096).unwrap().to_string();
    assert!(text.ends_with("compiled at run time"), "{text}");
}
