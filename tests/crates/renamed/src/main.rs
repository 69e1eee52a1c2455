//! A program that has the library under another name, and reaches it through its own modules as well.
#![forbid(unsafe_code)]
#![deny(warnings)]

mod parts {
    pub(crate) mod kernels {
        pub(crate) use storage as xor_library;
    }
}

#[storage::xor_kernel(srcs = 2, crate = storage)]
fn by_name(dest: &mut [u8], srcs: [&[u8]; 2]) -> Result<(), storage::xor::Error>;

#[storage::xor_kernel(srcs = 2, crate = crate::parts::kernels::xor_library)]
fn by_path(dest: &mut [u8], srcs: [&[u8]; 2]);

#[storage::xor_kernel(srcs = 2, destination = zero_test, crate = ::storage)]
fn by_root(srcs: [&[u8]; 2]) -> bool;

fn main() -> Result<(), storage::xor::Error> {
    let mut dest = [0; 300];
    by_name(&mut dest, [&[1; 300], &[2; 300]])?;
    assert_eq!(dest, [3; 300]);
    by_path(&mut dest, [&[4; 300], &[8; 300]]);
    assert_eq!(dest, [12; 300]);
    assert!(by_root([&dest, &[12; 300]]));
    println!("all right");
    Ok(())
}
