//! The interleaved timing harness of lanesmith's benchmarks.
//!
//! Two variants timed one after the other are compared across a change of clock, of cache contents and of neighbours.
//! Here all variants of a comparison run in one process, on one core, in short slices and in shuffled order, so that
//! whatever disturbs one disturbs all; the figure to quote is the *paired ratio*, the median over rounds of the
//! baseline's time divided by the row's time in the same round.
//!
//! ```
//! use lanesmith_measure::{Buffers, Interleaved, Layout, Options, Row};
//!
//! let mut buffers = Buffers::new(2, 4096, Layout::Aligned);
//! let mut operands = buffers.dest_and_sources();
//! let rows = vec![
//!     Row::with("copy", 4096, |(dest, sources): &mut (&mut [u8], Vec<&[u8]>)| dest.copy_from_slice(sources[0])),
//!     Row::with("fill", 4096, |(dest, _): &mut (&mut [u8], Vec<&[u8]>)| dest.fill(7)),
//! ];
//! let report = Interleaved::new(rows).run_with(&mut operands, &Options::smoke());
//! println!("{report}");
//! assert_eq!(report.rows.len(), 2);
//! ```
//!
//! The caller checks that every row computes the right thing *before* it is timed; this crate only measures. Call
//! [`pin_to_core`] first, and print [`core_clock_ghz`] and the [`limits`] beside any result: cycles mean little
//! without the clock they were counted by, and a speed means little without the machine's own bound.

mod buffers;
mod clock;
mod interleaved;
pub mod limits;
mod pin;
mod shuffle;
mod stats;

pub use buffers::{Buffers, L1Evictor, Layout, PAGE};
pub use clock::{core_clock_ghz, now_ticks, ticks_per_ns};
pub use interleaved::{Interleaved, Options, Report, Row, Sample};
pub use pin::pin_to_core;
pub use shuffle::XorShift;
pub use stats::{Spread, paired_ratio, percentile};
