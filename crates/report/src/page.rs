//! What all pages share. A page is one file that needs nothing else: style and drawings inside, no network. Its one script zooms
//! drawings and tells their values by keys, and nothing but that is lost without it. It is read on paper and on a phone as well,
//! light and dark.

pub(crate) mod curves;
pub(crate) mod escape;
pub(crate) mod heat_map;
pub(crate) mod parts;
pub(crate) mod picture;
pub(crate) mod strip;
