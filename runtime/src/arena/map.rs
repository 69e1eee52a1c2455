//! The system calls: views of memory that can be filled through one address and executed through another.

use core::ffi::c_int;
use core::mem;
use core::ptr;

use super::CHUNK;

/// Bytes of a page. Every x86-64 Linux has base pages of this size.
pub(super) const PAGE: usize = 4096;

/// A system call that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) call: &'static str,
    pub(super) errno: i32,
}

impl Failure {
    fn of(call: &'static str) -> Failure {
        Failure { call, errno: std::io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }
}

/// A mapping that is unmapped when dropped.
pub(super) struct View {
    address: *mut u8,
    len: usize,
}

impl View {
    /// # Safety
    ///
    /// The view takes over a whole mapping of `len` bytes at `address`: nobody else unmaps it, and nobody uses it after
    /// the view is dropped.
    pub(super) unsafe fn from_parts(address: *mut u8, len: usize) -> View {
        View { address, len }
    }

    pub(super) fn address(&self) -> *mut u8 {
        self.address
    }

    /// A new mapping at an address of the kernel's choice.
    fn map(len: usize, protection: c_int, flags: c_int, file: c_int) -> Result<View, Failure> {
        // SAFETY: without MAP_FIXED the kernel chooses free addresses, so no existing memory changes.
        let address = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, file, 0) };
        if address == libc::MAP_FAILED {
            return Err(Failure::of("mmap"));
        }
        Ok(View { address: address.cast(), len })
    }

    fn protect(&self, protection: c_int) -> Result<(), Failure> {
        // SAFETY: the range is exactly this mapping, and a `View` has not been lent to anyone yet.
        match unsafe { libc::mprotect(self.address.cast(), self.len, protection) } {
            0 => Ok(()),
            _ => Err(Failure::of("mprotect")),
        }
    }

    fn advise(&self, advice: c_int) -> bool {
        // SAFETY: the range is exactly this mapping. The advices used here only concern children.
        unsafe { libc::madvise(self.address.cast(), self.len, advice) == 0 }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the range is exactly this mapping, and nothing refers to it any more. Failure would only leak it.
        unsafe { libc::munmap(self.address.cast(), self.len) };
    }
}

/// The two views of one chunk. `writable` is `None` if the chunk is filled through the address of `code`.
pub(super) struct Views {
    pub(super) code: View,
    pub(super) writable: Option<View>,
}

const READ: c_int = libc::PROT_READ;
const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;
const READ_EXECUTE: c_int = libc::PROT_READ | libc::PROT_EXEC;
const PRIVATE: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

/// The id of this process. Not cached: the point is to notice that it has changed.
pub(super) fn process() -> u32 {
    // SAFETY: getpid has no preconditions and cannot fail.
    unsafe { libc::getpid() }.unsigned_abs()
}

/// A zeroed private page that the kernel clears in a forked child, where it can (Linux 4.14).
pub(super) fn cleared_on_fork() -> Result<View, Failure> {
    let page = View::map(PAGE, READ_WRITE, PRIVATE, -1)?;
    // On failure the page is copied like any other, and the owner's id in it tells parent and child apart.
    page.advise(libc::MADV_WIPEONFORK);
    Ok(page)
}

/// A shared anonymous mapping, executable, and a writable view of it.
pub(super) fn alias() -> Result<Views, Failure> {
    let code = View::map(CHUNK, READ_EXECUTE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)?;
    // SAFETY: with an old size of zero the kernel leaves the old mapping alone and maps the same shared pages once more
    // at an address of its choice (mremap(2)).
    let address = unsafe { libc::mremap(code.address.cast(), 0, CHUNK, libc::MREMAP_MAYMOVE) };
    if address == libc::MAP_FAILED {
        return Err(Failure::of("mremap"));
    }
    let writable = View { address: address.cast(), len: CHUNK };
    // In one step from executable to writable: neither this address nor the other is ever both.
    writable.protect(READ_WRITE)?;
    keep_from_children(&writable);
    Ok(Views { code, writable: Some(writable) })
}

/// A memory file mapped twice. Once the writable view exists, seals refuse any other, also by `mprotect` and in children.
pub(super) fn memfd() -> Result<Views, Failure> {
    let file = MemoryFile::create()?;
    file.set_len()?;
    let writable = View::map(CHUNK, READ_WRITE, libc::MAP_SHARED, file.0)?;
    file.seal();
    let code = View::map(CHUNK, READ_EXECUTE, libc::MAP_SHARED, file.0)?;
    keep_from_children(&writable);
    Ok(Views { code, writable: Some(writable) })
}

/// A private mapping to be filled and then made executable page by page.
pub(super) fn reprotect() -> Result<Views, Failure> {
    let code = View::map(CHUNK, READ_WRITE, PRIVATE, -1)?;
    // Asked now, so that a system which refuses does so before code is compiled for it. Taking the permission away again
    // is allowed wherever giving it was.
    code.protect(READ_EXECUTE)?;
    code.protect(READ)?;
    code.protect(READ_WRITE)?;
    Ok(Views { code, writable: None })
}

/// Makes filled pages executable and no longer writable.
///
/// # Safety
///
/// The range is whole pages of a mapping from [`reprotect`], and nobody writes to them any more.
pub(super) unsafe fn make_executable(address: *mut u8, len: usize) -> Result<(), Failure> {
    // SAFETY: by contract the pages are mapped and lose only a permission that nobody uses.
    match unsafe { libc::mprotect(address.cast(), len, READ_EXECUTE) } {
        0 => Ok(()),
        _ => Err(Failure::of("mprotect")),
    }
}

/// A child could not use the writable view, and has no business with its parent's code.
fn keep_from_children(writable: &View) {
    // If this fails the view is inherited, and the check of a chunk's owner still keeps a child from writing there.
    writable.advise(libc::MADV_DONTFORK);
}

/// The descriptor of a memory file, closed when dropped; mappings outlive it.
struct MemoryFile(c_int);

impl MemoryFile {
    fn create() -> Result<MemoryFile, Failure> {
        // Systems may insist on the seal against being executed as a program (vm.memfd_noexec), which does not concern
        // mappings. Linux before 6.3 does not know it.
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        for flags in [flags | libc::MFD_NOEXEC_SEAL, flags] {
            // SAFETY: the name is a C string, and the flags are of this call.
            let file = unsafe { libc::memfd_create(c"lanesmith".as_ptr(), flags) };
            if file >= 0 {
                return Ok(MemoryFile(file));
            }
        }
        Err(Failure::of("memfd_create"))
    }

    fn set_len(&self) -> Result<(), Failure> {
        // SAFETY: the descriptor is open and ours. CHUNK fits in any file offset.
        match unsafe { libc::ftruncate(self.0, CHUNK as libc::off_t) } {
            0 => Ok(()),
            _ => Err(Failure::of("ftruncate")),
        }
    }

    /// Hardening that older systems lack, so failure is accepted.
    fn seal(&self) {
        let seals = libc::F_SEAL_FUTURE_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: the descriptor is open and ours, and the argument of F_ADD_SEALS is an integer.
        unsafe { libc::fcntl(self.0, libc::F_ADD_SEALS, seals) };
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        // SAFETY: the descriptor is open, ours and not used after this.
        unsafe { libc::close(self.0) };
    }
}

const _: () = assert!(mem::size_of::<usize>() == 8);
