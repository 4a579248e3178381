//! Writes the report for a terminal.

use super::statistics::headlines;
use super::{ProveRecord, Residue, RestorationCheck, StepOutcome};
use crate::measurement::notes_text;
use crate::style::{COLUMNS, Style, TextRole, counted, cut, safe, wrap};
use crate::units::rate;
use machine::Nanos;
use std::fmt::Write as _;

/// The report for a terminal: verdict first, then the evidence, at most 80 columns.
#[must_use]
pub fn prove_text(story: &ProveRecord, style: Style) -> String {
    let mut text = String::new();
    if story.emulated {
        let stamp = "EMULATED PROCESSOR: what was done and counted is real, every time is the emulator's";
        let _ = writeln!(text, "{}", style.paint(TextRole::Bad, &wrap(stamp, 0, COLUMNS)));
    }
    let _ = writeln!(
        text,
        "{}\n",
        style.paint(TextRole::Head, &wrap(&safe(&story.verdict), 0, COLUMNS))
    );
    numbers(&mut text, story, style);
    for residue in &story.residue {
        still(&mut text, residue, style);
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
        let _ = write!(text, "\n{}", style.paint(TextRole::Head, "What limits these numbers"));
        text.push_str(&notes_text(&notes, style));
    }
    if !story.could_not.is_empty() {
        let findings = crate::plan::findings_text(&story.could_not, style);
        text.push_str(&findings.replacen("Good to know", "What could not be done", 1));
    }
    steps(&mut text, story, style);
    restored(&mut text, story.restored.as_ref(), style);
    text
}

fn numbers(text: &mut String, story: &ProveRecord, style: Style) {
    let lines = headlines(story);
    if lines.is_empty() {
        let _ = writeln!(text, "  Nothing was measured.");
        return;
    }
    let head = format!(
        "  {:<28} {:>16} {:>16}",
        format!("CPU {}", cut(&story.cpus.to_string(), 22)),
        "before",
        "isolated"
    );
    let _ = writeln!(text, "{}", style.paint(TextRole::Quiet, &head));
    for line in lines {
        let _ = writeln!(text, "  {:<28} {:>16} {:>16}", line.what, line.before, line.during);
    }
    for (name, phase) in [("before", &story.before), ("isolated", &story.during)] {
        if let Some(phase) = phase {
            let line = format!("load {name}: {}", safe(&phase.load));
            let _ = writeln!(text, "  {}", style.paint(TextRole::Quiet, &wrap(&line, 4, COLUMNS)));
        }
    }
}

fn still(text: &mut String, residue: &Residue, style: Style) {
    let _ = writeln!(
        text,
        "\n{}",
        style.paint(TextRole::Head, &format!("What still arrived on CPU {}", residue.cpu))
    );
    if residue.rows.iter().all(|row| row.count == 0) {
        let _ = writeln!(text, "  Nothing that the kernel counts.");
    } else {
        let head = format!("  {:>10} {:>10}  what", "before /s", "now /s");
        let _ = writeln!(text, "{}", style.paint(TextRole::Quiet, &head));
    }
    residue_rows(text, residue, style);
    for irq in &residue.interrupts {
        let line = format!("interrupt {} ({}) stayed: {}", irq.irq, safe(&irq.name), safe(&irq.why));
        let _ = writeln!(text, "  {}", style.paint(TextRole::Warning, &wrap(&line, 4, COLUMNS)));
    }
    if !residue.threads.is_empty() {
        let mut names: Vec<String> = residue.threads.iter().map(|thread| safe(&thread.comm)).collect();
        names.sort();
        let names = cut(&names.join(", "), 300);
        let line = format!(
            "{} stayed, because the kernel does not allow moving them: {names}",
            counted(residue.threads.len(), "thread")
        );
        let _ = writeln!(text, "  {}", wrap(&line, 4, COLUMNS));
    }
}

/// The most frequent interruptions with their rates, and how to stop each.
fn residue_rows(text: &mut String, residue: &Residue, style: Style) {
    const MAX_LISTED: usize = 12;
    let rows: Vec<_> = residue.rows.iter().filter(|row| row.count > 0).collect();
    for row in rows.iter().take(MAX_LISTED) {
        let before = row.per_second_before.map_or_else(|| "?".to_owned(), rate);
        let name = format!("{} ({})", safe(&row.what), safe(&row.name));
        let _ = writeln!(
            text,
            "  {before:>10} {:>10}  {}",
            rate(row.per_second),
            wrap(&name, 25, COLUMNS)
        );
        if !row.cure.is_empty() {
            let _ = writeln!(
                text,
                "  {:>10} {:>10}  {}",
                "",
                "",
                style.paint(TextRole::Quiet, &wrap(&format!("-> {}", safe(&row.cure)), 28, COLUMNS))
            );
        }
    }
    if rows.len() > MAX_LISTED {
        let _ = writeln!(text, "  and {} more, in the JSON and the page", rows.len() - MAX_LISTED);
    }
}

fn steps(text: &mut String, story: &ProveRecord, style: Style) {
    if story.steps.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.paint(TextRole::Head, "What was done"));
    for step in &story.steps {
        let (word, role) = match step.outcome {
            StepOutcome::Done => ("done", TextRole::Good),
            StepOutcome::Failed => ("FAILED", TextRole::Bad),
            StepOutcome::Skipped => ("skipped", TextRole::Warning),
        };
        let line = format!("{}: {}", safe(&step.name), safe(&step.detail));
        let took = Nanos(step.duration_ns).to_string();
        let gap = 8 - word.len();
        let _ = writeln!(
            text,
            "  {}{:gap$}{took:>9}  {}",
            style.paint(role, word),
            "",
            wrap(&line, 21, COLUMNS)
        );
    }
}

fn restored(text: &mut String, restored: Option<&RestorationCheck>, style: Style) {
    match restored {
        None => {}
        Some(restored) if restored.equal => {
            let _ = writeln!(
                text,
                "\n{}",
                style.paint(TextRole::Good, "Everything is as it was before.")
            );
        }
        Some(restored) => {
            let _ = writeln!(
                text,
                "\n{}",
                style.paint(TextRole::Bad, "NOT everything is as it was before:")
            );
            for difference in &restored.differences {
                let _ = writeln!(text, "  {}", wrap(&safe(difference), 4, COLUMNS));
            }
        }
    }
}
