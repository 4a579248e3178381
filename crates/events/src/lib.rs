//! What the kernel writes into its trace buffers, as data: the formats of events, pages of the ring buffer, saved
//! traces. Pure: bytes and text go in, events come out, and no file is opened here.
//!
//! Everything that differs between kernels (where a field stands, how long a page is, how a header is packed) is taken
//! from the kernel's own description beside the data, never assumed.

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
mod prefetch;
mod print;
pub mod text;
pub mod timeline;

pub use endian::Endian;
pub use error::{FormatError, PageError};
pub use field::{Field, Shape};
pub use flow::Flow;
pub use format::Format;
pub use formats::{Common, Formats};
pub use layout::Layout;
pub use line::{Lines, Unit};
pub use merge::{Event, Merge, Source};
pub use names::KernelNames;
pub use page::{Lost, Page, Record, Records};
pub use prefetch::prefetch;
pub use print::{Names, NoNames, Printer, Symbol};
