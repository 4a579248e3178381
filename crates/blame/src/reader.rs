//! Decodes trace records, using the kernel's format descriptions.

mod cross_calls;
mod deferred_work;
mod interrupts;
mod threads;

use crate::kernel_event::KernelEvent;
use crate::senders;
use events::{Endian, EventFormat, Field, Formats, PageRecord};

/// Decodes records.
#[derive(Clone, Debug)]
pub struct RecordDecoder {
    formats: Formats,
    kinds: Vec<Option<RecordKind>>,
}

impl RecordDecoder {
    /// Prepares for the events of one kernel.
    #[must_use]
    pub fn new(formats: Formats) -> RecordDecoder {
        let mut kinds = Vec::new();
        for format in formats.all() {
            let id = usize::from(format.id);
            if kinds.len() <= id {
                kinds.resize_with(id + 1, || None);
            }
            if let Some(slot) = kinds.get_mut(id) {
                *slot = RecordKind::of(format);
            }
        }
        RecordDecoder { formats, kinds }
    }

    /// The format descriptions in use.
    #[must_use]
    pub const fn formats(&self) -> &Formats {
        &self.formats
    }

    /// Whether the event with that number is relevant to interruptions.
    #[must_use]
    pub fn understands(&self, id: u16) -> bool {
        self.kinds.get(usize::from(id)).is_some_and(Option::is_some)
    }

    /// The decoded record; `None` for an event that is irrelevant to interruptions, or truncated.
    #[must_use]
    pub fn read<'a>(&'a self, record: &PageRecord<'a>) -> Option<KernelEvent<'a>> {
        let common = self.formats.common(record.payload)?;
        let kind = self.kinds.get(usize::from(common.id))?.as_ref()?;
        (kind.read)(Payload {
            bytes: record.payload,
            endian: self.formats.endian,
            kind,
        })
    }
}

/// An event: its system, its name, its fields with the optional ones in brackets, and how its records are read.
type EventRow = (&'static str, &'static str, &'static str, EventReader);

type EventReader = fn(Payload<'_>) -> Option<KernelEvent<'_>>;

/// All events that are relevant to interruptions, by their subject.
const ROWS: [&[EventRow]; 4] = [threads::ROWS, interrupts::ROWS, deferred_work::ROWS, cross_calls::ROWS];

/// In the rows, the system of our own probes: each group of them has its own.
const PROBES: &str = "our probes";

/// An event of one kernel.
#[derive(Clone, Debug)]
struct RecordKind {
    /// The fields of its row.
    fields: Box<[Option<Field>]>,
    /// The first part of its name: the interrupt vector that starts or ends.
    vector: String,
    read: EventReader,
}

impl RecordKind {
    /// `None` for an event that is irrelevant to interruptions, or lacks a field.
    fn of(format: &EventFormat) -> Option<RecordKind> {
        let (vector, end) = format.name.rsplit_once('_').unwrap_or_default();
        let wanted = match format.system.as_str() {
            // The other events of this system report how vectors are assigned, which interrupts no CPU.
            "irq_vectors" => ("irq_vectors", end),
            group if senders::is_group(group) => (PROBES, format.name.as_str()),
            system => (system, format.name.as_str()),
        };
        let mut rows = ROWS.into_iter().flatten();
        let (_, _, fields, read) = rows.find(|(system, name, ..)| (*system, *name) == wanted)?;
        let fields = fields.split_whitespace().map(|name| match name.strip_prefix('[') {
            Some(optional) => Some(format.field(optional.trim_end_matches(']')).cloned()),
            None => format.field(name).cloned().map(Some),
        });
        Some(RecordKind {
            fields: fields.collect::<Option<_>>()?,
            vector: vector.to_owned(),
            read: *read,
        })
    }
}

/// The bytes of a record, and how to read the fields of its row in them.
#[derive(Clone, Copy)]
struct Payload<'a> {
    bytes: &'a [u8],
    endian: Endian,
    kind: &'a RecordKind,
}

impl<'a> Payload<'a> {
    #[inline]
    fn field(self, place: usize) -> Option<&'a Field> {
        self.kind.fields.get(place)?.as_ref()
    }

    #[inline]
    fn number(self, place: usize) -> Option<i64> {
        self.field(place)?.number(self.bytes, self.endian)
    }

    #[inline]
    fn unsigned(self, place: usize) -> Option<u64> {
        self.field(place)?.unsigned(self.bytes, self.endian)
    }

    #[inline]
    fn text(self, place: usize) -> Option<&'a [u8]> {
        self.field(place)?.text(self.bytes, self.endian)
    }
}
