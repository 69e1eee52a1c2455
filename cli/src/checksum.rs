//! `lanesmith checksum`: Fletcher's checksums of files, streamed, one line each.
//!
//! A file that fails is reported, and the others are still summed.

mod state;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use lanesmith::fletcher;

use crate::args::ChecksumArgs;
use state::State;

/// Bytes of a piece: what is read should still be in a cache when it is summed.
const PIECE: usize = 256 << 10;

/// Why a file has no checksum.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("{}: {error}", .path.display())]
    Open { path: PathBuf, error: io::Error },
    #[error("{}: cannot be read: {error}", .path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{}: {error}", .path.display())]
    Sum { path: PathBuf, error: fletcher::Error },
}

/// Prints a line for every file, gives those that fail to `complain`, and returns whether there were none.
///
/// # Errors
/// If standard output cannot be written to.
pub(crate) fn run(args: &ChecksumArgs, mut complain: impl FnMut(&str)) -> io::Result<bool> {
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    let mut piece = vec![0; PIECE];
    let mut all = true;
    for path in files {
        match sum(path, args, &mut piece) {
            Ok(sum) => match print(&line(&sum, path)) {
                // A reader that has gone away, such as `head`, has what it wanted.
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => break,
                result => result?,
            },
            Err(error) => {
                complain(&error.to_string());
                all = false;
            }
        }
    }
    Ok(all)
}

/// The words of one file's checksum, in hexadecimal.
fn sum(path: &Path, args: &ChecksumArgs, piece: &mut [u8]) -> Result<String, FileError> {
    let mut state = State::new(args.algorithm);
    if path == Path::new("-") {
        read(&mut io::stdin().lock(), path, &progress_bar(0, args.quiet), piece, &mut state)?;
    } else {
        let open_error = |error| FileError::Open { path: path.to_path_buf(), error };
        let mut file = File::open(path).map_err(open_error)?;
        let len = file.metadata().map_err(open_error)?.len();
        read(&mut file, path, &progress_bar(len, args.quiet), piece, &mut state)?;
    }
    state.finish().map_err(|error| FileError::Sum { path: path.to_path_buf(), error })
}

fn read(
    input: &mut dyn Read,
    path: &Path,
    progress: &ProgressBar,
    piece: &mut [u8],
    state: &mut State,
) -> Result<(), FileError> {
    let result = loop {
        match input.read(piece) {
            Ok(0) => break Ok(()),
            Ok(len) => {
                state.update(&piece[..len]);
                progress.inc(len as u64);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(FileError::Read { path: path.to_path_buf(), error }),
        }
    };
    progress.finish_and_clear();
    result
}

/// A bar for `len` bytes; without a length, as that of a pipe, only the count and the rate.
fn progress_bar(len: u64, quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match len {
        0 => (ProgressBar::no_length(), "{decimal_bytes} {decimal_bytes_per_sec}"),
        _ => (ProgressBar::new(len), "{wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}"),
    };
    // A template that does not parse only costs the look of the bar.
    ProgressStyle::with_template(template).map(|style| bar.clone().with_style(style)).unwrap_or(bar)
}

/// `sum  name`. A name with a line feed, a carriage return or a backslash is written with escapes, and the line then
/// begins with a backslash, as that of sha256sum: no name can look like another line.
fn line(sum: &str, path: &Path) -> Vec<u8> {
    let mut name = Vec::new();
    for byte in OsStr::as_bytes(path.as_os_str()) {
        match byte {
            b'\n' => name.extend(b"\\n"),
            b'\r' => name.extend(b"\\r"),
            b'\\' => name.extend(b"\\\\"),
            _ => name.push(*byte),
        }
    }
    let escaped = name.len() != path.as_os_str().len();
    let mark = if escaped { "\\" } else { "" };
    [mark.as_bytes(), sum.as_bytes(), b"  ", &name, b"\n"].concat()
}

fn print(line: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line)?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_look_like_another_line() {
        assert_eq!(line("00", Path::new("a b")), b"00  a b\n");
        assert_eq!(line("00", Path::new("a\n01  b")), b"\\00  a\\n01  b\n");
        assert_eq!(line("00", Path::new("a\\\r")), b"\\00  a\\\\\\r\n");
        let not_unicode = Path::new(OsStr::from_bytes(b"\xFF"));
        assert_eq!(line("00", not_unicode), b"00  \xFF\n");
    }
}
