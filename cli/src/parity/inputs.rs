//! The files that are read: opened within the limit of open files, and the same files from first to last.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Descriptors left to everything but the inputs: the standard streams, the output, its directory, executable memory,
/// an input that is opened for one chunk, and what the parent process left open.
const RESERVED: u64 = 32;

/// Why an input cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("{}: {error}", .path.display())]
    Open { path: PathBuf, error: io::Error },
    #[error("{}: cannot be read: {error}", .path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{}: is a {kind}, not a regular file", .path.display())]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("{}: has {len} bytes, but {} has {first_len} (--zero-extend takes unequal lengths)",
        .path.display(), .first.display())]
    Unequal { path: PathBuf, len: u64, first: PathBuf, first_len: u64 },
    #[error("{}: changed while it was read", .path.display())]
    Changed { path: PathBuf },
}

/// Which lengths are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    Equal,
    ZeroExtended,
}

/// Which file this is, and what it would take to notice a change of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// One file.
#[derive(Debug)]
pub(crate) struct Input {
    path: PathBuf,
    identity: Identity,
    /// Kept open, unless the limit of open files is too low for that.
    file: Option<File>,
}

impl Input {
    pub(crate) fn len(&self) -> u64 {
        self.identity.len
    }

    /// Fills `buffer` from `offset`, which must not reach beyond the file's length.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), InputError> {
        self.with_file(|file| file.read_exact_at(buffer, offset).map_err(|error| self.read_error(error)))
    }

    /// Fails if the file is not what it was when it was opened first.
    fn check_unchanged(&self) -> Result<(), InputError> {
        self.with_file(|file| {
            let metadata = file.metadata().map_err(|error| self.read_error(error))?;
            // Some files, such as those of /proc, have more to read than their length says.
            let beyond = file.read_at(&mut [0], self.len()).map_err(|error| self.read_error(error))?;
            if Identity::of(&metadata) == self.identity && beyond == 0 { Ok(()) } else { Err(self.changed()) }
        })
    }

    fn with_file<T>(&self, f: impl FnOnce(&File) -> Result<T, InputError>) -> Result<T, InputError> {
        match &self.file {
            Some(file) => f(file),
            None => {
                let (file, identity) = open(&self.path)?;
                if identity == self.identity { f(&file) } else { Err(self.changed()) }
            }
        }
    }

    fn changed(&self) -> InputError {
        InputError::Changed { path: self.path.clone() }
    }

    fn read_error(&self, error: io::Error) -> InputError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.changed(),
            _ => InputError::Read { path: self.path.clone(), error },
        }
    }
}

/// All the files.
#[derive(Debug)]
pub(crate) struct Inputs {
    files: Vec<Input>,
}

impl Inputs {
    /// Opens every file and compares their lengths.
    pub(crate) fn open(paths: &[PathBuf], lengths: Lengths) -> Result<Inputs, InputError> {
        let keep = raise_limit_of_open_files().saturating_sub(RESERVED);
        let mut files: Vec<Input> = Vec::with_capacity(paths.len());
        for path in paths {
            let (file, identity) = open(path)?;
            if let Some(first) = files.first()
                && lengths == Lengths::Equal
                && first.len() != identity.len
            {
                return Err(InputError::Unequal {
                    path: path.clone(),
                    len: identity.len,
                    first: first.path.clone(),
                    first_len: first.len(),
                });
            }
            let file = ((files.len() as u64) < keep).then_some(file);
            files.push(Input { path: path.clone(), identity, file });
        }
        Ok(Inputs { files })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Input> {
        self.files.iter()
    }

    /// The length of the longest file: that of the XOR.
    pub(crate) fn longest(&self) -> u64 {
        self.files.iter().map(Input::len).max().unwrap_or(0)
    }

    /// The bytes of all files.
    pub(crate) fn total(&self) -> u64 {
        self.files.iter().map(Input::len).sum()
    }

    /// The input that is the same file as the one with `metadata`.
    pub(crate) fn same_file(&self, metadata: &Metadata) -> Option<&Path> {
        let (device, inode) = (metadata.dev(), metadata.ino());
        let same = |input: &&Input| (input.identity.device, input.identity.inode) == (device, inode);
        self.files.iter().find(same).map(|input| input.path.as_path())
    }

    /// Fails if any file is not what it was when it was opened first.
    pub(crate) fn check_unchanged(&self) -> Result<(), InputError> {
        self.files.iter().try_for_each(Input::check_unchanged)
    }
}

/// Opens a regular file for reading.
fn open(path: &Path) -> Result<(File, Identity), InputError> {
    let error = |error| InputError::Open { path: path.to_path_buf(), error };
    let regular = |metadata: &Metadata| match kind(metadata.file_type()) {
        None => Ok(()),
        Some(kind) => Err(InputError::NotAFile { path: path.to_path_buf(), kind }),
    };
    // Asked before opening, because opening a device can have effects of its own; and again afterwards, because the
    // path may have been given to another file meanwhile.
    regular(&fs::metadata(path).map_err(error)?)?;
    // Without O_NONBLOCK the second case would wait for the other end of a FIFO.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(error)?;
    let metadata = file.metadata().map_err(error)?;
    regular(&metadata)?;
    Ok((file, Identity::of(&metadata)))
}

/// What a file is called that is not a regular one.
pub(super) fn kind(file_type: FileType) -> Option<&'static str> {
    match file_type {
        t if t.is_file() => None,
        t if t.is_dir() => Some("directory"),
        t if t.is_fifo() => Some("FIFO"),
        t if t.is_socket() => Some("socket"),
        t if t.is_block_device() => Some("block device"),
        t if t.is_char_device() => Some("character device"),
        _ => Some("special file"),
    }
}

/// Raises the soft limit of open files to the hard one, and returns the limit that is then in force.
fn raise_limit_of_open_files() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live local of the type that the call writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return 0;
    }
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: the pointer is to a live local of the type that the call reads.
    let done = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } == 0;
    if done { raised.rlim_cur } else { limit.rlim_cur }
}
