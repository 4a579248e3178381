//! Decodes trace records, using the kernel's format descriptions.

mod cross_calls;
mod deferred_work;
mod interrupts;
mod threads;

use crate::kernel_event::KernelEvent;
use cross_calls::CrossCallFields;
use deferred_work::DeferredFields;
use events::{Endian, EventFormat, Field, Formats, PageRecord};
use interrupts::InterruptFields;
use threads::ThreadFields;

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
        let payload = Payload {
            bytes: record.payload,
            endian: self.formats.endian,
        };
        match kind {
            RecordKind::Thread(fields) => fields.read(payload),
            RecordKind::Interrupt(fields) => fields.read(payload),
            RecordKind::Deferred(fields) => fields.read(payload),
            RecordKind::CrossCall(fields) => fields.read(payload),
        }
    }
}

/// The fields of an event, by the subject of the event.
#[derive(Clone, Debug)]
enum RecordKind {
    Thread(ThreadFields),
    Interrupt(InterruptFields),
    Deferred(DeferredFields),
    CrossCall(CrossCallFields),
}

impl RecordKind {
    /// `None` for an event that is irrelevant to interruptions, or lacks a field.
    fn of(format: &EventFormat) -> Option<RecordKind> {
        ThreadFields::of(format)
            .map(RecordKind::Thread)
            .or_else(|| InterruptFields::of(format).map(RecordKind::Interrupt))
            .or_else(|| DeferredFields::of(format).map(RecordKind::Deferred))
            .or_else(|| CrossCallFields::of(format).map(RecordKind::CrossCall))
    }
}

/// The bytes of a record, and how to read numbers in them.
#[derive(Clone, Copy)]
struct Payload<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl<'a> Payload<'a> {
    #[inline]
    fn number(self, field: &Field) -> Option<i64> {
        field.number(self.bytes, self.endian)
    }

    #[inline]
    fn unsigned(self, field: &Field) -> Option<u64> {
        field.unsigned(self.bytes, self.endian)
    }

    #[inline]
    fn text(self, field: &Field) -> Option<&'a [u8]> {
        field.text(self.bytes, self.endian)
    }

    #[inline]
    fn content(self, field: &Field) -> Option<&'a [u8]> {
        field.content(self.bytes, self.endian)
    }

    #[inline]
    fn bytes(self, field: &Field) -> Option<&'a [u8]> {
        field.bytes(self.bytes)
    }
}
