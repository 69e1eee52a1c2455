//! Why code could not be published.

use core::fmt;
use std::io;

use super::{Backing, CHUNK, JIT_VARIABLE};

/// Why code could not be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaError {
    /// The environment turned executable memory off.
    Off,
    /// There is no support for executable memory on this operating system or architecture.
    Unsupported,
    /// There was nothing to publish.
    Empty,
    /// The code is larger than a chunk.
    TooLarge {
        /// Its length.
        bytes: usize,
    },
    /// The arena has mapped all the chunks that it may, and none of them has room.
    Full {
        /// Bytes that it may map.
        limit: usize,
    },
    /// The system refused every backing.
    Refused {
        /// What was tried, in order, at most one per backing.
        attempts: [Option<Attempt>; Backing::ALL.len()],
    },
    /// The system refused to make a page executable that it had agreed to before.
    Reprotect {
        /// The error number.
        errno: i32,
    },
}

impl ArenaError {
    /// Whether the same publish may succeed later: memory was short, not forbidden.
    pub fn is_transient(&self) -> bool {
        let shortage = |errno: i32| io::Error::from_raw_os_error(errno).kind() == io::ErrorKind::OutOfMemory;
        match self {
            ArenaError::Refused { attempts } => attempts.iter().flatten().any(|attempt| shortage(attempt.errno)),
            ArenaError::Reprotect { errno } => shortage(*errno),
            _ => false,
        }
    }
}

/// A backing that the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The backing.
    pub backing: Backing,
    /// The system call that failed.
    pub call: &'static str,
    /// The error number.
    pub errno: i32,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.backing, self.call, io::Error::from_raw_os_error(self.errno))
    }
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArenaError::Off => write!(f, "executable memory is turned off by {JIT_VARIABLE}"),
            ArenaError::Unsupported => f.write_str("no executable memory on this platform"),
            ArenaError::Empty => f.write_str("there is no code to publish"),
            ArenaError::TooLarge { bytes } => write!(f, "the code has {bytes} bytes, at most {CHUNK} can be published"),
            ArenaError::Full { limit } => write!(f, "the limit of {limit} bytes of executable memory is reached"),
            ArenaError::Refused { attempts } => {
                f.write_str("the system refuses executable memory")?;
                attempts.iter().flatten().enumerate().try_for_each(|(i, attempt)| {
                    let separator = if i == 0 { ": " } else { "; " };
                    write!(f, "{separator}{attempt}")
                })
            }
            ArenaError::Reprotect { errno } => {
                write!(f, "a page cannot be made executable: {}", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl core::error::Error for ArenaError {}
