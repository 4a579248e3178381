//! Prints an event in the kernel's own words: the line `print fmt:` of its description, parsed once and then evaluated.
//!
//! It is a C format string with C expressions over the event's fields. The supported constructs are those of the kernel's
//! `include/trace/stages/stage3_trace_output.h` (`__print_flags`, `__get_str` ...). An event whose line uses anything
//! else is printed field by field, so that a report never loses an event.

mod evaluate;
mod expression;
mod lex;
mod parse;
mod render;
mod words;

use crate::endian::Endian;
use crate::format::EventFormat;
use expression::PrintFormat;

/// A function, and the position of an address in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name.
    pub function: &'a str,
    /// Offset from its start.
    pub offset: u64,
    /// Its size; 0 if unknown.
    pub size: u64,
    /// Its `[module]`.
    pub module: Option<&'a str>,
}

/// Names of addresses, known only for the kernel that wrote the event (`/proc/kallsyms`, `printk_formats`).
pub trait AddressNames {
    /// The function that contains an address.
    fn symbol(&self, address: u64) -> Option<Symbol<'_>>;

    /// The text at an address of the kernel.
    fn text(&self, address: u64) -> Option<&str>;
}

/// No names: addresses are printed as numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl AddressNames for NoNames {
    fn symbol(&self, _: u64) -> Option<Symbol<'_>> {
        None
    }

    fn text(&self, _: u64) -> Option<&str> {
        None
    }
}

/// Prints events by their own format line.
#[derive(Clone, Debug)]
pub struct Printer {
    printing: Option<PrintFormat>,
}

impl Printer {
    /// Prepares the `print fmt` of an event's format.
    #[must_use]
    pub fn of(format: &EventFormat) -> Printer {
        Printer {
            printing: parse::parse(&format.print, format),
        }
    }

    /// Whether the event's format line was parsed; otherwise its fields are printed one by one.
    #[must_use]
    pub const fn is_own_wording(&self) -> bool {
        self.printing.is_some()
    }

    /// Appends the event's text to `out`.
    pub fn print(
        &self,
        out: &mut String,
        format: &EventFormat,
        payload: &[u8],
        endian: Endian,
        names: &dyn AddressNames,
    ) {
        let scene = evaluate::PrintInput {
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
