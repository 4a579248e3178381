//! Reads numbered interrupts: names, affinities, counts. Sources: `/proc/interrupts`, `/proc/irq/N/*`.

mod immovable;

pub use immovable::ImmovableReason;

use crate::reading::RootReader;
use crate::{CpuSet, OrderBy};
use root::Root;
use std::collections::HashSet;

/// One numbered interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub irq: u32,
    /// Names of its actions, joined by `,`; empty if no driver has requested it.
    pub name: String,
    /// Chip and trigger as printed (`PCI-MSIX-0000:00:02.0   1-edge`).
    pub chip: String,
    /// `smp_affinity_list`: the requested CPUs.
    pub affinity: Option<CpuSet>,
    /// `effective_affinity_list`: where it fires.
    pub effective: Option<CpuSet>,
    /// Whether the kernel manages the mask itself and refuses ours; `None` is unknown without an attempt.
    pub managed: Option<bool>,
    /// Whether the kernel accepts a mask from user space; `None` if the kernel does not show it.
    pub settable: Option<bool>,
    /// Whether the kernel has marked it as per-CPU; [`Interrupt::is_per_cpu`] considers more evidence.
    pub per_cpu: bool,
    /// Nonzero counts since boot by CPU, ascending.
    pub counts: Vec<(u32, u64)>,
}

/// First version in which the mode of `smp_affinity` shows whether it is writable (present in 6.12, absent in 6.1).
const MODE_SHOWS_WRITABLE_SINCE: (u32, u32) = (6, 12);

/// Affinities and counts of one interrupt; `None` if the number does not exist. From its version on, the kernel shows whether it
/// manages the mask.
#[must_use]
pub fn read_one_of(root: &Root, irq: u32, version: Option<(u32, u32)>) -> Option<Interrupt> {
    let reader = RootReader::new(root);
    let mut interrupt = None;
    let mut table = InterruptTableParser::default();
    reader.lines("/proc/interrupts", &mut |line| {
        if let Some(found) = table.take(line).filter(|found| found.irq == irq) {
            interrupt = Some(found);
        }
    });
    if interrupt.is_none() {
        reader.kind(&format!("/proc/irq/{irq}"))?;
    }
    let mut interrupt = interrupt.unwrap_or(Interrupt {
        irq,
        ..Interrupt::default()
    });
    read_affinity(&reader, &mut interrupt, version, false);
    Some(interrupt)
}

/// Parses `/proc/interrupts` (`kernel/irq/proc.c: show_interrupts`); rows without a number are skipped.
#[must_use]
pub fn parse_interrupts(text: &str) -> Vec<Interrupt> {
    let mut table = InterruptTableParser::default();
    text.lines().filter_map(|line| table.take(line.as_bytes())).collect()
}

pub(crate) fn read_all(reader: &RootReader, version: Option<(u32, u32)>) -> Option<Vec<Interrupt>> {
    let mut table = InterruptTableParser::default();
    let mut interrupts: Vec<Interrupt> = Vec::new();
    let counted = reader.lines("/proc/interrupts", &mut |line| interrupts.extend(table.take(line)));
    let listed = reader.numbered("/proc/irq", "");
    if !counted && listed.is_none() {
        return None;
    }
    let known: HashSet<u32> = interrupts.iter().map(|interrupt| interrupt.irq).collect();
    let has_directory: HashSet<u32> = listed.iter().flatten().copied().collect();
    let others = listed.into_iter().flatten().filter(|irq| !known.contains(irq));
    interrupts.extend(others.map(|irq| Interrupt {
        irq,
        ..Interrupt::default()
    }));
    interrupts.order_by_key(|interrupt| interrupt.irq);
    let has_debug = reader.kind("/sys/kernel/debug/irq/irqs").is_some();
    for interrupt in interrupts
        .iter_mut()
        .filter(|interrupt| has_directory.contains(&interrupt.irq))
    {
        read_affinity(reader, interrupt, version, has_debug);
    }
    Some(interrupts)
}

fn read_affinity(reader: &RootReader, interrupt: &mut Interrupt, version: Option<(u32, u32)>, has_debug: bool) {
    let base = format!("/proc/irq/{}", interrupt.irq);
    let both = |name: &str| reader.list_or_mask(&format!("{base}/{name}_list"), &format!("{base}/{name}"));
    interrupt.affinity = both("smp_affinity");
    interrupt.effective = both("effective_affinity");
    if version.is_some_and(|version| version >= MODE_SHOWS_WRITABLE_SINCE)
        && let Some(mode) = reader.mode(&format!("{base}/smp_affinity"))
    {
        interrupt.take_mode(mode & 0o222 != 0);
    }
    // Flags are more precise than the mode: read them if the mode shows nothing or leaves the reason open.
    if has_debug && interrupt.settable != Some(true) {
        let flags = reader.text(&format!("/sys/kernel/debug/irq/irqs/{}", interrupt.irq));
        flags.iter().for_each(|flags| interrupt.take_flags(flags));
    }
}

/// Parses `/proc/interrupts` line by line: it has a column for every online CPU, so with 1,024 CPUs and 10,000
/// interrupts it is 110 MB of mostly zeros.
#[derive(Default)]
struct InterruptTableParser {
    /// Which CPU a column belongs to.
    columns: Vec<u32>,
}

impl InterruptTableParser {
    fn take(&mut self, line: &[u8]) -> Option<Interrupt> {
        let start = line.iter().position(|&byte| byte != b' ')?;
        let line = line.get(start..)?;
        if line.starts_with(b"CPU") {
            self.columns = line.split(|&byte| byte == b' ').filter_map(column).collect();
            return None;
        }
        let (irq, used) = leading_number(line)?;
        if line.get(used) != Some(&b':') {
            return None;
        }
        let mut at = used + 1;
        let mut counts = Vec::new();
        // The counts are right-aligned numbers; the first other word starts the chip's name.
        for &cpu in &self.columns {
            while line.get(at) == Some(&b' ') {
                at += 1;
            }
            let Some((count, used)) = line.get(at..).and_then(leading_number) else {
                break;
            };
            if !matches!(line.get(at + used), None | Some(b' ')) {
                break;
            }
            at += used;
            if count != 0 {
                counts.push((cpu, count));
            }
        }
        let (chip, name) = split_tail(line.get(at..).unwrap_or_default());
        Some(Interrupt {
            irq: u32::try_from(irq).ok()?,
            name,
            chip,
            counts,
            ..Interrupt::default()
        })
    }
}

fn column(word: &[u8]) -> Option<u32> {
    let (cpu, used) = leading_number(word.strip_prefix(b"CPU")?)?;
    u32::try_from(cpu)
        .ok()
        .filter(|&cpu| used + 3 == word.len() && cpu <= CpuSet::MAX_CPU)
}

fn leading_number(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    let mut used = 0;
    while let Some(digit) = text
        .get(used)
        .map(|byte| byte.wrapping_sub(b'0'))
        .filter(|&digit| digit < 10)
    {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        used += 1;
    }
    (used > 0).then_some((value, used))
}

/// The chip with its pin and trigger, and the names of the actions. The kernel pads the former and puts two spaces
/// before the latter; without an action the padding ends the line.
fn split_tail(tail: &[u8]) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    let gap = tail.windows(2).rposition(|pair| pair == b"  ");
    match gap.and_then(|gap| tail.split_at_checked(gap + 2)) {
        Some((chip, name)) if !chip.trim_ascii().is_empty() => (text(chip), text(name)),
        _ => (text(tail), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(text: &str) -> Interrupt {
        let mut all = parse_interrupts(&format!("           CPU0       CPU2       \n{text}\n"));
        assert_eq!(all.len(), 1, "of {text}");
        all.remove(0)
    }

    #[test]
    fn interrupt_rows_are_parsed() {
        let check = |text: &str, irq: u32, counts: &[(u32, u64)], chip: &str, name: &str| {
            let found = row(text);
            assert_eq!((found.irq, found.counts.as_slice()), (irq, counts), "of {text}");
            assert_eq!((found.chip.as_str(), found.name.as_str()), (chip, name), "of {text}");
        };
        check(
            " 24:          1          0  IO-APIC   5-edge      ACPI:Ged",
            24,
            &[(0, 1)],
            "IO-APIC   5-edge",
            "ACPI:Ged",
        );
        check(
            " 28:          0         7 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config, my device",
            28,
            &[(2, 7)],
            "PCI-MSIX-0000:00:01.0   0-edge",
            "virtio0-config, my device",
        );
        check(
            " 27:   9   8     GICv3  27 Level     arch_timer",
            27,
            &[(0, 9), (2, 8)],
            "GICv3  27 Level",
            "arch_timer",
        );
        check("  9:   0   0   IO-APIC   9-edge    ", 9, &[], "IO-APIC   9-edge", "");
        check(
            "  8:   1   0   IO-APIC-edge      rtc0",
            8,
            &[(0, 1)],
            "IO-APIC-edge",
            "rtc0",
        );
        check(" 16:   5", 16, &[(0, 5)], "", "");
        check(
            " 17:   5   6   7xx   1  Edge      y",
            17,
            &[(0, 5), (2, 6)],
            "7xx   1  Edge",
            "y",
        );
    }

    #[test]
    fn rows_without_a_number_are_skipped() {
        let text = "      CPU0\nNMI:   0   Non-maskable interrupts\nERR:   0\n\n:\n12\n99999999999999999999: 1\n";
        assert_eq!(parse_interrupts(text), []);
        assert_eq!(
            parse_interrupts("  1:  5  x  y\n")[0].counts,
            [],
            "no header, so no columns"
        );
    }

    #[test]
    fn only_nonzero_counts_of_wide_rows_are_stored() {
        let header: String = (0..1024).map(|cpu| format!(" {:>10}", format!("CPU{cpu}"))).collect();
        let zeros: String = (0..1024)
            .map(|cpu| format!(" {:>10}", if cpu == 700 { 12 } else { 0 }))
            .collect();
        let all = parse_interrupts(&format!("{header}\n5:{zeros}  chip 1-edge      nvme0q1\n"));
        assert_eq!(
            (all[0].counts.as_slice(), all[0].name.as_str()),
            (&[(700, 12)][..], "nvme0q1")
        );
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in "[ 0-9A-Z:\\n\u{e4}]{0,200}") {
            let _ = parse_interrupts(&format!("CPU0 CPU1\n{text}"));
        }
    }
}
