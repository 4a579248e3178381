//! Arithmetic: keeps the execution units of a core busy and its frequency high.

use std::hint::black_box;

/// Never returns.
pub(super) fn run() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        // xorshift and a multiplication: a dependency chain that the compiler cannot fold.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        black_box(state.wrapping_mul(0x2545_f491_4f6c_dd1d));
    }
}
