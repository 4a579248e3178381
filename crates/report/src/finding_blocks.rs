//! Formats findings for a terminal: findings of one kind are one block, so a fault of many interrupts is read once.
//!
//! The short form leaves out notes and most of the evidence; the verdict counts them, and `-v` shows everything.

use crate::KnobDetail;
use crate::report_text::{ReportText, level_mark};
use crate::style::{counted, safe};
use machine::{CpuId, CpuSet};
use plan::{Finding, Level};

/// A finding with its evidence, one line each.
#[derive(Clone, Copy)]
pub(crate) struct EvidencedFinding<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) evidence: &'a [String],
}

/// Evidence lines of a single finding in the short form.
const MAX_EVIDENCE: usize = 1;
/// Subjects of a block in the short form, where they are no numbers.
const MAX_SUBJECTS: usize = 8;
/// The column of a finding's text.
const INDENT: usize = 11;

/// Appends the findings, in their order. The short form appends no notes.
pub(crate) fn finding_blocks(text: &mut ReportText, findings: &[EvidencedFinding], detail: KnobDetail) {
    if detail == KnobDetail::Whole {
        findings.iter().for_each(|one| single(text, one, one.evidence.len()));
        return;
    }
    for block in blocks(findings) {
        match block.as_slice() {
            [] => {}
            [one] => single(text, one, MAX_EVIDENCE),
            [first, ..] => several(text, first.finding, &block),
        }
    }
}

/// Findings of one kind together, at the place of the first one; without notes.
fn blocks<'a>(findings: &[EvidencedFinding<'a>]) -> Vec<Vec<EvidencedFinding<'a>>> {
    let mut blocks: Vec<Vec<EvidencedFinding>> = Vec::new();
    for one in findings.iter().filter(|one| one.finding.level > Level::Info) {
        let kind = (one.finding.id, one.finding.level);
        let place = blocks.iter().position(|block| {
            block
                .first()
                .is_some_and(|first| (first.finding.id, first.finding.level) == kind)
        });
        match place.and_then(|place| blocks.get_mut(place)) {
            Some(block) => block.push(*one),
            None => blocks.push(vec![*one]),
        }
    }
    blocks
}

fn single(text: &mut ReportText, one: &EvidencedFinding, most_evidence: usize) {
    let EvidencedFinding { finding, evidence } = *one;
    let words = format!(
        "[{}] {}: {}",
        finding.id,
        safe(&finding.subject),
        safe(&finding.message)
    );
    text.marked(level_mark(finding.level), 2, INDENT, &words);
    for line in evidence.iter().take(most_evidence) {
        text.wrapped(INDENT, INDENT + 2, &safe(line));
    }
    if evidence.len() > most_evidence {
        writeln!(text, "{:INDENT$}and {} more (-v)", "", evidence.len() - most_evidence);
    }
    text.fix(&finding.fix);
}

fn several(text: &mut ReportText, first: &Finding, block: &[EvidencedFinding]) {
    let meaning = plan::findings()
        .find(|row| row.id == first.id)
        .map_or("", |row| row.what);
    let words = format!("[{}] {}: {}", first.id, counted(block.len(), "finding"), safe(meaning));
    text.marked(level_mark(first.level), 2, INDENT, &words);
    let subjects: Vec<&str> = block.iter().map(|one| one.finding.subject.as_str()).collect();
    text.wrapped(INDENT, INDENT + 2, &safe(&joined(&subjects)));
    let is_same = block.iter().all(|one| one.finding.fix == first.fix);
    match (is_same, common_command(block)) {
        (true, _) => text.fix(&first.fix),
        (false, Some(command)) => text.fix(&format!("fix all with `{command}`; -v shows each fix")),
        (false, None) => text.fix(&format!("{} for the first; -v shows the others", first.fix)),
    }
}

/// The first command that every fix of a block contains, of those that repair whatever they find.
fn common_command<'a>(block: &[EvidencedFinding<'a>]) -> Option<&'a str> {
    let (first, others) = block.split_first()?;
    let is_in = |command: &str, one: &EvidencedFinding| commands(&one.finding.fix).any(|other| other == command);
    commands(&first.finding.fix).find(|command| others.iter().all(|one| is_in(command, one)))
}

/// The commands of a fix, which are in backquotes, that repair more than one finding.
fn commands(fix: &str) -> impl Iterator<Item = &str> {
    let repairs = |command: &&str| command.starts_with("quietcore apply") || *command == "quietcore check --fix";
    fix.split('`').skip(1).step_by(2).filter(repairs)
}

/// Subjects as one text: `/proc/irq/24-26,28/smp_affinity_list` where they differ in one number, a list otherwise.
fn joined(subjects: &[&str]) -> String {
    if let Some(text) = numbered(subjects) {
        return text;
    }
    let more = match subjects.len().saturating_sub(MAX_SUBJECTS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{}{more}",
        subjects
            .iter()
            .take(MAX_SUBJECTS)
            .copied()
            .collect::<Vec<_>>()
            .join(", ")
    )
}

fn numbered(subjects: &[&str]) -> Option<String> {
    let split: Vec<Vec<&str>> = subjects.iter().map(|subject| digit_runs(subject)).collect();
    let (first, rest) = split.split_first()?;
    let differs = |place: usize| rest.iter().any(|other| other.get(place) != first.get(place));
    let mut places = (0..first.len()).filter(|place| differs(*place));
    let (place, None) = (places.next()?, places.next()) else {
        return None;
    };
    if rest.iter().any(|other| other.len() != first.len()) {
        return None;
    }
    // No CPU or interrupt has a larger number.
    let numbers: Option<CpuSet> = split
        .iter()
        .map(|pieces| {
            pieces
                .get(place)?
                .parse()
                .ok()
                .map(|number: u16| CpuId(u32::from(number)))
        })
        .collect();
    let numbers = numbers?.to_string();
    Some(
        first
            .iter()
            .enumerate()
            .map(|(at, piece)| if at == place { &numbers } else { *piece })
            .collect(),
    )
}

/// A text cut where digits begin or end.
fn digit_runs(text: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_digit = first.is_ascii_digit();
        let end = rest
            .find(|letter: char| letter.is_ascii_digit() != is_digit)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        runs.push(run);
        rest = after;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_that_differ_in_one_number_are_one_range() {
        let irq = |number: u32| format!("/proc/irq/{number}/smp_affinity_list");
        let subjects = [irq(24), irq(26), irq(25), irq(120)];
        let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
        assert_eq!(joined(&subjects), "/proc/irq/24-26,120/smp_affinity_list");
        assert_eq!(joined(&["3", "5"]), "3,5");
        assert_eq!(joined(&["sda", "sdb"]), "sda, sdb");
        assert_eq!(joined(&["sda1", "sdb2"]), "sda1, sdb2");
        assert_eq!(joined(&["nvme0n1", "nvme1n1", "nvme0n2"]), "nvme0n1, nvme1n1, nvme0n2");
        assert_eq!(joined(&["rt", "rt2"]), "rt, rt2");
        assert_eq!(joined(&["99999999999999999999", "1"]), "99999999999999999999, 1");
    }
    #[test]
    fn a_command_that_is_in_every_fix_repairs_a_block() {
        let findings = |fixes: &[&str]| -> Vec<Finding> {
            let finding = |fix: &&str| Finding::new(Level::Error, plan::FindingId::KNOB_LOST, "a", "b").fix(*fix);
            fixes.iter().map(finding).collect()
        };
        for (fixes, command) in [
            (
                ["echo 0 >a, or `quietcore apply`", "echo 0 >b, or `quietcore apply`"],
                Some("quietcore apply"),
            ),
            (
                ["`a`; or `quietcore apply`", "`quietcore apply`; or `b`"],
                Some("quietcore apply"),
            ),
            (["`a`; or quietcore apply", "`b`; or quietcore apply"], None),
            (["", "`quietcore apply`"], None),
            (
                ["`quietcore inspect --irqs`; or a", "`quietcore inspect --irqs`; or b"],
                None,
            ),
        ] {
            let findings = findings(&fixes);
            let one = |finding| EvidencedFinding { finding, evidence: &[] };
            let block: Vec<EvidencedFinding> = findings.iter().map(one).collect();
            assert_eq!(common_command(&block), command, "{fixes:?}");
        }
        assert_eq!(common_command(&[]), None);
    }
}
