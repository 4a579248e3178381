//! The kernel's own wording of an event: the line `print fmt:` of its description, read once and carried out.
//!
//! It is a C format string and C expressions over the event's fields. What it may contain is what the kernel's
//! `include/trace/stages/stage3_trace_output.h` offers (`__print_flags`, `__get_str` ...). An event whose line uses something
//! else is shown field by field instead, so that no event is ever lost from a report.

mod address_names;
mod constants;
mod evaluate;
mod expression;
mod lex;
mod parse;
mod render;
mod words;

pub use address_names::{Names, NoNames, Symbol};

use crate::endian::Endian;
use crate::format::Format;
use expression::Printing;

/// Carries out an event's own wording.
#[derive(Clone, Debug)]
pub struct Printer {
    printing: Option<Printing>,
}

impl Printer {
    /// Prepares the `print fmt` of an event's format.
    #[must_use]
    pub fn of(format: &Format) -> Printer {
        Printer {
            printing: parse::parse(&format.print, format),
        }
    }

    /// Whether the event's own wording was understood; otherwise its fields are shown one by one.
    #[must_use]
    pub const fn is_own_wording(&self) -> bool {
        self.printing.is_some()
    }

    /// Appends the event's text to `out`.
    pub fn print(
        &self,
        out: &mut String,
        format: &Format,
        payload: &[u8],
        endian: Endian,
        names: &dyn Names,
    ) {
        let scene = evaluate::Scene {
            format,
            payload,
            endian,
            names,
        };
        match &self.printing {
            Some(printing) => render::print(out, printing, &scene),
            None => render::fields(out, &scene),
        }
    }
}
