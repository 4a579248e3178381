//! Holds a kernel's descriptions of its events, as in tracefs and in a `trace.dat`.

use super::cursor::Cursor;
use super::error::DatError;
use crate::endian::Endian;
use crate::error::FormatError;
use crate::format::EventFormat;
use crate::formats::Formats;
use crate::layout::PageLayout;
use crate::names::KernelNames;
use std::collections::HashMap;

/// The kernel's own descriptions of its events, as in a `trace.dat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Byte order of the events.
    pub endian: Endian,
    /// `events/header_page`.
    pub header_page: String,
    /// `events/header_event`.
    pub header_event: String,
    /// System and text of each `events/SYSTEM/EVENT/format`; those of `ftrace` too.
    pub formats: Vec<(String, String)>,
    /// `/proc/kallsyms`.
    pub kallsyms: String,
    /// `printk_formats`.
    pub printk_formats: String,
    /// `saved_cmdlines`: an ID and a name on each line.
    pub saved_cmdlines: String,
}

/// The system of the events of the kernel's own tracers. Files store it separately.
pub(super) const FTRACE: &str = "ftrace";

impl Description {
    /// Parses the descriptions of all events, and returns the errors of the invalid ones: their events are displayed as
    /// unknown, all others are unaffected.
    #[must_use]
    pub fn formats(&self) -> (Formats, Vec<(String, FormatError)>) {
        let mut formats = Formats::new(self.endian);
        let mut wrong = Vec::new();
        for (system, text) in &self.formats {
            let added = EventFormat::parse(system, text).and_then(|format| formats.add(format));
            if let Err(error) = added {
                wrong.push((system.clone(), error));
            }
        }
        (formats, wrong)
    }

    /// The layout of its pages.
    ///
    /// # Errors
    /// An invalid `header_page`.
    pub fn layout(&self) -> Result<PageLayout, FormatError> {
        PageLayout::parse(&self.header_page, self.endian)
    }

    /// Names of functions and of texts.
    #[must_use]
    pub fn names(&self) -> KernelNames {
        KernelNames::parse(&self.kallsyms, &self.printk_formats)
    }

    /// Names of threads by ID.
    #[must_use]
    pub fn comms(&self) -> HashMap<i32, String> {
        comms(&self.saved_cmdlines)
    }

    pub(super) fn read_header(&mut self, cursor: &mut Cursor) -> Result<(), DatError> {
        for (name, into) in [
            ("header_page", &mut self.header_page),
            ("header_event", &mut self.header_event),
        ] {
            if cursor.text("header_page")? != name {
                return Err(cursor.wrong("the words header_page and header_event"));
            }
            *into = cursor.counted(8, "header_page")?;
        }
        Ok(())
    }

    pub(super) fn read_ftrace(&mut self, cursor: &mut Cursor) -> Result<(), DatError> {
        for _ in 0..cursor.u32("the ftrace formats")? {
            let text = cursor.counted(8, "the ftrace formats")?;
            self.formats.push((FTRACE.to_owned(), text));
        }
        Ok(())
    }

    pub(super) fn read_events(&mut self, cursor: &mut Cursor) -> Result<(), DatError> {
        const WHAT: &str = "the event formats";
        for _ in 0..cursor.u32(WHAT)? {
            let system = cursor.text(WHAT)?;
            for _ in 0..cursor.u32(WHAT)? {
                self.formats.push((system.clone(), cursor.counted(8, WHAT)?));
            }
        }
        Ok(())
    }

    pub(super) fn read_kallsyms(&mut self, cursor: &mut Cursor) -> Result<(), DatError> {
        self.kallsyms = cursor.counted(4, "the names of functions")?;
        Ok(())
    }

    pub(super) fn read_printk(&mut self, cursor: &mut Cursor) -> Result<(), DatError> {
        self.printk_formats = cursor.counted(4, "the printk formats")?;
        Ok(())
    }

    pub(super) fn read_comms(&mut self, cursor: &mut Cursor) -> Result<(), DatError> {
        self.saved_cmdlines = cursor.counted(8, "the names of threads")?;
        Ok(())
    }
}

/// Parses names of threads by ID, from a kernel's `saved_cmdlines`.
#[must_use]
pub fn comms(saved_cmdlines: &str) -> HashMap<i32, String> {
    let pair = |line: &str| {
        let (pid, comm) = line.trim_start().split_once(' ')?;
        Some((pid.parse().ok()?, comm.to_owned()))
    };
    saved_cmdlines.lines().filter_map(pair).collect()
}
