//! What a kernel says about its events before any is recorded: descriptions, layout of pages, names.

use crate::error::TraceError;
use events::{Endian, Format, Formats, KernelNames, Layout};
use root::Root;
use std::collections::HashMap;

/// Everything that is needed to read the pages of this kernel.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// Descriptions of the events.
    pub formats: Formats,
    /// `SYSTEM/EVENT` of each, as `events/SYSTEM/EVENT`.
    pub events: Vec<String>,
    /// What was asked for and this kernel does not have.
    pub absent: Vec<String>,
    /// Layout of pages.
    pub layout: Layout,
    /// Names of functions and texts. Without root, or with `kptr_restrict`, there are none.
    pub names: KernelNames,
    /// Names of threads that the kernel remembers.
    pub comms: HashMap<i32, String>,
}

/// Reads it. `top` is the directory of tracefs, `wanted` are events as `SYSTEM/EVENT` or whole systems.
///
/// # Errors
/// A file that cannot be read or is no description; none of the wanted events.
pub fn catalogue(root: &Root, top: &str, wanted: &[&str]) -> Result<Catalogue, TraceError> {
    let endian = Endian::native();
    let mut formats = Formats::new(endian);
    let mut events = Vec::new();
    let mut absent = Vec::new();
    for want in wanted {
        let found = events_of(root, top, want)?;
        if found.is_empty() {
            absent.push((*want).to_owned());
        }
        for event in found
            .into_iter()
            .filter(|event| !events.contains(event))
            .collect::<Vec<_>>()
        {
            let path = format!("{top}/events/{event}/format");
            let (Some(text), Some((system, _))) = (root.text(&path)?, event.split_once('/')) else {
                continue;
            };
            let wrong = |error| TraceError::Format {
                path: path.clone(),
                error,
            };
            formats
                .add(Format::parse(system, &text).map_err(wrong)?)
                .map_err(wrong)?;
            events.push(event);
        }
    }
    if events.is_empty() {
        return Err(TraceError::NoEvents {
            wanted: wanted.join(", "),
        });
    }
    Ok(Catalogue {
        formats,
        events,
        absent,
        layout: layout(root, top, endian)?,
        names: KernelNames::parse(
            &root.text("/proc/kallsyms")?.unwrap_or_default(),
            &root.text(&format!("{top}/printk_formats"))?.unwrap_or_default(),
        ),
        comms: comms(&root.text(&format!("{top}/saved_cmdlines"))?.unwrap_or_default()),
    })
}

/// The events that a name stands for: itself, or all of a system that can be switched on.
///
/// # Errors
/// A directory that cannot be read.
pub fn events_of(root: &Root, top: &str, want: &str) -> Result<Vec<String>, TraceError> {
    let is_event = |event: &str| -> Result<bool, TraceError> {
        Ok(root.kind(&format!("{top}/events/{event}/enable"))?.is_some())
    };
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
    found.sort();
    Ok(found)
}

fn layout(root: &Root, top: &str, endian: Endian) -> Result<Layout, TraceError> {
    let path = format!("{top}/events/header_page");
    let text = root
        .text(&path)?
        .ok_or_else(|| TraceError::Missing { path: path.clone() })?;
    Layout::parse(&text, endian).map_err(|error| TraceError::Format { path, error })
}

/// `PID COMM` per line.
fn comms(text: &str) -> HashMap<i32, String> {
    let pair = |line: &str| {
        let (pid, comm) = line.trim_start().split_once(' ')?;
        Some((pid.parse().ok()?, comm.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}
