use lanesmith::xor_kernel;

struct Stripe;

impl Stripe {
    #[xor_kernel(srcs = 2)]
    fn parity(&self, dest: &mut [u8], srcs: [&[u8]; 2]);
}

fn main() {}
