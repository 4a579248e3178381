//! Decodes the data of the kernel's trace buffers: the formats of events, pages of the ring buffer, saved
//! traces. Pure: bytes and text in, events out; this crate opens no file.
//!
//! All differences between kernels (offset of a field, size of a page, packing of a header) are read
//! from the kernel's own description next to the data, never assumed.

pub mod dat;
mod endian;
mod error;
mod field;
mod flow;
mod format;
mod formats;
mod layout;
mod line;
mod merge;
mod names;
mod page;
mod print;
pub mod text;

pub use endian::Endian;
pub use error::{FormatError, PageError};
pub use field::{Field, FieldShape};
pub use flow::Flow;
pub use format::EventFormat;
pub use formats::{CommonValues, Formats};
pub use layout::PageLayout;
pub use line::{ClockUnit, LineFormatter};
pub use merge::{Merge, PageSource, StreamItem};
pub use names::KernelNames;
pub use page::{LostEntries, Page, PageRecord, PageRecords, prefetch};
pub use print::{AddressNames, NoNames, Printer, Symbol};
