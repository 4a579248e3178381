//! Indexes the descriptions of all events of one trace, by number and by name.

use crate::endian::Endian;
use crate::error::FormatError;
use crate::field::Field;
use crate::format::EventFormat;
use std::collections::HashMap;

/// All descriptions of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Formats {
    /// Byte order of that kernel.
    pub endian: Endian,
    all: Vec<EventFormat>,
    /// Index in `all` plus one, by event number; 0 if no event has the number.
    by_id: Vec<u32>,
    by_name: HashMap<(String, String), u32>,
    common: Option<CommonLayout>,
}

/// The common fields of every event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonValues {
    /// Number of its event.
    pub id: u16,
    /// `common_flags`: 1 interrupts off, 4 `need_resched`, 8 in a hard interrupt, 16 in a softirq, 64 in an NMI.
    pub flags: u8,
    /// Depth of disabled preemption in the lower four bits, of disabled migration in the upper ones.
    pub preempt_count: u8,
    /// The current thread; 0 is the idle task.
    pub pid: i32,
}

#[derive(Clone, Debug)]
enum CommonLayout {
    /// The layout since 2.6.32: 2 bytes of number, 1 of flags, 1 of depths, 4 of thread.
    Usual,
    /// The layout in the description.
    Described(Box<CommonFieldSet>),
}

#[derive(Clone, Debug)]
struct CommonFieldSet {
    id: Field,
    flags: Option<Field>,
    preempt_count: Option<Field>,
    pid: Field,
}

impl Formats {
    /// Empty, for a machine with that byte order.
    #[must_use]
    pub fn new(endian: Endian) -> Formats {
        Formats {
            endian,
            ..Formats::default()
        }
    }

    /// Adds a format.
    ///
    /// # Errors
    /// Another event has its number, or it lacks the common fields.
    pub fn add(&mut self, format: EventFormat) -> Result<(), FormatError> {
        let id = usize::from(format.id);
        if self.by_id.len() <= id {
            self.by_id.resize(id + 1, 0);
        }
        if let Some(first) = self.get(format.id) {
            return Err(FormatError::Twice {
                id: format.id,
                first: first.name.clone(),
                second: format.name,
            });
        }
        if self.common.is_none() {
            self.common = Some(CommonLayout::of(&format)?);
        }
        let place = self.all.len() as u32;
        if let Some(slot) = self.by_id.get_mut(id) {
            *slot = place + 1;
        }
        self.by_name.insert((format.system.clone(), format.name.clone()), place);
        self.all.push(format);
        Ok(())
    }

    /// The event with this number.
    #[must_use]
    #[inline]
    pub fn get(&self, id: u16) -> Option<&EventFormat> {
        let place = *self.by_id.get(usize::from(id))?;
        self.all.get((place as usize).checked_sub(1)?)
    }

    /// The event with this name.
    #[must_use]
    pub fn named(&self, system: &str, name: &str) -> Option<&EventFormat> {
        let place = self.by_name.get(&(system.to_owned(), name.to_owned()))?;
        self.all.get(*place as usize)
    }

    /// All formats, in insertion order.
    #[must_use]
    pub fn all(&self) -> &[EventFormat] {
        &self.all
    }

    /// The common fields of a payload; `None` if it is too short for them.
    #[must_use]
    #[inline]
    pub fn common(&self, payload: &[u8]) -> Option<CommonValues> {
        match self.common.as_ref()? {
            CommonLayout::Usual => {
                let [a, b, flags, preempt_count, pid @ ..] = *payload.first_chunk::<8>()?;
                Some(CommonValues {
                    id: self.endian.u16([a, b]),
                    flags,
                    preempt_count,
                    pid: self.endian.u32(pid) as i32,
                })
            }
            CommonLayout::Described(places) => {
                // The value is taken apart and rebuilt, because a value returned whole is passed through memory, and the usual
                // layout would be too: that costs a fifth of the time of callers that need little else.
                let CommonValues {
                    id,
                    flags,
                    preempt_count,
                    pid,
                } = places.common(payload, self.endian)?;
                Some(CommonValues {
                    id,
                    flags,
                    preempt_count,
                    pid,
                })
            }
        }
    }
}

impl CommonFieldSet {
    #[cold]
    fn common(&self, payload: &[u8], endian: Endian) -> Option<CommonValues> {
        let small = |field: &Option<Field>| {
            let value = field.as_ref().and_then(|field| field.unsigned(payload, endian));
            value.unwrap_or(0) as u8
        };
        Some(CommonValues {
            id: self.id.unsigned(payload, endian)? as u16,
            flags: small(&self.flags),
            preempt_count: small(&self.preempt_count),
            pid: self.pid.number(payload, endian)? as i32,
        })
    }
}

impl CommonLayout {
    fn of(format: &EventFormat) -> Result<CommonLayout, FormatError> {
        let common = |name: &str| format.common.iter().find(|field| field.name == name).cloned();
        let whole = |name: &str, missing| common(name).ok_or(FormatError::Missing { missing });
        let places = CommonFieldSet {
            id: whole("common_type", "the field common_type")?,
            flags: common("common_flags"),
            preempt_count: common("common_preempt_count"),
            pid: whole("common_pid", "the field common_pid")?,
        };
        let at = |field: &Field| (field.offset, field.size);
        let usual = at(&places.id) == (0, 2)
            && places.flags.as_ref().map(at) == Some((2, 1))
            && places.preempt_count.as_ref().map(at) == Some((3, 1))
            && (at(&places.pid), places.pid.signed) == ((4, 4), true);
        Ok(if usual {
            CommonLayout::Usual
        } else {
            CommonLayout::Described(Box::new(places))
        })
    }
}
