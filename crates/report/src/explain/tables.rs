//! Looks up a word in all tables: knobs, settings, counters, classes, boot parameters, findings, kernel threads.

use super::errors;
use super::surroundings::Surroundings;
use super::threads::of_thread;
use super::{Explanation, sentence};
use crate::kernel_threads::{KERNEL_THREADS, kernel_thread};
use crate::report_text::{ReportText, level_mark};
use crate::style::{Style, TextRole};
use observe::{CLASSES, COUNTERS, ClassRow, CounterDefinition, CounterFile, counter};
use plan::lint::RULES;
use plan::parameters::{ParameterCost, ParameterReader, ParameterRow, parameter, parameters};
use plan::settings::{SettingRow, setting, settings};
use plan::words::nearest;
use plan::{KNOBS, Knob, KnobUse, KnobValueKind};

/// The word is in no table; these are the most similar ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarWords(pub Vec<String>);

/// All meanings of a word.
///
/// # Errors
/// [`SimilarWords`] for a word in no table.
pub fn explain(word: &str, here: &dyn Surroundings) -> Result<Vec<Explanation>, SimilarWords> {
    let word = word.trim();
    // `nohz_full=2-3` asks about nohz_full.
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let mut entries = Vec::new();
    entries.extend(numbered(word, here));
    entries.extend(
        KNOBS
            .iter()
            .filter(|knob| knob.is_called(name) || knob.has_file(name))
            .map(|knob| of_knob(knob)),
    );
    entries.extend(setting(name).map(of_setting));
    entries.extend(parameter(name).filter(|_| !name.is_empty()).map(of_parameter));
    entries.extend(ipi(word));
    entries.extend(counter(word).map(of_counter));
    entries.extend(CLASSES.iter().filter(|row| is_class(row, word)).map(of_class));
    entries.extend(of_finding(word));
    entries.extend(errors::explained(word));
    if entries.is_empty() || word.starts_with("irq/") {
        // The patterns of the list are words too: `rcuc/#`.
        let listed = || KERNEL_THREADS.iter().find(|row| row.pattern == word);
        entries.extend(
            kernel_thread(word)
                .or_else(listed)
                .map(|row| of_thread(word, row, here)),
        );
    }
    if entries.is_empty() {
        let all = words();
        let near = nearest(word, all.iter().map(String::as_str), 5);
        return Err(SimilarWords(near.into_iter().map(str::to_owned).collect()));
    }
    Ok(entries)
}

/// Every available word, kind after kind.
#[must_use]
pub fn words() -> Vec<String> {
    groups().into_iter().flat_map(|(_, names)| names).collect()
}

fn groups() -> Vec<(&'static str, Vec<String>)> {
    let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<String>>();
    let findings = RULES
        .iter()
        .map(|rule| rule.id)
        .chain(plan::findings().map(|row| row.id.as_str()));
    vec![
        (
            "Knobs",
            own(KNOBS
                .iter()
                .flat_map(|knob| std::iter::once(&knob.name).chain(knob.aliases))
                .copied()
                .collect()),
        ),
        ("Settings", own(settings().map(|row| row.name).collect())),
        ("Boot parameters", own(parameters().map(|row| row.name).collect())),
        ("Counters", own(COUNTERS.iter().map(|row| row.name).collect())),
        ("Interruption classes", CLASSES.iter().map(class_word).collect()),
        (
            "Kernel threads",
            own(KERNEL_THREADS.iter().map(|row| row.pattern).collect()),
        ),
        ("Interrupts", own(vec!["irq/N"])),
        ("Errors and calls", own(errors::words().collect())),
        ("Findings", own(findings.collect())),
    ]
}

/// `explain --list`.
#[must_use]
pub fn contents_text(style: Style) -> String {
    let mut text = ReportText::new(style);
    for (title, names) in groups() {
        text.painted(TextRole::Head, title);
        // Names with blanks are quoted for the shell.
        let quoted = names.into_iter().map(|name| match name.contains(' ') {
            true => format!("'{name}'"),
            false => name,
        });
        text.wrapped(2, 2, &quoted.collect::<Vec<_>>().join("  "));
        writeln!(text);
    }
    writeln!(
        text,
        "# is any number, * anything: explain rcuc/2, explain kworker/3:1H"
    );
    text.into_string()
}

fn of_knob(knob: &Knob) -> Explanation {
    Explanation::new("knob", knob.name, sentence(knob.what))
        .part("file", [knob.files, knob.related].concat().join(", "))
        .part("isolated CPUs", knob.isolation)
        .part("since", knob.since)
        .part("needs", knob.needs)
        .part("taken", usage_text(knob))
        .part("stops", knob.stops.join(", "))
        .part("price", price(knob.price))
        .part("side effects", knob.side_effects)
        .part("verify", knob.verify)
        .part("refused", errors::of_knob(knob))
        .part("set by", knob.peers.join(", "))
}

/// Which profile contains a knob, and how to request or omit it.
fn usage_text(knob: &Knob) -> String {
    let value = match (knob.takes, knob.usual) {
        (KnobValueKind::Nothing, _) => String::new(),
        (takes, "") => format!("={}", takes.text()),
        (takes, usual) => format!("={} (usual: {usual})", takes.text()),
    };
    let by_name = format!("--with {}{value}", knob.name);
    match (knob.usage, knob.needed) {
        (KnobUse::ByName, _) => format!("by name only: {by_name}"),
        (KnobUse::From(profile), "") => {
            let profile = format!("{profile:?}").to_lowercase();
            format!("profile {profile} and above; {by_name}; --without {}", knob.name)
        }
        (KnobUse::From(_), needed) => format!("always: {needed}"),
    }
}

fn of_setting(row: &SettingRow) -> Explanation {
    Explanation::new("setting", row.name, sentence(row.what))
        .part("file", row.path)
        .part("isolated CPUs", row.isolation)
        .part("since", row.since)
        .part("stops", row.stops.join(", "))
        .part("price", price(row.price))
}

fn of_parameter(row: &ParameterRow) -> Explanation {
    Explanation::new(
        "boot parameter",
        format!("{}{}", row.name, row.form),
        sentence(row.what),
    )
    .part("isolated CPUs", row.isolation)
    .part("since", row.since)
    .part("needs", row.needs)
    .part("at run time", row.twin)
    .part("price", price(row.price))
    .part(
        "read by",
        if row.reader == ParameterReader::Program {
            "programs, not the kernel"
        } else {
            ""
        },
    )
}

fn price(price: ParameterCost) -> &'static str {
    match price {
        ParameterCost::None => "",
        ParameterCost::Speed => "speed elsewhere",
        ParameterCost::Power => "power and heat",
        ParameterCost::Safety => "safety: faults stay unseen; never set without being asked for",
        ParameterCost::Security => "security; never set without being asked for",
    }
}

fn of_counter(row: &CounterDefinition) -> Explanation {
    let place = match row.place {
        CounterFile::Interrupts => "/proc/interrupts",
        CounterFile::X86 => "/proc/interrupts (x86)",
        CounterFile::Arm => "/proc/interrupts (arm, arm64)",
        CounterFile::Softirqs => "/proc/softirqs",
    };
    let class = row.class.row();
    Explanation::new("counter", row.name, format!("Counts {}.", row.what))
        .part("where", place)
        .part("class", class.name)
        .part("what it is", class.what)
        .part("usual cause", class.cause)
        .part("what stops it", class.knob)
}

/// arm prints `IPI0:` and so on, and has changed their order over the years.
fn ipi(word: &str) -> Option<Explanation> {
    let number = word.strip_prefix("IPI")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let kinds: Vec<&str> = COUNTERS
        .iter()
        .filter(|row| row.place == CounterFile::Arm && row.name.contains(' '))
        .map(|row| row.name)
        .collect();
    is_number.then(|| {
        Explanation::new(
            "counter",
            word,
            "An interrupt from one CPU to another, on arm and arm64.",
        )
        .part("where", "/proc/interrupts")
        .part(
            "which one",
            "the text at the end of its row says it: the numbers changed between kernels",
        )
        .part("kinds", kinds.join(", "))
    })
}

fn class_word(row: &ClassRow) -> String {
    let debug = format!("{:?}", row.class);
    let mut word = String::new();
    for letter in debug.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

fn is_class(row: &ClassRow, word: &str) -> bool {
    row.name.eq_ignore_ascii_case(word) || class_word(row) == word
}

fn of_class(row: &ClassRow) -> Explanation {
    let counters: Vec<&str> = COUNTERS
        .iter()
        .filter(|one| one.class == row.class)
        .map(|one| one.name)
        .collect();
    Explanation::new("interruption class", class_word(row), row.what)
        .part("name", row.name)
        .part("usual cause", row.cause)
        .part("what stops it", row.knob)
        .part("counters", counters.join(", "))
}

fn of_finding(word: &str) -> Option<Explanation> {
    if let Some(rule) = RULES.iter().find(|rule| rule.id == word) {
        return Some(
            Explanation::new("finding", rule.id, sentence(rule.truth))
                .part("about", "boot lines")
                .part("level", level_mark(rule.level).0)
                .part("fix", rule.fix),
        );
    }
    let row = plan::findings().find(|row| row.id.as_str() == word)?;
    Some(Explanation::new("finding", row.id.as_str(), sentence(row.what)).part("about", row.about))
}

/// `irq/47`, with the machine's facts about it.
fn numbered(word: &str, here: &dyn Surroundings) -> Option<Explanation> {
    const WHAT: &str = "An interrupt of a device, with a number. It fires on one CPU of its mask.";
    if word == "irq/N" {
        return Some(Explanation::new("interrupt", word, WHAT).part("moved with", MOVE_IRQ));
    }
    let number: u32 = word.strip_prefix("irq/")?.split('-').next()?.parse().ok()?;
    let entry = Explanation::new("interrupt", format!("irq/{number}"), WHAT);
    let Some(seen) = here.interrupt(number) else {
        return Some(
            entry
                .part("now", "this machine has no such interrupt")
                .part("moved with", MOVE_IRQ),
        );
    };
    let counts: u64 = seen.counts.iter().map(|(_, count)| count).sum();
    let mut busiest = seen.counts.clone();
    busiest.sort_by_key(|(cpu, count)| (std::cmp::Reverse(*count), *cpu));
    let busiest: Vec<String> = busiest
        .iter()
        .take(4)
        .map(|(cpu, count)| format!("{count} on CPU {cpu}"))
        .collect();
    let list = |set: &Option<machine::CpuSet>| set.as_ref().map_or("unknown".to_owned(), ToString::to_string);
    let name = if seen.name.is_empty() {
        "no driver has requested it"
    } else {
        &seen.name
    };
    let managed = movable(&seen, here);
    Some(
        entry
            .part("device", name)
            .part("chip", seen.chip.clone())
            .part("may fire on", format!("CPU {}", list(&seen.affinity)))
            .part("fires on", format!("CPU {}", list(&seen.effective)))
            .part(
                "fired",
                match counts {
                    0 => "never since the boot".to_owned(),
                    _ => format!("{counts} times since the boot: {}", busiest.join(", ")),
                },
            )
            .part("can be moved", managed)
            .part("moved with", MOVE_IRQ),
    )
}

/// Whether writing its mask moves an interrupt, and why not.
fn movable(seen: &machine::Interrupt, here: &dyn Surroundings) -> String {
    match seen.immovable() {
        Some(reason) if !reason.follows_managed_irq() => format!("no: {}", reason.why()),
        Some(_) if here.lacks_managed_irq() => {
            "no: the kernel manages its mask and refuses a change; isolcpus=managed_irq needs kernel 5.6".to_owned()
        }
        Some(_) => {
            "no: the kernel manages its mask and refuses a change; isolcpus=managed_irq,CPUS at boot is the only way"
                .to_owned()
        }
        None if seen.settable.or(seen.managed.map(|managed| !managed)).is_some() => "yes".to_owned(),
        None => "this kernel does not tell before one tries".to_owned(),
    }
}

const MOVE_IRQ: &str = "/proc/irq/N/smp_affinity_list (knob irq_affinity)";

#[cfg(test)]
mod tests {
    use super::super::surroundings::ExampleMachine;
    use super::*;
    use machine::Interrupt;

    #[test]
    fn every_listed_word_has_an_explanation() {
        let all = words();
        assert!(all.len() > 200, "{}", all.len());
        for word in all {
            let entries = explain(&word, &ExampleMachine::default()).unwrap();
            assert!(!entries.is_empty(), "{word}");
            assert!(
                entries
                    .iter()
                    .all(|entry| entry.what.len() > 10 && entry.what.ends_with('.')),
                "{word}"
            );
        }
    }

    #[test]
    fn words_are_found_in_their_tables() {
        let kinds = |word: &str| -> Vec<&str> {
            explain(word, &ExampleMachine::default())
                .unwrap()
                .iter()
                .map(|entry| entry.kind)
                .collect()
        };
        for (word, wanted) in [
            ("irq_affinity", vec!["knob"]),
            ("rq_affinity", vec!["knob"]),
            ("/sys/block/DISK/queue/rq_affinity", vec!["knob"]),
            ("writeback_cpumask", vec!["knob"]),
            ("iostats", vec!["setting"]),
            ("rcuc/2", vec!["kernel thread"]),
            ("kworker/3:1H-kblockd", vec!["kernel thread"]),
            ("irq/47-ahci", vec!["interrupt", "kernel thread"]),
            ("irq/47", vec!["interrupt"]),
            ("LOC", vec!["counter"]),
            ("net_rx", vec!["counter"]),
            ("IPI5", vec!["counter"]),
            ("function_call", vec!["interruption class"]),
            ("function-call IPI", vec!["interruption class"]),
            ("nohz-full", vec!["boot parameter", "finding"]),
            ("nohz_full=2-3", vec!["boot parameter"]),
            ("nmi_watchdog", vec!["knob", "boot parameter"]),
            ("mce-off", vec!["finding"]),
            ("smt-sibling", vec!["finding"]),
            ("irq-new", vec!["finding"]),
        ] {
            assert_eq!(kinds(word), wanted, "{word}");
        }
    }

    #[test]
    fn unknown_words_suggest_the_nearest() {
        let near = |word: &str| explain(word, &ExampleMachine::default()).unwrap_err().0;
        assert_eq!(near("rq_afinity").first().map(String::as_str), Some("rq_affinity"));
        assert_eq!(near("isolcpu").first().map(String::as_str), Some("isolcpus"));
        assert!(near("").is_empty() && near("\u{1b}[2Jxxxxxxxxxxxxxxxxxx").is_empty());
    }

    #[test]
    fn an_interrupt_shows_its_state_on_this_machine() {
        let seen = Interrupt {
            irq: 47,
            name: "ahci".to_owned(),
            affinity: machine::CpuSet::parse_list("0-3").ok(),
            managed: Some(true),
            counts: vec![(0, 5), (3, 70)],
            ..Interrupt::default()
        };
        let entries = explain(
            "irq/47",
            &ExampleMachine {
                interrupt: Some(seen.clone()),
                ..ExampleMachine::default()
            },
        )
        .unwrap();
        let text = crate::explain::explain_text(&entries, Style::Plain);
        for part in [
            "ahci",
            "CPU 0-3",
            "75 times since the boot: 70 on CPU 3, 5 on CPU 0",
            "isolcpus=managed_irq",
        ] {
            assert!(
                text.split_whitespace().collect::<Vec<_>>().join(" ").contains(part),
                "{part} in {text}"
            );
        }
        let old = ExampleMachine {
            interrupt: Some(seen),
            lacks_managed_irq: true,
            ..ExampleMachine::default()
        };
        let text = crate::explain::explain_text(&explain("irq/47", &old).unwrap(), Style::Plain);
        assert!(
            text.contains("needs kernel 5.6") && !text.contains("at boot is the only way"),
            "{text}"
        );
    }
}
