//! (to be written) tar archives, plain or compressed.
