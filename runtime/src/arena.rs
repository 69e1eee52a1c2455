//! Executable memory: append-only, W^X, safe to share across `fork`, and without a lock.
//!
//! An [`Arena`] is a list of chunks of [`CHUNK`] bytes. [`Arena::publish`] reserves the next 64-byte slots of a chunk,
//! copies a kernel into them and returns the address to call. Slots are never reused and chunks never unmapped, so a
//! returned address stays callable for the life of the process. No address is ever both writable and executable: see
//! [`Backing`] for the ways to arrange that, which are tried in order until the system allows one.
//!
//! # Publishing
//!
//! A slot is written completely before `publish` returns, and a release fence follows the writes. A caller that hands
//! the address to other threads stores it with Release and loads it with Acquire, and the code is visible with it.
//! x86-64 needs no more than that: instruction fetch is coherent with stores by physical address, and nothing can hold
//! stale instructions of a slot that was never executed. Other slots of the same page may be executing meanwhile;
//! slots are a cache line, so no line is written that others execute.
//!
//! # Fork
//!
//! A child inherits the chunks, and with the shared backings it inherits the *same memory*: a publish in the child
//! could overwrite what the parent has published since, and the reverse. So a chunk belongs to the process that mapped
//! it. Its bookkeeping lies in a page of that process which the kernel clears in every child (`MADV_WIPEONFORK`), and
//! which also holds the owner's process id for systems that do not. Either way a child finds a chunk that is not its
//! own, leaves it alone and maps a new one. Inherited kernels stay callable. The writable alias is not inherited at
//! all (`MADV_DONTFORK`).
//!
//! All reservations are made by compare-and-exchange: a fork can leave nothing locked, and a thread that the child does
//! not have can at most have reserved slots of a chunk that the child does not use.
//!
//! # What is not promised
//!
//! With the shared backings, parent and child execute the same pages. Where a child is trusted less than its parent
//! (privilege separation by `fork` alone), use [`Backing::Reprotect`], whose pages are private, or turn the JIT off:
//! a compromised child could ask the kernel for a writable view of an [`Backing::Alias`] chunk.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod chunk;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[path = "arena/unsupported.rs"]
mod chunk;
mod error;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod map;

use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, Ordering, fence};

use chunk::{Head, List};
pub use error::{ArenaError, Attempt};

/// Bytes of a slot: the alignment of published code, and a cache line.
pub const SLOT: usize = 64;
/// Bytes of a chunk, and the largest kernel with its constants that can be published.
pub const CHUNK: usize = 1 << 20;
/// Bytes of chunks that [`Arena::global`] maps at most in one process: about 50,000 XOR kernels.
pub const LIMIT: usize = 16 << 20;
/// The environment variable that turns executable memory off when it is `off` or `0`.
pub const JIT_VARIABLE: &str = "LANESMITH_JIT";

/// A way to have memory that can be filled and executed, but not through one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// A shared anonymous mapping that is executable, and a second view of it that is writable, made by `mremap` with
    /// an old size of zero. Allowed under `PR_SET_MDWE`, and profilers attribute samples in it.
    Alias,
    /// A sealed `memfd` mapped twice, once executable and once writable.
    Memfd,
    /// A private mapping whose pages are filled while writable and then made executable for good. Every publish takes
    /// whole pages. The only one that never has two views of the same memory, and the only one that `PR_SET_MDWE`
    /// refuses.
    Reprotect,
}

impl Backing {
    /// Every backing, in the order in which they are tried.
    pub const ALL: [Backing; 3] = [Backing::Alias, Backing::Memfd, Backing::Reprotect];

    /// The backing's name: `alias`, `memfd` or `reprotect`.
    pub const fn name(self) -> &'static str {
        match self {
            Backing::Alias => "alias",
            Backing::Memfd => "memfd",
            Backing::Reprotect => "reprotect",
        }
    }
}

impl fmt::Display for Backing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How an [`Arena`] gets its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The backings to try, in order.
    pub backings: &'static [Backing],
    /// Bytes of chunks to map at most in one process; rounded down to whole chunks.
    pub limit: usize,
    /// Whether [`JIT_VARIABLE`] can turn the arena off.
    pub obeys_environment: bool,
}

impl Config {
    /// What [`Arena::global`] uses: every backing, [`LIMIT`] bytes, and the environment obeyed.
    pub const DEFAULT: Config = Config { backings: &Backing::ALL, limit: LIMIT, obeys_environment: true };
}

/// What an arena has mapped and used in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The backing of the newest chunk; `None` before the first.
    pub backing: Option<Backing>,
    /// Chunks of this process. Chunks inherited by `fork` are not counted.
    pub chunks: usize,
    /// Bytes of those chunks that hold published code, padding included.
    pub bytes_used: usize,
    /// Bytes of those chunks.
    pub bytes_mapped: usize,
    /// Bytes that this process may map at most.
    pub limit: usize,
}

/// Append-only executable memory.
///
/// An arena is meant to be a `static`: dropping one does not unmap its chunks, because code in them may be executing.
pub struct Arena {
    config: Config,
    chunks: List,
    switch: AtomicU8,
}

const SWITCH_UNREAD: u8 = 0;
const SWITCH_ON: u8 = 1;
const SWITCH_OFF: u8 = 2;

impl Arena {
    /// An arena that has not mapped anything yet.
    pub const fn new(config: Config) -> Arena {
        Arena { config, chunks: List::new(), switch: AtomicU8::new(SWITCH_UNREAD) }
    }

    /// The arena of this process.
    pub fn global() -> &'static Arena {
        static GLOBAL: Arena = Arena::new(Config::DEFAULT);
        &GLOBAL
    }

    /// Copies machine code, with any constants behind it, to executable memory and returns where it is.
    ///
    /// The address is aligned to [`SLOT`] bytes and stays valid and unchanged as long as the process lives, and in
    /// every process forked from it. The bytes must be position-independent. They are not inspected: calling the result
    /// is where the caller vouches for them.
    ///
    /// # Errors
    ///
    /// [`ArenaError::Empty`] and [`ArenaError::TooLarge`] (over [`CHUNK`] bytes) concern the bytes,
    /// [`ArenaError::Full`] the limit, and the others say why there is no executable memory. An error leaves nothing
    /// half published, and other publishes may still succeed.
    pub fn publish(&self, bytes: &[u8]) -> Result<NonNull<u8>, ArenaError> {
        if bytes.is_empty() {
            return Err(ArenaError::Empty);
        }
        if bytes.len() > CHUNK {
            return Err(ArenaError::TooLarge { bytes: bytes.len() });
        }
        self.check_switch()?;
        loop {
            let head = self.chunks.head();
            if let Some(slots) = head.own().find_map(|chunk| chunk.reserve(bytes.len())) {
                let code = slots.fill(bytes)?;
                fence(Ordering::Release);
                return Ok(code);
            }
            self.grow(head)?;
        }
    }

    /// Makes sure that there is executable memory, so that a caller can skip compiling when there is none.
    ///
    /// # Errors
    ///
    /// Why there is none, as [`Arena::publish`] would say.
    pub fn ready(&self) -> Result<Backing, ArenaError> {
        self.check_switch()?;
        loop {
            let head = self.chunks.head();
            if let Some(chunk) = head.own().next() {
                return Ok(chunk.backing());
            }
            self.grow(head)?;
        }
    }

    /// What is mapped and used so far.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats { limit: self.limit(), ..Stats::default() };
        for chunk in self.chunks.head().own() {
            stats.backing.get_or_insert(chunk.backing());
            stats.chunks += 1;
            stats.bytes_used += chunk.used();
            stats.bytes_mapped += CHUNK;
        }
        stats
    }

    /// Adds a chunk to the list that was seen at `head`, unless another thread has added one since.
    fn grow(&self, head: Head) -> Result<(), ArenaError> {
        // Exact even when threads race: a chunk is added only if the list still is the one counted here.
        if (head.own().count() + 1) * CHUNK > self.limit() {
            return Err(ArenaError::Full { limit: self.limit() });
        }
        self.chunks.add(self.config.backings, head)
    }

    const fn limit(&self) -> usize {
        self.config.limit / CHUNK * CHUNK
    }

    fn check_switch(&self) -> Result<(), ArenaError> {
        if !self.config.obeys_environment {
            return Ok(());
        }
        let mut switch = self.switch.load(Ordering::Relaxed);
        if switch == SWITCH_UNREAD {
            let off = std::env::var_os(JIT_VARIABLE).is_some_and(|value| value == "off" || value == "0");
            switch = if off { SWITCH_OFF } else { SWITCH_ON };
            self.switch.store(switch, Ordering::Relaxed);
        }
        if switch == SWITCH_OFF { Err(ArenaError::Off) } else { Ok(()) }
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena").field("config", &self.config).field("stats", &self.stats()).finish()
    }
}
