//! Explains the columns and marks of `blame`, and sums its cures up as the fewest commands.

use super::is_timed;
use crate::report_text::ReportText;
use crate::style::{Style, TextRole, safe};
use ::blame::{BlameResult, Confidence, Interruption};
use plan::knobs;
use plan::parameters::ParameterCost;

const WITH: &str = " --with ";
const PID: &str = " --pid ";

/// The columns, and those marks that occur.
pub(super) fn legend(text: &mut ReportText, answer: &BlameResult) {
    let rows = || answer.cpus.iter().flat_map(|cpu| &cpu.interruptions);
    if rows().next().is_none() {
        return;
    }
    let is = |wanted: Confidence| rows().any(|row| row.confidence == wanted);
    let marks = [
        (
            is(Confidence::Counted),
            "(counted): known from counters, which have no times.",
        ),
        (
            is(Confidence::Inferred),
            "(inferred): concluded from what happened near it.",
        ),
        (rows().any(|row| !is_timed(row)), "?: not known."),
    ];
    writeln!(text);
    let columns = "share, time: of the CPU's stolen time. count: how often. longest: a single interruption.";
    text.wrapped_as(TextRole::Quiet, 2, 2, columns);
    for (_, what) in marks.iter().filter(|(occurs, _)| *occurs) {
        text.wrapped_as(TextRole::Quiet, 2, 2, what);
    }
}

/// The last lines of `blame`: the fewest commands that stop what can be stopped; empty without an interruption. A knob that
/// reduces safety is in none of them; its command follows, with its side effects.
#[must_use]
pub fn blame_conclusion(answer: &BlameResult, style: Style) -> String {
    let rows = || answer.cpus.iter().flat_map(|cpu| &cpu.interruptions);
    let mut text = ReportText::new(style);
    if rows().next().is_none() {
        return text.into_string();
    }
    let (safe_rows, risky_rows): (Vec<_>, Vec<_>) = rows()
        .filter(|row| row.fix.starts_with("quietcore "))
        .partition(|row| risks(&row.fix).is_empty());
    writeln!(text);
    if !safe_rows.is_empty() {
        safe_commands(&mut text, &safe_rows, answer);
    } else if risky_rows.is_empty() {
        text.wrapped(
            0,
            2,
            "No command of quietcore stops any of this; the reasons are above.",
        );
    }
    if !risky_rows.is_empty() {
        text.painted(TextRole::Head, "With side effects:");
    }
    for command in combined(risky_rows.iter().map(|row| row.fix.as_str())) {
        writeln!(text, "  {}", safe(&command));
        for (knob, side_effects) in risks(&command) {
            text.wrapped(4, 6, &format!("{knob}: {side_effects}"));
        }
    }
    text.into_string()
}

/// The commands that reduce no safety, and the share of the stolen time that they stop.
fn safe_commands(text: &mut ReportText, rows: &[&Interruption], answer: &BlameResult) {
    let cured_ns: u64 = rows.iter().map(|row| row.total_ns).sum();
    let stolen_ns: u64 = answer.cpus.iter().map(|cpu| cpu.stolen_ns).sum();
    let title = match cured_ns {
        0 => "Next, to stop what was counted:".to_owned(),
        _ => {
            let share = cured_ns as f64 * 100.0 / stolen_ns.max(cured_ns) as f64;
            match share {
                ..0.05 => "This would stop less than 0.1% of the stolen time:".to_owned(),
                ..0.95 => format!("This would stop {share:.1}% of the stolen time:"),
                _ => format!("Next, to stop {share:.1}% of the stolen time:"),
            }
        }
    };
    text.painted(TextRole::Head, &title);
    for command in combined(rows.iter().map(|row| row.fix.as_str())) {
        writeln!(text, "  {}", safe(&command));
    }
}

/// The knobs of a command that reduce safety or security, each with its side effects.
fn risks(command: &str) -> Vec<(&'static str, &'static str)> {
    let names = command.split(WITH).skip(1);
    let knobs = names.filter_map(|text| knobs::knob(text.split(['=', ' ']).next()?));
    knobs
        .filter(|knob| matches!(knob.price, ParameterCost::Safety | ParameterCost::Security))
        .map(|knob| (knob.name, knob.side_effects))
        .collect()
}

/// The commands, as few as possible: those that differ only in what they repeat become one.
pub(crate) fn combined<'a>(commands: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<CureCommand> = Vec::new();
    for command in commands.map(CureCommand::parse) {
        match all.iter_mut().find(|known| known.fixed == command.fixed) {
            Some(known) => {
                let new = command.values.into_iter().filter(|value| !known.values.contains(value));
                known.values.extend(new.collect::<Vec<_>>());
            }
            None => all.push(command),
        }
    }
    all.iter().map(CureCommand::text).collect()
}

/// A command whose last option may be repeated: `--with KNOB` of `apply`, `--pid PID` of `move`.
struct CureCommand<'a> {
    fixed: String,
    option: &'static str,
    values: Vec<&'a str>,
}

impl<'a> CureCommand<'a> {
    fn parse(command: &'a str) -> CureCommand<'a> {
        if let Some((head, tail)) = command.split_once(PID) {
            let (pid, rest) = tail.split_at(tail.find(' ').unwrap_or(tail.len()));
            return CureCommand {
                fixed: format!("{head}{rest}"),
                option: PID,
                values: vec![pid],
            };
        }
        let (mut fixed, mut values) = (command, Vec::new());
        while let Some((head, knob)) = fixed.rsplit_once(WITH).filter(|(_, knob)| !knob.contains(' ')) {
            fixed = head;
            values.insert(0, knob);
        }
        CureCommand {
            fixed: fixed.to_owned(),
            option: WITH,
            values,
        }
    }

    fn text(&self) -> String {
        let values = self.values.iter();
        values.fold(self.fixed.clone(), |line, value| {
            format!("{line}{}{value}", self.option)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_that_reduce_safety_are_known_with_their_side_effects() {
        assert_eq!(risks("quietcore apply --cpus 1 --with rq_affinity=2"), []);
        let [(name, side_effects)] = risks("quietcore apply --cpus 1 --with rq_affinity=2 --with cpu_cycle")[..] else {
            panic!("one knob of the two reduces safety");
        };
        assert_eq!(name, "cpu_cycle");
        assert!(side_effects.contains("the whole machine stops"), "{side_effects}");
    }

    #[test]
    fn commands_that_differ_in_a_knob_or_a_process_become_one() {
        let all = [
            "quietcore apply --cpus 1 --with rq_affinity=2",
            "quietcore boot set --cpus 1",
            "quietcore apply --cpus 1",
            "quietcore apply --cpus 1 --with watchdog",
            "quietcore apply --cpus 1 --with rq_affinity=2",
            "quietcore move --back --pid 7 --from net",
            "quietcore move --back --pid 8 --from net",
            "quietcore move --back --pid 9",
        ];
        let expected = [
            "quietcore apply --cpus 1 --with rq_affinity=2 --with watchdog",
            "quietcore boot set --cpus 1",
            "quietcore move --back --from net --pid 7 --pid 8",
            "quietcore move --back --pid 9",
        ];
        assert_eq!(combined(all.into_iter()), expected);
    }
}
