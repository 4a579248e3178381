//! Formats what the commands below `boot` show.

mod change;
mod check;
mod show;

pub use change::{BootChangeJson, ChangeMode, ChangeView};
pub use check::{BootCheckJson, boot_check_text, boot_check_verdict, boot_outcome};
pub use show::{BootEntryJson, BootShowJson, LineJson, LoaderJson, OwnWordsJson, boot_show_text, boot_show_verdict};

/// The schema of the documents.
pub const BOOT_SCHEMA: &str = "quietcore.boot/1";
