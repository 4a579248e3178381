//! Joins the changes of several partitions to one file into one value that is right for all of them.
//!
//! Each partition plans from the file's current value and removes its own CPUs. If two partitions must restrict the
//! same mask, each value still contains the other's CPUs. Writing them in turn would briefly put isolated CPUs back.

use crate::{Action, Change, ReadbackComparison};
use machine::CpuSet;
use std::collections::BTreeMap;

/// Sets every change of a CPU set to the intersection of all changes of the same file. If that is empty, as for an
/// interrupt that two partitions claim, the values stay as they are.
pub fn join(changes: &mut [&mut Change]) {
    let mut common: BTreeMap<String, (usize, CpuSet)> = BTreeMap::new();
    for change in changes.iter() {
        let Some((path, _, cpus)) = set_of(change) else {
            continue;
        };
        common
            .entry(path.to_owned())
            .and_modify(|(count, all)| {
                *count += 1;
                *all = all.and(&cpus);
            })
            .or_insert((1, cpus));
    }
    for change in changes.iter_mut() {
        let Some((path, compare, _)) = set_of(change) else {
            continue;
        };
        let Some((_, cpus)) = common.get(path).filter(|(count, cpus)| *count > 1 && !cpus.is_empty()) else {
            continue;
        };
        let Action::Write { value, .. } = &mut change.action else {
            continue;
        };
        *value = match compare {
            // Keep the mask's number of digits.
            ReadbackComparison::Mask => cpus.to_mask(digits(value)),
            _ => cpus.to_string(),
        };
        change.after.clone_from(value);
    }
}

/// File, format and CPUs of a change that writes a set of CPUs.
fn set_of(change: &Change) -> Option<(&str, ReadbackComparison, CpuSet)> {
    let Action::Write {
        path, value, compare, ..
    } = &change.action
    else {
        return None;
    };
    Some((path, *compare, compare.cpus(value)?))
}

/// How many CPUs a mask with this many digits can hold.
fn digits(mask: &str) -> u32 {
    let digits = mask.bytes().filter(u8::is_ascii_hexdigit).count();
    u32::try_from(digits).unwrap_or(u32::MAX).saturating_mul(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChangeKind, RefusalPolicy, UndoMethod};

    fn change(path: &str, value: &str, compare: ReadbackComparison) -> Change {
        Change {
            id: "knob".to_owned(),
            target: path.to_owned(),
            kind: ChangeKind::Runtime,
            before: Some("f".to_owned()),
            after: value.to_owned(),
            why: String::new(),
            undo: String::new(),
            action: Action::Write {
                path: path.to_owned(),
                value: value.to_owned(),
                compare,
                on_refusal: RefusalPolicy::Report,
                undo: UndoMethod::Restore,
            },
        }
    }

    fn joined(mut changes: Vec<Change>) -> Vec<String> {
        join(&mut changes.iter_mut().collect::<Vec<_>>());
        changes.into_iter().map(|change| change.after).collect()
    }

    #[test]
    fn a_file_that_two_partitions_change_gets_one_joined_value() {
        use ReadbackComparison::{List, Mask, Text};
        let (mask, list) = ("/proc/irq/default_smp_affinity", "/proc/irq/25/smp_affinity_list");
        assert_eq!(
            joined(vec![change(mask, "b", Mask), change(mask, "7", Mask)]),
            ["3", "3"]
        );
        assert_eq!(
            joined(vec![change(list, "0-2", List), change(list, "0-1,3", List)]),
            ["0-1", "0-1"]
        );
        assert_eq!(
            joined(vec![change(list, "2", List), change(list, "3", List)]),
            ["2", "3"]
        );
        assert_eq!(
            joined(vec![change(mask, "b", Mask), change(list, "0-2", List)]),
            ["b", "0-2"]
        );
        assert_eq!(
            joined(vec![change(mask, "2", Text), change(mask, "1", Text)]),
            ["2", "1"]
        );
        let wide = joined(vec![
            change(mask, "0000000f,fffffffe", Mask),
            change(mask, "0000000f,fffffffd", Mask),
        ]);
        assert_eq!(wide, ["0000000f,fffffffc", "0000000f,fffffffc"]);
    }
}
