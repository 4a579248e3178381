//! Arithmetic: keeps the execution units and the clock of a core busy.

use std::hint::black_box;

/// Never returns.
pub(super) fn run() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        // xorshift and a multiplication: a chain that cannot be folded.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        black_box(state.wrapping_mul(0x2545_f491_4f6c_dd1d));
    }
}
