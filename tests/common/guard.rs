//! Buffers flush against inaccessible pages: one byte too far is a crash.

use std::ptr;

/// Accessible memory between two inaccessible pages.
///
/// ```text
/// | no access | room: a multiple of the page size | no access |
/// ```
pub(crate) struct Guarded {
    map: *mut u8,
    page: usize,
    room: usize,
}

/// Where a buffer is in the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// Its first byte is the first accessible one.
    Front,
    /// Its last byte is the last accessible one.
    End,
}

impl Guarded {
    /// Room for `len` bytes.
    pub(crate) fn new(len: usize) -> Guarded {
        // SAFETY: a query without arguments that point anywhere.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let room = len.next_multiple_of(page);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address that the system chooses touches nothing that exists.
        let map = unsafe { libc::mmap(ptr::null_mut(), room + 2 * page, libc::PROT_NONE, flags, -1, 0) };
        assert!(map != libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        let map: *mut u8 = map.cast();
        // SAFETY: the pages lie within the mapping just made.
        let done = unsafe { libc::mprotect(map.add(page).cast(), room, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        Guarded { map, page, room }
    }

    fn start(&self, flush: Flush, len: usize) -> *mut u8 {
        assert!(len <= self.room);
        let from = if flush == Flush::Front { 0 } else { self.room - len };
        // SAFETY: at most the room's end, within the mapping.
        unsafe { self.map.add(self.page + from) }
    }

    pub(crate) fn at(&self, flush: Flush, len: usize) -> &[u8] {
        // SAFETY: `start` checked that the bytes lie in the room, which is readable and initialised by the system.
        unsafe { std::slice::from_raw_parts(self.start(flush, len), len) }
    }

    pub(crate) fn at_mut(&mut self, flush: Flush, len: usize) -> &mut [u8] {
        // SAFETY: as for `at`, and the room is writable and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start(flush, len), len) }
    }

    /// Everything accessible.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let room = self.room;
        self.at_mut(Flush::Front, room)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, with this size, and no borrow outlives the value.
        unsafe { libc::munmap(self.map.cast(), self.room + 2 * self.page) };
    }
}
