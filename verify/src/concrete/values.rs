//! Arithmetic on bytes.

use crate::domain::{Flags, IntOp, Shift, VecOp};

/// All ones in `size` bytes.
pub(super) fn ones(size: u32) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

/// The low `width` bytes, zero above.
pub(super) fn low(width: u32, mut value: [u8; 64]) -> [u8; 64] {
    value[width as usize..].fill(0);
    value
}

/// An integer operation and the flags that it defines.
pub(super) fn int_op(op: IntOp, size: u32, a: u64, b: u64) -> (u64, Flags<bool>) {
    let bits = 8 * size;
    let all = ones(size);
    let top = 1 << (bits - 1);
    let (x, y) = (a & all, b & all);
    let signed = |value: u64| ((value << (64 - bits)) as i64) >> (64 - bits);
    // Of a shift: at least 1 where flags are asked for.
    let count = (b & if size == 8 { 63 } else { 31 }) as u32;
    let (result, cf, of) = match op {
        IntOp::Add => {
            let sum = x.wrapping_add(y) & all;
            (sum, sum < x, (x ^ sum) & (y ^ sum) & top != 0)
        }
        IntOp::Sub => {
            let difference = x.wrapping_sub(y) & all;
            (difference, x < y, (x ^ y) & (x ^ difference) & top != 0)
        }
        IntOp::And => (x & y, false, false),
        IntOp::Or => (x | y, false, false),
        IntOp::Xor => (x ^ y, false, false),
        IntOp::Andn => (!x & y, false, false),
        IntOp::Shl => {
            let result = (x << count) & all;
            let carry = count >= 1 && count <= bits && x >> (bits - count) & 1 != 0;
            (result, carry, (result & top != 0) != carry)
        }
        IntOp::Shr => (x >> count, count >= 1 && x >> (count - 1) & 1 != 0, x & top != 0),
        IntOp::Sar => {
            let result = (signed(x) >> count) as u64 & all;
            (result, count >= 1 && signed(x) >> (count - 1) & 1 != 0, false)
        }
        IntOp::Bzhi => {
            let position = (b & 0xff) as u32;
            let kept = if position < bits { x & ((1 << position) - 1) } else { x };
            (kept, position >= bits, false)
        }
        IntOp::Blsr => (x & x.wrapping_sub(1), x == 0, false),
    };
    let pf = (result as u8).count_ones().is_multiple_of(2);
    (result, Flags { cf, pf, zf: result == 0, sf: result & top != 0, of })
}

/// A vector operation.
pub(super) fn vec_op(op: VecOp, width: u32, args: &[&[u8; 64]]) -> [u8; 64] {
    let each = |f: fn(u8, u8) -> u8| std::array::from_fn(|i| f(args[0][i], args[1][i]));
    let result = match op {
        VecOp::Xor => each(|a, b| a ^ b),
        VecOp::And => each(|a, b| a & b),
        VecOp::Or => each(|a, b| a | b),
        VecOp::Andn => each(|a, b| !a & b),
        VecOp::CmpEq(size) => {
            let mut out = [0; 64];
            let size = size as usize;
            for at in (0..64).step_by(size) {
                if args[0][at..at + size] == args[1][at..at + size] {
                    out[at..at + size].fill(0xff);
                }
            }
            out
        }
        VecOp::Ternary(imm) => {
            let mut out = [0; 64];
            for index in (0..8).filter(|index| imm >> index & 1 != 0) {
                // The bytes where (a, b, c) are the bits of the index.
                let flip = |bit: u32| if index >> bit & 1 != 0 { 0 } else { 0xff };
                let (a, b, c) = (flip(2), flip(1), flip(0));
                for (i, out) in out.iter_mut().enumerate() {
                    *out |= (args[0][i] ^ a) & (args[1][i] ^ b) & (args[2][i] ^ c);
                }
            }
            out
        }
        VecOp::BytesRight(count) => {
            move_bytes(args[0], |lane, i| lane.get(i + usize::from(count)).copied().unwrap_or(0))
        }
        VecOp::BytesLeft(count) => {
            move_bytes(args[0], |lane, i| i.checked_sub(usize::from(count)).map_or(0, |from| lane[from]))
        }
        VecOp::Add(element) => {
            each_element(element, |i| element_of(args[0], element, i).wrapping_add(element_of(args[1], element, i)))
        }
        VecOp::ShiftBits { shift, element, count } => {
            let bits = 8 * element;
            each_element(element, |i| shifted(shift, bits, element_of(args[0], element, i), count.into()))
        }
        VecOp::ShuffleBytes => std::array::from_fn(|i| {
            let control = usize::from(args[1][i]);
            if control >= 0x80 { 0 } else { args[0][(i & !15) + (control & 15)] }
        }),
        VecOp::ShuffleWords { high, order } => std::array::from_fn(|i| {
            let (half, word) = (i & !7, i / 2 % 4);
            let chosen = usize::from(order >> (2 * word) & 3);
            let moved = (i & 8 != 0) == high;
            args[0][if moved { half + 2 * chosen + i % 2 } else { i }]
        }),
        VecOp::Interleave { element, high } => {
            let element = element as usize;
            std::array::from_fn(|i| {
                let (lane, at) = (i & !15, i & 15);
                let (pair, rest) = (at / (2 * element), at % (2 * element));
                let from = lane + usize::from(high) * 8 + pair * element + rest % element;
                args[rest / element][from]
            })
        }
        VecOp::ZeroExtend(from) => {
            let from = from as usize;
            std::array::from_fn(|i| if i % (2 * from) < from { args[0][i / (2 * from) * from + i % from] } else { 0 })
        }
    };
    low(width, result)
}

/// Element `i` of a vector.
fn element_of(value: &[u8; 64], element: u32, i: usize) -> u64 {
    let element = element as usize;
    let mut bytes = [0; 8];
    bytes[..element].copy_from_slice(&value[i * element..(i + 1) * element]);
    u64::from_le_bytes(bytes)
}

/// A vector of elements, the low bytes of what `make` says of each.
fn each_element(element: u32, make: impl Fn(usize) -> u64) -> [u8; 64] {
    let mut out = [0; 64];
    for (i, bytes) in out.chunks_exact_mut(element as usize).enumerate() {
        bytes.copy_from_slice(&make(i).to_le_bytes()[..element as usize]);
    }
    out
}

fn shifted(shift: Shift, bits: u32, value: u64, count: u32) -> u64 {
    match shift {
        Shift::Right => value.checked_shr(count).unwrap_or(0),
        Shift::Left => value.checked_shl(count).unwrap_or(0),
        Shift::RotateLeft => {
            let count = count % bits;
            // A count of zero shifts right by all bits.
            value << count | value.checked_shr(bits - count).unwrap_or(0)
        }
    }
}

/// Each byte of each 16-byte lane chosen from that lane.
fn move_bytes(value: &[u8; 64], choose: impl Fn(&[u8], usize) -> u8) -> [u8; 64] {
    std::array::from_fn(|i| choose(&value[i & !15..(i & !15) + 16], i & 15))
}
