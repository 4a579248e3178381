//! (to be written) files that the user asks for by path: results and pages.
