//! Reads a kernel's event descriptions, page layout and names before recording.

use crate::TraceError;
use events::dat::Description;
use events::{Endian, EventFormat, Formats, KernelNames, PageLayout};
use root::Root;

/// All data needed to decode the pages of this kernel.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The kernel's own texts, for a file that another program reads.
    pub description: Description,
    /// Descriptions of the events.
    pub formats: Formats,
    /// `SYSTEM/EVENT` of each.
    pub events: Vec<String>,
    /// Requested events that this kernel does not have.
    pub absent: Vec<String>,
    /// Layout of pages.
    pub layout: PageLayout,
    /// Names of functions and texts. Empty without root, or with `kptr_restrict`.
    pub names: KernelNames,
}

/// Reads the catalogue. `top` is the directory of tracefs, `wanted` are events as `SYSTEM/EVENT` or whole systems.
///
/// # Errors
/// A file that cannot be read or is not a description; events are requested, but none of them exists.
pub fn catalogue(root: &Root, top: &str, requested: &[&str]) -> Result<Catalogue, TraceError> {
    let mut formats = Formats::new(Endian::native());
    let (mut events, mut absent, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for want in requested {
        let found = events_of(root, top, want)?;
        if found.is_empty() {
            absent.push((*want).to_owned());
        }
        for event in found {
            let path = format!("{top}/events/{event}/format");
            let Some((system, _)) = event.split_once('/').filter(|_| !events.contains(&event)) else {
                continue;
            };
            let Some(text) = root.text(&path)? else {
                continue;
            };
            let wrong = |error| TraceError::Format {
                path: path.clone(),
                error,
            };
            let format = EventFormat::parse(system, &text).map_err(wrong)?;
            formats.add(format).map_err(wrong)?;
            texts.push((system.to_owned(), text));
            events.push(event);
        }
    }
    for text in tracer_formats(root, top)? {
        // The description of an unused tracer need not parse; a file stores its text unchanged.
        if let Ok(format) = EventFormat::parse("ftrace", &text) {
            let _ = formats.add(format);
        }
        texts.push(("ftrace".to_owned(), text));
    }
    if events.is_empty() && !requested.is_empty() {
        return Err(TraceError::NoEvents {
            requested: requested.join(", "),
        });
    }
    let description = describe(root, top, texts)?;
    let layout = description.layout().map_err(|error| TraceError::Format {
        path: format!("{top}/events/header_page"),
        error,
    })?;
    Ok(Catalogue {
        names: description.names(),
        description,
        formats,
        events,
        absent,
        layout,
    })
}

/// Descriptions of the entries that the kernel's tracers write. They are not events that could be enabled.
fn tracer_formats(root: &Root, top: &str) -> Result<Vec<String>, TraceError> {
    let names = root.names(&format!("{top}/events/ftrace"))?.unwrap_or_default();
    let mut texts = Vec::new();
    for name in names {
        texts.extend(root.text(&format!("{top}/events/ftrace/{name}/format"))?);
    }
    Ok(texts)
}

/// The kernel's texts with these descriptions of events.
fn describe(root: &Root, top: &str, formats: Vec<(String, String)>) -> Result<Description, TraceError> {
    let text = |path: &str| -> Result<String, TraceError> { Ok(root.text(path)?.unwrap_or_default()) };
    Ok(Description {
        endian: Endian::native(),
        header_page: text(&format!("{top}/events/header_page"))?,
        header_event: text(&format!("{top}/events/header_event"))?,
        formats,
        kallsyms: text("/proc/kallsyms")?,
        printk_formats: text(&format!("{top}/printk_formats"))?,
        saved_cmdlines: text(&format!("{top}/saved_cmdlines"))?,
    })
}

/// The events of a name: itself, or all events of a system that can be enabled.
///
/// # Errors
/// A directory that cannot be read.
pub fn events_of(root: &Root, top: &str, want: &str) -> Result<Vec<String>, TraceError> {
    let is_event =
        |event: &str| -> Result<bool, TraceError> { Ok(root.kind(&format!("{top}/events/{event}/enable"))?.is_some()) };
    if want.contains('/') {
        return Ok(if is_event(want)? {
            vec![want.to_owned()]
        } else {
            Vec::new()
        });
    }
    let mut found = Vec::new();
    for name in root.names(&format!("{top}/events/{want}"))?.unwrap_or_default() {
        let event = format!("{want}/{name}");
        if is_event(&event)? {
            found.push(event);
        }
    }
    found.sort_unstable();
    Ok(found)
}
