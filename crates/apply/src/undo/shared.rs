//! Computes what files that several partitions share should hold while some of those partitions stay.
//!
//! The mask of an interrupt is its mask before the first partition, minus the CPUs of all partitions that stay. A plain
//! value stays as long as a remaining partition requested it.

use super::step::StartedWrite;
use crate::layers::ApplyLayer;
use crate::masks::CpuDivision;
use crate::record::{JournalEvent, JournalRecord, StateAfter, StateBefore};
use machine::CpuSet;
use plan::{Action, Change, ReadbackComparison, UndoMethod};

/// What one layer did to the file.
struct LayerWrite<'r> {
    layer: &'r ApplyLayer<'r>,
    record: &'r JournalRecord,
    change: &'r Change,
    former: &'r str,
    value: &'r str,
}

/// A file with everything that layers did to it, first to last.
pub(super) struct SharedFile<'r> {
    pub path: &'r str,
    pub compare: ReadbackComparison,
    /// Whether it is removed with one of our cgroups.
    pub is_removed_with_set: bool,
    touches: Vec<LayerWrite<'r>>,
}

impl<'r> LayerWrite<'r> {
    /// The touch of a write; `None` for every other action.
    fn of(will: &StartedWrite<'r>) -> Option<LayerWrite<'r>> {
        let Action::Write { value, .. } = &will.change.action else {
            return None;
        };
        let StateBefore::Value { value: former, .. } = will.before else {
            return None;
        };
        Some(LayerWrite {
            layer: will.layer,
            record: will.record,
            change: will.change,
            former: former.as_deref().unwrap_or_default(),
            value,
        })
    }

    /// The value that the kernel reported after the write.
    fn read_back(&self) -> Option<&'r str> {
        self.layer.records.iter().find_map(|record| match &record.event {
            JournalEvent::Did {
                of,
                after: StateAfter::Value { value, .. },
                ..
            } if *of == self.record.seq => value.as_deref(),
            _ => None,
        })
    }
}

impl<'r> SharedFile<'r> {
    /// The file that these steps wrote to; `None` if none of them is a write.
    pub fn of(group: &[StartedWrite<'r>]) -> Option<SharedFile<'r>> {
        let touches: Vec<LayerWrite> = group.iter().filter_map(LayerWrite::of).collect();
        let Action::Write {
            path, compare, undo, ..
        } = &touches.first()?.change.action
        else {
            return None;
        };
        Some(SharedFile {
            path,
            compare: *compare,
            is_removed_with_set: *undo == UndoMethod::WithSet,
            touches,
        })
    }

    /// The intended content while these layers stay; `None` means the current content.
    pub fn intended_content(&self, stay: &[&ApplyLayer], share: &CpuDivision) -> Option<String> {
        let first = self.touches.first()?;
        if stay.is_empty() {
            return Some(first.former.to_owned());
        }
        let stays = |layer: &ApplyLayer| stay.iter().any(|other| other.seq == layer.seq);
        let mut staying = self.touches.iter().filter(|touch| stays(touch.layer)).rev();
        if !self.is_cpus() {
            if let Some(touch) = staying.next() {
                // A word in a list of words stays while one partition needs it.
                return (self.compare != ReadbackComparison::Word).then(|| touch.value.to_owned());
            }
            let knob = first.change.knob();
            let needed = stay.iter().any(|layer| plan::takes(layer.intent, knob));
            return (!needed).then(|| first.former.to_owned());
        }
        // A remaining layer wants it on isolated CPUs.
        let onto = |touch: &&LayerWrite| {
            self.set(touch.value)
                .is_some_and(|set| set.intersects(&touch.layer.intent.cpus))
        };
        if let Some(touch) = staying.find(onto) {
            return Some(touch.value.to_owned());
        }
        self.share(share)
    }

    /// Whether it has its content from before this layer: the layer's write never happened, or was undone.
    pub fn is_as_before(&self, layer: u64, now: &str) -> bool {
        let touch = self.touches.iter().rfind(|touch| touch.layer.seq == layer);
        touch.is_some_and(|touch| self.compare != ReadbackComparison::Word && self.compare.same(now, touch.former))
    }

    /// Whether a write to it was started and its outcome never recorded.
    pub fn is_unanswered(&self) -> bool {
        self.touches
            .iter()
            .any(|touch| touch.layer.outcome(touch.record.seq).is_none())
    }

    /// Texts that count as ours.
    pub fn own_texts(&self, with: &CpuDivision) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for touch in &self.touches {
            texts.push(touch.value.to_owned());
            texts.extend(touch.read_back().map(str::to_owned));
        }
        texts.extend(self.share(with));
        texts
    }

    /// Whether it holds the value that these partitions leave of the content before all of them.
    pub fn is_share(&self, now: &str, with: &CpuDivision) -> bool {
        self.share(with).is_some_and(|share| self.compare.same(now, &share))
    }

    fn share(&self, share: &CpuDivision) -> Option<String> {
        if !self.is_cpus() {
            return None;
        }
        let set = share.of(&self.original()?);
        let first = self.touches.first()?;
        Some(match self.compare {
            ReadbackComparison::Mask => set.to_mask(width(first.value)),
            _ => set.to_string(),
        })
    }

    /// Whether it holds CPUs; memory nodes use the same notation.
    fn is_cpus(&self) -> bool {
        matches!(self.compare, ReadbackComparison::List | ReadbackComparison::Mask) && !self.path.ends_with("mems")
    }

    /// The CPUs before the first touch. For a new set: the CPUs that it would have if nothing were isolated.
    fn original(&self) -> Option<CpuSet> {
        let first = self.touches.first()?;
        match self.set(first.former).filter(|former| !former.is_empty()) {
            Some(former) => Some(former),
            None => self
                .set(first.value)
                .map(|value| value.or(&first.layer.intent.cpus).or(&first.layer.beside)),
        }
    }

    fn set(&self, text: &str) -> Option<CpuSet> {
        match self.compare {
            ReadbackComparison::Mask => CpuSet::parse_mask(text).ok(),
            _ => CpuSet::parse_list(text).ok(),
        }
    }
}

/// Number of CPUs that a mask of this text has room for.
fn width(mask: &str) -> u32 {
    let digits = mask.bytes().filter(u8::is_ascii_hexdigit).count();
    u32::try_from(digits * 4).unwrap_or(u32::MAX).max(1)
}
