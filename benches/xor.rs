//! XOR kernels against the Linux kernel's loops and against the machine's load limit, interleaved in one process.
//!
//! `cargo bench --bench xor -- [--sources 3,5,7] [--sizes 512,4096] [--overwrite] [--cold] [--rounds N]
//! [--tier T] [--variant unroll=8,head=off]`
//!
//! `cargo bench --bench xor -- --latency`: how long the first call for a source count takes.
//!
//! Every row is checked against the reference first. Cycles are medians; `ratio` is paired with `linux-avx512` (or the
//! widest Linux form that this CPU can run) of the same round, `limit` is the load-only loop's cycles over the row's.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use lanesmith::codegen::plan::xor::XorTuning;
use lanesmith::codegen::registry::linux_options;
use lanesmith::codegen::spec::{Destination, Strategy, XorOptions, XorSpec};
use lanesmith::codegen::target::Tier;
use lanesmith::cpu::{Cpu, XOR};
use lanesmith::reference::xor as reference;
use lanesmith::xor::{self, RawXor, XorKernel};
use lanesmith_measure::limits::{Loads, Width};
use lanesmith_measure::{Buffers, Interleaved, Layout, Options, Row, pin_to_core};

struct Arguments {
    sources: Vec<usize>,
    sizes: Vec<usize>,
    destination: Destination,
    tiers: Vec<Tier>,
    extra: Vec<(String, XorOptions, XorTuning)>,
    options: Options,
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut a = Arguments {
        sources: vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 23, 31, 63],
        sizes: vec![512, 1024, 2048, 4096, 16384, 65536, 1 << 20],
        destination: Destination::Accumulate,
        tiers: Vec::new(),
        extra: Vec::new(),
        options: Options::default(),
    };
    let list = |s: Option<String>| -> Result<Vec<usize>, Box<dyn Error>> {
        Ok(s.ok_or("a list is missing")?.split(',').map(str::parse).collect::<Result<_, _>>()?)
    };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "--sources" => a.sources = list(args.next())?,
            "--sizes" => a.sizes = list(args.next())?,
            "--overwrite" => a.destination = Destination::Overwrite,
            "--cold" => a.options.cold = true,
            "--rounds" => a.options.rounds = args.next().ok_or("a number is missing")?.parse()?,
            "--tier" => a.tiers.push(args.next().ok_or("a tier is missing")?.parse()?),
            "--variant" => {
                let name = args.next().ok_or("a variant is missing")?;
                let (options, tuning) = variant(&name)?;
                a.extra.push((name, options, tuning));
            }
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(a)
}

/// Options from `key=value,key=value`.
fn variant(text: &str) -> Result<(XorOptions, XorTuning), Box<dyn Error>> {
    let mut options = XorOptions::default();
    let mut tuning = XorTuning::DEFAULT;
    for pair in text.split(',') {
        let (key, value) = pair.split_once('=').ok_or("a variant is a list of key=value")?;
        match key {
            "unroll" => options.unroll = Some(value.parse()?),
            "strategy" => options.strategy = value.parse()?,
            "merge" => options.merge = value.parse()?,
            "head" => options.head = value.parse()?,
            "length" => options.length = value.parse()?,
            "store" => options.store = value.parse()?,
            "aligned" => options.aligned = value.parse()?,
            "multiple_of" => options.multiple_of = value.parse()?,
            "tuning.unroll_vectors" => tuning.unroll_vectors = value.parse()?,
            "tuning.unroll_operands" => tuning.unroll_operands = value.parse()?,
            "tuning.resident_sources" => tuning.resident_sources = value.parse()?,
            "tuning.block" => tuning.block = value.parse()?,
            "tuning.group" => tuning.group = value.parse()?,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok((options, tuning))
}

/// The Linux way: groups of up to four sources, each a pass over the whole destination.
struct Linux {
    four: RawXor,
    rest: RawXor,
}

impl Linux {
    fn new(tier: Tier, sources: usize) -> Result<Linux, Box<dyn Error>> {
        let entry = |n| -> Result<RawXor, Box<dyn Error>> {
            let spec = XorSpec::with(n, linux_options(Destination::Accumulate))?;
            Ok(XorKernel::compile_for(&spec, tier)?.entry().ok_or("a single pass was expected")?)
        };
        Ok(Linux { four: entry(4)?, rest: entry(sources.saturating_sub(1) % 4 + 1)? })
    }

    fn accumulate(&self, dest: &mut [u8], sources: &[*const u8]) {
        for group in sources.chunks(4) {
            let entry = if group.len() == 4 { self.four } else { self.rest };
            // SAFETY: callers give 64-byte aligned buffers whose length is a multiple of 512, as many as the group has.
            unsafe { entry(dest.as_mut_ptr(), group.as_ptr(), 0, dest.len()) };
        }
    }
}

fn compare(a: &Arguments, linux: Tier, n: usize, len: usize, layout: Layout) -> Result<(), Box<dyn Error>> {
    // What a kernel must load: an accumulating one the destination too. Another buffer stands for it.
    let extra = Buffers::new(1, len, layout);
    let mut buffers = Buffers::new(n, len, layout);
    let (dest, sources) = buffers.dest_and_sources();
    let pointers: Vec<*const u8> = sources.iter().map(|s| s.as_ptr()).collect();
    let bytes = n * len;
    let mut rows: Vec<Row<'_, &mut [u8]>> = Vec::new();

    let mut expected = dest.to_vec();
    reference::accumulate(&mut expected, &sources);
    let aligned = layout != Layout::Offset1 && len.is_multiple_of(512);
    if aligned {
        let kernel = Linux::new(linux, n)?;
        // A destination of the same shape and contents.
        let mut copy = Buffers::new(n, len, layout);
        let got = copy.dest_and_sources().0;
        kernel.accumulate(got, &pointers);
        assert!(got == expected, "linux-{linux}, {n} sources of {len} bytes");
        let pointers = &pointers;
        rows.push(Row::with(format!("linux-{linux}"), bytes, move |dest: &mut &mut [u8]| {
            kernel.accumulate(dest, pointers);
        }));
    }
    let mut kernels = Vec::new();
    let base = XorOptions { destination: a.destination, ..XorOptions::default() };
    for tier in &a.tiers {
        let single = XorOptions { strategy: Strategy::Single, ..base };
        kernels.push((format!("single-{tier}"), XorKernel::compile_for(&XorSpec::with(n, single)?, *tier)?));
    }
    for (name, options, tuning) in &a.extra {
        let options = XorOptions { destination: a.destination, ..*options };
        if let Ok(kernel) = XorKernel::compile_tuned(&XorSpec::with(n, options)?, a.tiers[a.tiers.len() - 1], tuning) {
            kernels.push((name.clone(), kernel));
        }
    }
    for (name, kernel) in kernels {
        let mut copy = Buffers::new(n, len, layout);
        let got = copy.dest_and_sources().0;
        kernel.run(got, &sources)?;
        let mut expected = dest.to_vec();
        match a.destination {
            Destination::Accumulate => reference::accumulate(&mut expected, &sources),
            _ => reference::parity(&mut expected, &sources),
        }
        assert!(got == expected, "{name}, {n} sources of {len} bytes");
        let (pointers, sources) = (&pointers, &sources);
        rows.push(Row::with(name, bytes, move |dest: &mut &mut [u8]| match kernel.entry() {
            // SAFETY: the kernel promises nothing, the pointers are those of `sources`, and `dest` is disjoint.
            Some(entry) => drop(black_box(unsafe { entry(dest.as_mut_ptr(), pointers.as_ptr(), 0, dest.len()) })),
            None => drop(black_box(kernel.run(dest, sources))),
        }));
    }
    let accumulate = a.destination == Destination::Accumulate;
    let list = &sources;
    rows.push(Row::with("auto", bytes, move |dest: &mut &mut [u8]| {
        let done = if accumulate { xor::accumulate(dest, list) } else { xor::parity(dest, list) };
        let _ = black_box(done);
    }));
    let mut all = sources.clone();
    if accumulate {
        all.extend(extra.sources());
    }
    let loads = Loads::new(Width::widest(), &all);
    let stores = loads.clone();
    rows.push(Row::with("limit-load", bytes, move |_: &mut &mut [u8]| {
        black_box(loads.load());
    }));
    rows.push(Row::with("limit-load-store", bytes, move |dest: &mut &mut [u8]| {
        black_box(stores.load_store(dest));
    }));

    let mut context = dest;
    let report = Interleaved::new(rows).run_with(&mut context, &a.options);
    let limit = report.row("limit-load").and_then(|r| r.cycles).unwrap_or(f64::NAN);
    for row in &report.rows {
        let cycles = row.cycles.unwrap_or(f64::NAN);
        println!(
            "{n:4} {len:8} {:9} {:18} {cycles:10.1} {:8.2} {:7.3} {:6.3}",
            layout.name(),
            row.name,
            row.gb_per_s(),
            row.ratio.median,
            limit / cycles
        );
    }
    Ok(())
}

/// The time from a source count never used before to its first result, and of the next call.
fn latency() -> Result<(), Box<dyn Error>> {
    let mut first = Vec::new();
    let mut second = Vec::new();
    let begun = Instant::now();
    XorKernel::compile(&XorSpec::new(1)?)?;
    println!("first kernel of the process: {:.1} us", begun.elapsed().as_secs_f64() * 1e6);
    for n in 1..=64 {
        let mut buffers = Buffers::new(n, 64, Layout::Staggered);
        let (dest, sources) = buffers.dest_and_sources();
        for times in [&mut first, &mut second] {
            let begun = Instant::now();
            xor::accumulate(dest, &sources)?;
            times.push(begun.elapsed().as_secs_f64() * 1e6);
        }
    }
    for (name, times) in [("first", &mut first), ("second", &mut second)] {
        let all: Vec<String> = times.iter().map(|t| format!("{t:.1}")).collect();
        println!("{name} calls for 1..=64 sources, us: {}", all.join(" "));
        times.sort_by(f64::total_cmp);
        println!("{name} call: median {:.2} us, worst {:.2} us", times[times.len() / 2], times[times.len() - 1]);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    if env::args().any(|a| a == "--latency") {
        return latency();
    }
    let mut a = arguments()?;
    let choice = Cpu::get().choose(&XOR);
    let legal: Vec<Tier> = choice.legal().filter(|t| choice.next_legal_at_or_below(*t) == Some(*t)).collect();
    let linux = *legal.iter().rfind(|t| **t != Tier::Avx512Vl256).ok_or("no tier is legal here")?;
    for tier in Tier::XOR.iter().filter(|t| !legal.contains(t)) {
        println!("skipped: {tier} cannot be used here");
    }
    if a.tiers.is_empty() {
        a.tiers.extend(choice.tier);
    }
    match pin_to_core() {
        Ok(core) => println!("pinned to core {core}; destination={}", a.destination),
        Err(error) => println!("not pinned: {error}"),
    }
    println!(
        "{:>4} {:>8} {:9} {:18} {:>10} {:>8} {:>7} {:>6}",
        "srcs", "bytes", "layout", "row", "cycles", "GB/s", "ratio", "limit"
    );
    for &n in &a.sources {
        for &len in &a.sizes {
            for layout in [Layout::Aligned, Layout::Staggered] {
                compare(&a, linux, n, len, layout)?;
            }
        }
    }
    Ok(())
}
