//! Fletcher-4 kernels against each other and against the machine's load limit, interleaved in one process.
//!
//! `cargo bench --bench fletcher -- [--sizes 4096,16384] [--tier T] [--unroll 1,2,4,8] [--offset N] [--rounds N]`
//!
//! Every row is checked against the scalar recurrence first. A call is a whole checksum: state, steps, the sums over
//! lanes. Speeds are medians; `ratio` is paired with the first row, the `lanes` formulation of the widest tier.

use std::env;
use std::error::Error;
use std::hint::black_box;

use lanesmith::codegen::kernel::fletcher::fold::step;
use lanesmith::codegen::spec::{Algorithm, FletcherOptions, FletcherSpec, Formulation};
use lanesmith::codegen::target::Tier;
use lanesmith::cpu::{Cpu, FLETCHER};
use lanesmith::fletcher_kernel::FletcherKernel;
use lanesmith_measure::limits::{Loads, Width};
use lanesmith_measure::{Buffers, Interleaved, Layout, Options, Row, pin_to_core};

struct Arguments {
    sizes: Vec<usize>,
    tiers: Vec<Tier>,
    unrolls: Vec<Option<u8>>,
    offset: usize,
    options: Options,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut a = Arguments {
        sizes: vec![4096, 16384, 131072],
        tiers: Vec::new(),
        unrolls: vec![None],
        offset: 0,
        options: Options::default(),
    };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--bench" {
            continue;
        }
        let value = args.next().ok_or("a value is missing")?;
        match arg.as_str() {
            "--sizes" => a.sizes = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--tier" => a.tiers.push(value.parse()?),
            "--unroll" => a.unrolls = value.split(',').map(|n| n.parse().map(Some)).collect::<Result<_, _>>()?,
            "--offset" => a.offset = value.parse()?,
            "--rounds" => a.options.rounds = value.parse()?,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(a)
}

/// The recurrence, word by word.
fn scalar(data: &[u8], byteswap: bool) -> [u64; 4] {
    let mut sums = [0; 4];
    for word in data.as_chunks::<4>().0 {
        step(&mut sums, if byteswap { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) }.into());
    }
    sums
}

fn compare(a: &Arguments, len: usize, byteswap: bool) -> Result<(), Box<dyn Error>> {
    let buffers = Buffers::new(1, len + a.offset, Layout::Aligned);
    let data = &buffers.sources()[0][a.offset..];
    let expected = scalar(data, byteswap);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for tier in &a.tiers {
        for formulation in [Formulation::Lanes, Formulation::Split] {
            for &unroll in &a.unrolls {
                let options = FletcherOptions { byteswap, formulation, unroll };
                let kernel = FletcherKernel::compile_for(&FletcherSpec::with(Algorithm::Fletcher4, options)?, *tier)?;
                let suffix = unroll.map_or_else(String::new, |n| format!("-x{n}"));
                let name = format!("{formulation}-{tier}{suffix}");
                assert_eq!(kernel.sum(data), expected, "{name}, {len} bytes");
                rows.push(Row::new(name, len, move || {
                    black_box(kernel.sum(black_box(data)));
                }));
            }
        }
    }
    rows.push(Row::new("scalar", len, move || {
        black_box(scalar(black_box(data), byteswap));
    }));
    let loads = Loads::new(Width::widest(), &[data]);
    rows.push(Row::new("limit-load", len, move || {
        black_box(loads.load());
    }));
    let report = Interleaved::new(rows).run(&a.options);
    println!("{len} bytes, {}", if byteswap { "byteswap" } else { "native" });
    println!("{report}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut a = arguments()?;
    if a.tiers.is_empty() {
        a.tiers.extend(Cpu::get().choose(&FLETCHER).legal());
        a.tiers.reverse();
    }
    match pin_to_core() {
        Ok(core) => println!("pinned to core {core}, data {} bytes after a page boundary", a.offset),
        Err(error) => println!("not pinned: {error}"),
    }
    for &len in &a.sizes {
        for byteswap in [false, true] {
            compare(&a, len, byteswap)?;
        }
    }
    Ok(())
}
