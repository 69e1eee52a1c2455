//! Prints the core clock, and the cycles and bytes per cycle of loading N buffers with and without a store stream.
//!
//! `cargo run --release -p lanesmith-measure --example limits [bytes per buffer] [aligned|staggered|offset1] [cold]`
//!
//! Bytes per cycle count the bytes loaded; the load+store column stores one N-th as many besides.

use lanesmith_measure::limits::{Loads, Width};
use lanesmith_measure::{Buffers, Interleaved, Layout, Options, Row, core_clock_ghz, pin_to_core};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let len = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(4096);
    let named = |layout: &Layout| arguments.iter().any(|argument| argument == layout.name());
    let layout = Layout::ALL.into_iter().find(named).unwrap_or(Layout::Aligned);
    let cold = arguments.iter().any(|argument| argument == "cold");
    match pin_to_core() {
        Ok(core) => println!("pinned to core {core}"),
        Err(error) => println!("not pinned: {error}"),
    }
    let ghz = core_clock_ghz().map_or_else(|| "unknown".to_owned(), |ghz| format!("{ghz:.3} GHz"));
    let cache = if cold { "cold L1" } else { "hot" };
    println!("core clock {ghz}; {len} bytes per buffer, {}, {cache}; cycles (bytes loaded per cycle)", layout.name());

    let widths = Width::available();
    print!("{:>3}", "N");
    for width in &widths {
        print!(" {:>20} {:>20}", format!("load {}", width.name()), format!("load+store {}", width.name()));
    }
    println!(" {:>7}", "GHz");
    for sources in 1..=12 {
        let mut buffers = Buffers::new(sources, len, layout);
        let mut operands = buffers.dest_and_sources();
        let bytes = sources * len;
        let mut rows = Vec::new();
        for &width in &widths {
            let loads = Loads::new(width, &operands.1);
            let stores = loads.clone();
            rows.push(Row::new("load", bytes, move || {
                loads.load();
            }));
            rows.push(Row::with("load+store", bytes, move |(dest, _): &mut (&mut [u8], Vec<&[u8]>)| {
                stores.load_store(dest);
            }));
        }
        let options = Options { rounds: 1000, cold, ..Options::default() };
        let report = Interleaved::new(rows).run_with(&mut operands, &options);
        print!("{sources:>3}");
        for row in &report.rows {
            match (row.cycles, row.bytes_per_cycle()) {
                (Some(cycles), Some(rate)) => print!(" {:>20}", format!("{cycles:.1} ({rate:.1})")),
                _ => print!(" {:>20}", format!("{:.1} ns", row.ns.median)),
            }
        }
        println!(" {:>7}", report.core_ghz.map_or_else(|| "-".to_owned(), |ghz| format!("{ghz:.2}")));
    }
}
