//! Writes the report for a terminal.

use super::statistics::headlines;
use super::{ProveRecord, Residue, RestorationCheck, StepOutcome};
use crate::prediction::left_text;
use crate::report_text::ReportText;
use crate::style::{COLUMNS, Style, TextRole, counted, cut, safe, wrap};
use crate::units::rate;
use machine::Nanos;

/// The report for a terminal: verdict first, then the evidence, at most 80 columns.
#[must_use]
pub fn prove_text(story: &ProveRecord, style: Style) -> String {
    let mut text = ReportText::new(style);
    if story.emulated {
        let stamp = "EMULATED PROCESSOR: actions and counters are real, every time is that of the emulator";
        text.wrapped_as(TextRole::Bad, 0, 0, stamp);
    }
    text.wrapped_as(TextRole::Head, 0, 0, &safe(&story.verdict));
    writeln!(text);
    numbers(&mut text, story);
    if let Some(left) = &story.predicted_isolation {
        let line = format!("predicted before the isolation: {}", left_text(left));
        text.wrapped_as(TextRole::Quiet, 2, 4, &line);
    }
    for residue in &story.residue {
        still(&mut text, residue);
    }
    let notes: Vec<_> = [&story.before, &story.during]
        .into_iter()
        .flatten()
        .flat_map(|phase| [&phase.latency, &phase.noise])
        .flatten()
        .flat_map(|result| result.findings.clone())
        .fold(Vec::new(), |mut all, note| {
            if !all.contains(&note) {
                all.push(note);
            }
            all
        });
    if !notes.is_empty() {
        write!(text, "\n{}", style.paint(TextRole::Head, "What limits these numbers"));
        text.notes(&notes);
    }
    text.findings("What could not be done", &story.could_not);
    steps(&mut text, story);
    if let Some(check) = &story.restored {
        restored(&mut text, check);
    }
    text.into_string()
}

fn numbers(text: &mut ReportText, story: &ProveRecord) {
    let lines = headlines(story);
    if lines.is_empty() {
        writeln!(text, "  Nothing was measured.");
        return;
    }
    let head = format!(
        "  {:<28} {:>16} {:>16}",
        format!("CPU {}", cut(&story.cpus.to_string(), 22)),
        "before",
        "isolated"
    );
    text.painted(TextRole::Quiet, &head);
    for line in lines {
        writeln!(text, "  {:<28} {:>16} {:>16}", line.what, line.before, line.during);
    }
    for (name, phase) in [("before", &story.before), ("isolated", &story.during)] {
        if let Some(phase) = phase {
            let line = format!("load {name}: {}", safe(&phase.load));
            text.wrapped_as(TextRole::Quiet, 2, 4, &line);
        }
    }
}

fn still(text: &mut ReportText, residue: &Residue) {
    text.heading(&format!("What still arrived on CPU {}", residue.cpu));
    if residue.rows.iter().all(|row| row.count == 0) {
        writeln!(text, "  No event that the kernel counts.");
    } else {
        let head = format!("  {:>10} {:>10}  what", "before /s", "now /s");
        text.painted(TextRole::Quiet, &head);
    }
    residue_rows(text, residue);
    for irq in &residue.interrupts {
        let line = format!("interrupt {} ({}) stayed: {}", irq.irq, safe(&irq.name), safe(&irq.why));
        text.wrapped_as(TextRole::Warning, 2, 4, &line);
    }
    if !residue.threads.is_empty() {
        let mut names: Vec<String> = residue.threads.iter().map(|thread| safe(&thread.comm)).collect();
        names.sort_unstable();
        let names = cut(&names.join(", "), 300);
        let line = format!(
            "{} stayed, because the kernel does not allow moving them: {names}",
            counted(residue.threads.len(), "thread")
        );
        text.wrapped(2, 4, &line);
    }
}

/// The most frequent interruptions with their rates, and how to stop each.
fn residue_rows(text: &mut ReportText, residue: &Residue) {
    const MAX_LISTED: usize = 12;
    let rows: Vec<_> = residue.rows.iter().filter(|row| row.count > 0).collect();
    for row in rows.iter().take(MAX_LISTED) {
        let before = row.per_second_before.map_or_else(|| "?".to_owned(), rate);
        let name = format!("{} ({})", safe(&row.what), safe(&row.name));
        writeln!(
            text,
            "  {before:>10} {:>10}  {}",
            rate(row.per_second),
            wrap(&name, 25, COLUMNS)
        );
        if !row.cure.is_empty() {
            text.wrapped_as(TextRole::Quiet, 25, 28, &format!("-> {}", safe(&row.cure)));
        }
    }
    if rows.len() > MAX_LISTED {
        writeln!(text, "  and {} more, in the JSON and the page", rows.len() - MAX_LISTED);
    }
}

fn steps(text: &mut ReportText, story: &ProveRecord) {
    if story.steps.is_empty() {
        return;
    }
    text.heading("What was done");
    for step in &story.steps {
        let (word, role) = match step.outcome {
            StepOutcome::Done => ("done", TextRole::Good),
            StepOutcome::Failed => ("FAILED", TextRole::Bad),
            StepOutcome::Skipped => ("skipped", TextRole::Warning),
        };
        let line = match step.detail.as_str() {
            "" => safe(&step.name).to_string(),
            detail => format!("{}: {}", safe(&step.name), safe(detail)),
        };
        let took = Nanos(step.duration_ns).to_string();
        let gap = 8 - word.len();
        writeln!(
            text,
            "  {}{:gap$}{took:>9}  {}",
            text.paint(role, word),
            "",
            wrap(&line, 21, COLUMNS)
        );
    }
}

fn restored(text: &mut ReportText, check: &RestorationCheck) {
    writeln!(text);
    if check.equal {
        text.painted(TextRole::Good, "Everything is as it was before.");
        return;
    }
    text.painted(TextRole::Bad, "NOT everything is as it was before:");
    for difference in &check.differences {
        text.wrapped(2, 4, &safe(difference));
    }
}
