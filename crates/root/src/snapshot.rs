//! (to be written) the archive writer behind `snapshot`.
