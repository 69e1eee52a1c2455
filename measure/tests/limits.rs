//! The load loops touch each buffer's whole vectors and not one byte beside them.

use lanesmith_measure::limits::{self, GROUP, Loads, Width};
use lanesmith_measure::{Buffers, Layout};

/// What lengths round down to.
fn whole(len: usize, width: Width) -> usize {
    len - len % width.bytes()
}

#[test]
fn counts_and_stores_for_every_length_count_layout_and_width() {
    for width in Width::available() {
        for layout in Layout::ALL {
            for len in (0..=300).chain([511, 512, 1023, 1024, 1025, 1100]) {
                for count in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17] {
                    let mut buffers = Buffers::new(count, len, layout);
                    let (dest, sources) = buffers.dest_and_sources();
                    let loads = Loads::new(width, &sources);
                    let expected = whole(len, width);
                    assert_eq!(loads.load(), expected * count, "{width:?} {layout:?} {count} × {len}");

                    let before = dest.to_vec();
                    assert_eq!(loads.load_store(dest), expected * count);
                    let last_of_first = count.div_ceil(count.div_ceil(GROUP)) - 1;
                    assert_eq!(dest[..expected], sources[last_of_first][..expected], "{width:?} {count} × {len}");
                    assert_eq!(dest[expected..], before[expected..], "{width:?} {count} × {len}: wrote beyond");
                }
            }
        }
    }
}

#[test]
fn the_shortest_buffer_bounds_all() {
    let long = [1; 1000];
    let short = [2; 300];
    for width in Width::available() {
        let loads = Loads::new(width, &[&long, &short, &long]);
        assert_eq!(loads.load(), 3 * whole(300, width));
        let mut dest = [0; 200];
        assert_eq!(loads.load_store(&mut dest), 3 * whole(200, width));
        assert_eq!(dest[..whole(200, width)], long[..whole(200, width)]);
    }
}

#[test]
fn nothing_to_load() {
    let mut dest = [9; 64];
    assert_eq!(limits::load(&[]), 0);
    assert_eq!(limits::load_store(&mut dest, &[]), 0);
    assert_eq!(limits::load(&[&[], &[]]), 0);
    assert_eq!(limits::load_store(&mut [], &[&dest]), 0);
    assert_eq!(dest, [9; 64]);
}

#[test]
fn the_plain_functions_use_the_widest_vectors() {
    let source = [5; 100];
    let mut dest = [0; 100];
    let widest = Width::widest();
    assert_eq!(Width::available().last(), Some(&widest));
    assert!(Width::available().is_sorted());
    assert_eq!(limits::load(&[&source, &source]), 2 * whole(100, widest));
    assert_eq!(limits::load_store(&mut dest, &[&source]), whole(100, widest));
    assert_eq!(dest[..whole(100, widest)], source[..whole(100, widest)]);
}

/// Buffers that end where an inaccessible page begins: a load of one byte too many is a fault. And buffers that begin
/// behind one: a load before the start is a fault too.
#[cfg(target_os = "linux")]
#[test]
fn no_access_beyond_either_end() {
    const PAGE: usize = 4096;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice conflicts with nothing.
    let map = unsafe {
        libc::mmap(std::ptr::null_mut(), 3 * PAGE, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(map, libc::MAP_FAILED);
    let page = map.cast::<u8>().wrapping_add(PAGE);
    // SAFETY: the middle page of the mapping, which nothing else refers to.
    assert_eq!(unsafe { libc::mprotect(page.cast(), PAGE, libc::PROT_READ | libc::PROT_WRITE) }, 0);
    // SAFETY: the page is mapped readable and writable and zeroed by the kernel, and is reached through this slice only
    // until the mapping's end below.
    let page = unsafe { std::slice::from_raw_parts_mut(page, PAGE) };
    for width in Width::available() {
        for len in 0..=1100 {
            let source = &page[PAGE - len..];
            assert_eq!(Loads::new(width, &[source; 5]).load(), 5 * whole(len, width));
            assert_eq!(Loads::new(width, &[&page[..len]; 3]).load(), 3 * whole(len, width));
            let bytes = vec![7; len];
            Loads::new(width, &[bytes.as_slice(); 2]).load_store(&mut page[PAGE - len..]);
            Loads::new(width, &[bytes.as_slice(); 2]).load_store(&mut page[..len]);
        }
    }
    // SAFETY: the whole mapping from above, whose slice is not used any more.
    assert_eq!(unsafe { libc::munmap(map, 3 * PAGE) }, 0);
}

/// Every source of a pass is read: fresh pages are absent until something touches them.
#[cfg(target_os = "linux")]
#[test]
fn every_source_is_read() {
    const PAGE: usize = 4096;
    const COUNT: usize = 12;
    for width in Width::available() {
        for count in 1..=COUNT {
            // SAFETY: a fresh anonymous mapping at an address of the kernel's choice conflicts with nothing.
            let map = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                libc::mmap(std::ptr::null_mut(), COUNT * PAGE, libc::PROT_READ, flags, -1, 0)
            };
            assert_ne!(map, libc::MAP_FAILED);
            let resident = || {
                let mut pages = [0_u8; COUNT];
                // SAFETY: the range is the mapping, and the kernel writes one byte for each of its pages.
                assert_eq!(unsafe { libc::mincore(map, COUNT * PAGE, pages.as_mut_ptr()) }, 0);
                pages.map(|page| page & 1 == 1)
            };
            let before = resident();
            // SAFETY: the mapping is readable and zeroed, nobody writes to it, and the slice is not used after munmap.
            let bytes = unsafe { std::slice::from_raw_parts(map.cast::<u8>(), COUNT * PAGE) };
            let sources: Vec<&[u8]> = bytes.chunks(PAGE).take(count).collect();
            Loads::new(width, &sources).load();
            let after = resident();
            // A kernel that maps more than a page at a fault, or claims that all are there, can show nothing here.
            if before == [false; COUNT] {
                assert!(after[..count].iter().all(|&page| page), "{width:?}, {count} sources: {after:?}");
            }
            // SAFETY: the whole mapping from above.
            assert_eq!(unsafe { libc::munmap(map, COUNT * PAGE) }, 0);
        }
    }
}
