//! (to be written) the tool's own state directories.
