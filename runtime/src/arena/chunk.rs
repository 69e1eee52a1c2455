//! A chunk: a megabyte of executable memory, and the page of bookkeeping that says whose it is.

use core::mem;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::map::{self, PAGE, View, Views};
use super::{ArenaError, Attempt, Backing, CHUNK, SLOT};

/// The bookkeeping of a chunk. It lies alone at the start of a private page that the kernel clears in a forked child.
///
/// All zero is a valid value, and then `owner` is 0, which is no process. So in a child either the page was cleared or
/// the owner is the parent; both differ from the child's own process id. The page alone would do where it is cleared,
/// even between two processes with the same id in different namespaces; the id alone would do in one namespace.
pub(super) struct Chunk {
    /// The process that mapped the chunk and may publish in it. Atomic because a child sees it change.
    owner: AtomicU32,
    /// Bytes reserved so far.
    reserved: AtomicUsize,
    backing: Backing,
    /// The address to execute at.
    code: *mut u8,
    /// The address to write at. The same as `code` for [`Backing::Reprotect`].
    writable: *mut u8,
    /// The chunk that was the newest before this one.
    older: *mut Chunk,
}

const _: () = assert!(size_of::<Chunk>() <= PAGE && CHUNK.is_multiple_of(PAGE) && PAGE.is_multiple_of(SLOT));

/// Fills the rest of a slot: a jump there traps (int3).
const PADDING: u8 = 0xCC;

/// Part of a chunk that one thread has reserved and nobody else will ever write.
pub(super) struct Slots {
    code: NonNull<u8>,
    writable: *mut u8,
    len: usize,
    reprotect: bool,
}

/// Chunks, newest first: those of this process, and after them the inherited ones.
pub(super) struct List(AtomicPtr<Chunk>);

/// What was the newest chunk of a list at some time; null if there was none. Chunks in a list are never unmapped.
#[derive(Clone, Copy)]
pub(super) struct Head(*mut Chunk);

impl List {
    pub(super) const fn new() -> List {
        List(AtomicPtr::new(ptr::null_mut()))
    }

    pub(super) fn head(&self) -> Head {
        Head(self.0.load(Ordering::Acquire))
    }

    /// Maps a chunk and puts it in front of `head`, unless another thread has put one there, which serves as well.
    pub(super) fn add(&self, backings: &[Backing], head: Head) -> Result<(), ArenaError> {
        let mine = Chunk::map(backings, head.0)?;
        if self.0.compare_exchange(head.0, mine.as_ptr(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: `mine` was mapped above and did not get into the list, so there is no reference to it.
            unsafe { Chunk::unmap(mine) };
        }
        Ok(())
    }
}

impl Head {
    /// The chunks of this process, newest first.
    pub(super) fn own(self) -> impl Iterator<Item = &'static Chunk> {
        let process = map::process();
        let mut next = self.0.cast_const();
        // Inherited chunks are older than every own one, so the first that is not ours ends the walk, and the cleared
        // fields of an inherited chunk are not looked at.
        core::iter::from_fn(move || {
            // SAFETY: lists hold initialised chunks from `Chunk::map`, whose pages stay mapped once in a list; in a
            // child they may have been cleared, which is a valid value. All fields that change are atomic.
            let chunk = unsafe { next.as_ref() }.filter(|chunk| chunk.owner.load(Ordering::Acquire) == process)?;
            next = chunk.older;
            Some(chunk)
        })
    }
}

impl Chunk {
    /// Maps a chunk that this process owns, by the first backing that the system allows.
    fn map(backings: &[Backing], older: *mut Chunk) -> Result<NonNull<Chunk>, ArenaError> {
        let mut attempts = [None; Backing::ALL.len()];
        for (&backing, attempt) in backings.iter().zip(&mut attempts) {
            match Chunk::map_as(backing, older) {
                Ok(chunk) => return Ok(chunk),
                Err(map::Failure { call, errno }) => *attempt = Some(Attempt { backing, call, errno }),
            }
        }
        Err(ArenaError::Refused { attempts })
    }

    fn map_as(backing: Backing, older: *mut Chunk) -> Result<NonNull<Chunk>, map::Failure> {
        let page = map::cleared_on_fork()?;
        let Views { code, writable } = match backing {
            Backing::Alias => map::alias(),
            Backing::Memfd => map::memfd(),
            Backing::Reprotect => map::reprotect(),
        }?;
        let chunk = Chunk {
            owner: AtomicU32::new(map::process()),
            reserved: AtomicUsize::new(0),
            backing,
            code: code.address(),
            writable: writable.as_ref().unwrap_or(&code).address(),
            older,
        };
        let place = page.address().cast::<Chunk>();
        // SAFETY: the page was just mapped readable and writable, is aligned to a page, larger than a `Chunk` as
        // asserted above, and nobody else has its address.
        unsafe { place.write(chunk) };
        // From here on the chunk owns its views, and whoever has the chunk owns its page.
        mem::forget((page, code, writable));
        NonNull::new(place).ok_or(map::Failure { call: "mmap", errno: 0 })
    }

    /// Unmaps a chunk that was never used.
    ///
    /// # Safety
    ///
    /// `chunk` comes from [`Chunk::map`] in this process, is not in a list, and there is no reference to it.
    unsafe fn unmap(chunk: NonNull<Chunk>) {
        // SAFETY: by contract the chunk is initialised and only the caller has it.
        let Chunk { code, writable, .. } = unsafe { chunk.read() };
        // SAFETY: these are the addresses and lengths of the views that `map_as` forgot, and by contract nobody uses
        // them. `writable` is a view of its own unless it is `code`.
        unsafe {
            drop(View::from_parts(chunk.as_ptr().cast(), PAGE));
            if !ptr::eq(code, writable) {
                drop(View::from_parts(writable, CHUNK));
            }
            drop(View::from_parts(code, CHUNK));
        }
    }

    pub(super) fn backing(&self) -> Backing {
        self.backing
    }

    /// Reserves room for `bytes` bytes, 1 to [`CHUNK`], if there is any left. Only for a chunk of this process.
    pub(super) fn reserve(&self, bytes: usize) -> Option<Slots> {
        let reprotect = self.backing == Backing::Reprotect;
        let len = bytes.next_multiple_of(if reprotect { PAGE } else { SLOT });
        // Relaxed: the exchange alone makes reservations disjoint, and nothing is read from the slots.
        let at = self
            .reserved
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| Some(at + len).filter(|end| *end <= CHUNK))
            .ok()?;
        // SAFETY: `at + len` is at most CHUNK, the length of both views, which are never unmapped.
        let (code, writable) = unsafe { (self.code.add(at), self.writable.add(at)) };
        Some(Slots { code: NonNull::new(code)?, writable, len, reprotect })
    }

    pub(super) fn used(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }
}

impl Slots {
    /// Writes `bytes`, for which the slots were reserved, and returns the address to execute them at.
    pub(super) fn fill(self, bytes: &[u8]) -> Result<NonNull<u8>, ArenaError> {
        let written = bytes.len().min(self.len);
        let padding = self.len.min(written.next_multiple_of(SLOT)) - written;
        // SAFETY: the reservation gives `len` writable bytes that no other thread writes, and nobody executes or reads
        // them before this returns. `written + padding` is at most `len`. `bytes` is borrowed and the slots were never
        // lent out, so they do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.writable, written);
            ptr::write_bytes(self.writable.add(written), PADDING, padding);
        }
        if self.reprotect {
            // SAFETY: the slots are whole pages of a private mapping that only this thread knows.
            unsafe { map::make_executable(self.writable, self.len) }
                .map_err(|failure| ArenaError::Reprotect { errno: failure.errno })?;
        }
        Ok(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without `MADV_WIPEONFORK`, as before Linux 4.14 and under some emulators, the owner's id alone must do.
    #[test]
    fn a_page_that_is_not_cleared_still_names_its_owner() {
        let list = List::new();
        list.add(&[Backing::Alias], list.head()).unwrap();
        // SAFETY: the chunk's page is mapped, and the advice only concerns children.
        let kept = unsafe { libc::madvise(list.head().0.cast(), PAGE, libc::MADV_KEEPONFORK) };
        assert_eq!(kept, 0);
        // SAFETY: the child has only this thread, takes no lock and ends by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the page is mapped in the child too, and was not cleared.
            let cleared = unsafe { (*list.head().0).code }.is_null();
            let status = if cleared { 2 } else { list.head().own().count() as i32 };
            // SAFETY: always callable.
            unsafe { libc::_exit(status) }
        }
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "1: the child takes the chunk for its own; 2: its page was cleared");
        assert_eq!(list.head().own().count(), 1);
    }
}
