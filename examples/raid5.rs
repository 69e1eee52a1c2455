//! A RAID-5 array in a directory: stripes a file over disks, loses one, and gets everything back.
//!
//! ```text
//! cargo run --release --example raid5 -- [FILE [DATA_DISKS [LOST]]]
//! ```
//!
//! `FILE` is any file (default: this program's own executable), `DATA_DISKS` the number of data disks N (default 5; the
//! array has N + 1), `LOST` the number of the disk that fails (default 1).
//!
//! The layout is left-symmetric with rotating parity, the default of `mdadm`. With `d` = N + 1 disks, stripe `s` has its
//! parity on disk `N − s mod d`, and its data chunk `i` on disk `(parity + 1 + i) mod d`, so that consecutive chunks of the
//! file are on consecutive disks also where one stripe ends and the next begins. Source: the md driver of Linux,
//! `drivers/md/raid5.c`, `raid5_compute_sector`, case `ALGORITHM_LEFT_SYMMETRIC`.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lanesmith::codegen::spec::Destination;
use lanesmith::xor;

/// Bytes of a chunk.
const CHUNK: usize = 64 * 1024;

/// Left-symmetric RAID-5.
#[derive(Clone, Copy)]
struct Layout {
    data_disks: usize,
}

impl Layout {
    fn disks(self) -> usize {
        self.data_disks + 1
    }

    /// The disk that has the parity of `stripe`.
    fn parity(self, stripe: usize) -> usize {
        self.data_disks - stripe % self.disks()
    }

    /// The disk that has data chunk `i` of `stripe`.
    fn data(self, stripe: usize, i: usize) -> usize {
        (self.parity(stripe) + 1 + i) % self.disks()
    }

    /// What `disk` has of `stripe`, for a reader: `P`, or `D` and the number of the file's chunk.
    fn name(self, stripe: usize, disk: usize) -> String {
        match (0..self.data_disks).find(|&i| self.data(stripe, i) == disk) {
            Some(i) => format!("{:>6}", format!("D{}", stripe * self.data_disks + i)),
            None => format!("{:>6}", "P"),
        }
    }
}

/// One chunk of every disk: a stripe in memory.
struct Stripe {
    chunks: Vec<Vec<u8>>,
}

impl Stripe {
    fn new(layout: Layout) -> Stripe {
        Stripe { chunks: vec![vec![0; CHUNK]; layout.disks()] }
    }

    /// Makes the chunk of `disk` the XOR of all the others. This is how parity is made, and also how a lost chunk, of
    /// data or of parity, comes back: the XOR of a whole stripe is zero.
    fn complete(&mut self, disk: usize) -> Result<(), xor::Error> {
        let mut chunk = std::mem::take(&mut self.chunks[disk]);
        let others: Vec<&[u8]> = self.others(disk).map(Vec::as_slice).collect();
        let done = xor::parity(&mut chunk, &others);
        self.chunks[disk] = chunk;
        done
    }

    fn is_consistent(&self) -> Result<bool, xor::Error> {
        let all: Vec<&[u8]> = self.chunks.iter().map(Vec::as_slice).collect();
        xor::check(&all)
    }

    fn others(&self, disk: usize) -> impl Iterator<Item = &Vec<u8>> {
        self.chunks.iter().enumerate().filter(move |(k, _)| *k != disk).map(|(_, chunk)| chunk)
    }
}

/// An array whose disks are files; a lost disk is `None`.
struct Array {
    layout: Layout,
    disks: Vec<Option<File>>,
    stripes: usize,
    len: u64,
}

impl Array {
    /// Writes `file` to new disks in `directory`, the last stripe filled up with zeros.
    fn create(directory: &Path, layout: Layout, file: &mut File) -> Result<Array, Box<dyn Error>> {
        let mut disks = Vec::new();
        for k in 0..layout.disks() {
            disks.push(Some(new_disk(&disk_path(directory, k))?));
        }
        let mut array = Array { layout, disks, stripes: 0, len: 0 };
        let mut stripe = Stripe::new(layout);
        loop {
            let mut read = 0;
            for i in 0..layout.data_disks {
                let chunk = &mut stripe.chunks[layout.data(array.stripes, i)];
                let n = fill(file, chunk)?;
                chunk[n..].fill(0);
                read += n;
            }
            if read == 0 {
                return Ok(array);
            }
            stripe.complete(layout.parity(array.stripes))?;
            for (disk, chunk) in array.disks.iter().zip(&stripe.chunks) {
                write_chunk(present(disk)?, array.stripes, chunk)?;
            }
            array.stripes += 1;
            array.len += read as u64;
        }
    }

    /// Reads one stripe; the chunk of a lost disk is made from the others.
    fn read(&self, number: usize, stripe: &mut Stripe) -> Result<(), Box<dyn Error>> {
        for (disk, chunk) in self.disks.iter().zip(&mut stripe.chunks) {
            if let Some(disk) = disk {
                read_chunk(disk, number, chunk)?;
            }
        }
        if let Some(lost) = self.disks.iter().position(Option::is_none) {
            stripe.complete(lost)?;
        }
        Ok(())
    }

    /// Compares every byte with `file`.
    fn compare(&self, file: &mut File) -> Result<(), Box<dyn Error>> {
        let mut stripe = Stripe::new(self.layout);
        let mut expected = vec![0; CHUNK];
        let mut at = 0;
        for number in 0..self.stripes {
            self.read(number, &mut stripe)?;
            for i in 0..self.layout.data_disks {
                let n = fill(file, &mut expected)?;
                let chunk = &stripe.chunks[self.layout.data(number, i)];
                if let Some(k) = (0..n).find(|&k| chunk[k] != expected[k]) {
                    return Err(format!("byte {} differs", at + k as u64).into());
                }
                at += n as u64;
            }
        }
        if at == self.len { Ok(()) } else { Err(format!("{at} bytes compared of {}", self.len).into()) }
    }

    /// Fills a new disk in the place of a lost one.
    fn rebuild(&mut self, lost: usize, replacement: File) -> Result<(), Box<dyn Error>> {
        let mut stripe = Stripe::new(self.layout);
        for number in 0..self.stripes {
            self.read(number, &mut stripe)?;
            write_chunk(&replacement, number, &stripe.chunks[lost])?;
        }
        self.disks[lost] = Some(replacement);
        Ok(())
    }

    /// Checks the parity of every stripe.
    fn scrub(&self) -> Result<(), Box<dyn Error>> {
        let mut stripe = Stripe::new(self.layout);
        for number in 0..self.stripes {
            self.read(number, &mut stripe)?;
            if !stripe.is_consistent()? {
                return Err(format!("stripe {number} is not consistent").into());
            }
        }
        Ok(())
    }
}

fn present(disk: &Option<File>) -> io::Result<&File> {
    disk.as_ref().ok_or_else(|| io::Error::other("the disk is lost"))
}

fn disk_path(directory: &Path, k: usize) -> PathBuf {
    directory.join(format!("disk{k}"))
}

fn new_disk(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).open(path)
}

fn read_chunk(mut disk: &File, number: usize, chunk: &mut [u8]) -> io::Result<()> {
    disk.seek(SeekFrom::Start((number * CHUNK) as u64))?;
    disk.read_exact(chunk)
}

fn write_chunk(mut disk: &File, number: usize, chunk: &[u8]) -> io::Result<()> {
    disk.seek(SeekFrom::Start((number * CHUNK) as u64))?;
    disk.write_all(chunk)
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("raid5: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut args = env::args_os().skip(1);
    let path = args.next().map_or_else(env::current_exe, |path| Ok(path.into()))?;
    let mut number = |default: usize| -> Result<usize, Box<dyn Error>> {
        Ok(args.next().map_or(Ok(default), |n| n.to_string_lossy().parse())?)
    };
    let layout = Layout { data_disks: number(5)? };
    let lost = number(1)?;
    if layout.data_disks == 0 || lost >= layout.disks() {
        return Err("there must be a data disk, and the lost disk must be one of the array's".into());
    }
    let open = || File::open(&path).map_err(|e| format!("{}: {e}", path.display()));
    let directory = tempfile::tempdir()?;
    let mut out = io::stdout().lock();

    let mut array = Array::create(directory.path(), layout, &mut open()?)?;
    writeln!(out, "file     {}, {} bytes", path.display(), array.len)?;
    writeln!(
        out,
        "array    {} disks, {} stripes of {} data chunks of {CHUNK} bytes",
        layout.disks(),
        array.stripes,
        layout.data_disks
    )?;
    writeln!(out, "kernel   {}", xor::describe(Destination::Overwrite, layout.data_disks, CHUNK)?)?;
    for stripe in 0..array.stripes.min(layout.disks()) {
        let chunks: Vec<String> = (0..layout.disks()).map(|disk| layout.name(stripe, disk)).collect();
        writeln!(out, "stripe {stripe} {}", chunks.join(""))?;
    }
    array.scrub()?;
    array.compare(&mut open()?)?;
    writeln!(out, "healthy  every stripe is consistent; the file reads back byte for byte")?;

    array.disks[lost] = None;
    let kept = directory.path().join("lost");
    fs::rename(disk_path(directory.path(), lost), &kept)?;
    array.compare(&mut open()?)?;
    writeln!(
        out,
        "degraded disk {lost} is lost; the file reads back byte for byte from the other {}",
        layout.data_disks
    )?;

    array.rebuild(lost, new_disk(&disk_path(directory.path(), lost))?)?;
    array.scrub()?;
    array.compare(&mut open()?)?;
    if fs::read(disk_path(directory.path(), lost))? != fs::read(kept)? {
        return Err("the rebuilt disk is not the lost one".into());
    }
    writeln!(
        out,
        "rebuilt  disk {lost} equals the lost one; every stripe is consistent; the file reads back byte for byte"
    )?;
    Ok(())
}
