//! Looks up a word in all tables: terms, knobs, settings, counters, classes, boot parameters, findings, kernel threads.

use super::errors;
use super::glossary::{glossary, of_term};
use super::interrupts::numbered;
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
use plan::words::did_you_mean;
use plan::{KNOBS, Knob, KnobUse, KnobValueKind};

/// The word is in no table. It asks whether similar words are meant, if there are any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord(pub Option<String>);

/// All meanings of a word. If it has none as it is written, its meanings in small or capital letters, or with `_` for each
/// blank: `plan` shows the knob `rq_affinity` as `rq affinity`.
///
/// # Errors
/// [`UnknownWord`] for a word in no table.
pub fn explain(word: &str, here: &dyn Surroundings) -> Result<Vec<Explanation>, UnknownWord> {
    let word = word.trim();
    let spellings = [
        word.to_owned(),
        word.to_lowercase(),
        word.to_uppercase(),
        word.to_lowercase().replace(' ', "_"),
    ];
    let mut found = spellings.iter().map(|word| meanings(word, here));
    let meant = || UnknownWord(did_you_mean(word, words().iter().map(String::as_str)));
    found.find(|entries| !entries.is_empty()).ok_or_else(meant)
}

fn meanings(word: &str, here: &dyn Surroundings) -> Vec<Explanation> {
    // `nohz_full=2-3` asks about nohz_full.
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let mut entries = Vec::new();
    entries.extend(of_term(word));
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
    entries
}

/// Every available word, kind after kind.
#[must_use]
pub fn words() -> Vec<String> {
    word_groups().into_iter().flat_map(|(_, names)| names).collect()
}

/// The titles of the kinds, each with its words.
#[must_use]
pub fn word_groups() -> Vec<(&'static str, Vec<String>)> {
    let own = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<String>>();
    let knobs = KNOBS
        .iter()
        .flat_map(|knob| std::iter::once(&knob.name).chain(knob.aliases));
    let findings = RULES
        .iter()
        .map(|rule| rule.id)
        .chain(plan::findings().map(|row| row.id.as_str()));
    vec![
        ("Terms", own(glossary().flat_map(|term| term.names).collect())),
        ("Knobs", own(knobs.copied().collect())),
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
    for (title, names) in word_groups() {
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
        (takes, usual) => format!("={} (default: {usual})", takes.text()),
    };
    let by_name = format!("--with {}{value}", knob.name);
    match (knob.usage, knob.needed) {
        (KnobUse::ByName, _) => format!("only on request: {by_name}"),
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
        ParameterCost::Safety => "safety; never set unless requested",
        ParameterCost::Security => "security; never set unless requested",
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
            "see the text at the end of its row: the numbers differ between kernels",
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
                .part(
                    "fix",
                    if rule.fix.is_empty() {
                        "none is needed"
                    } else {
                        rule.fix
                    },
                ),
        );
    }
    let row = plan::findings().find(|row| row.id.as_str() == word)?;
    Some(
        Explanation::new("finding", row.id.as_str(), sentence(row.what))
            .part("about", row.about)
            .part("level", level_mark(row.level).0)
            .part("fix", row.fix),
    )
}

#[cfg(test)]
mod tests {
    use super::super::surroundings::ExampleMachine;
    use super::*;

    #[test]
    fn every_listed_word_has_an_explanation() {
        let all = words();
        assert!(all.len() > 200, "{}", all.len());
        for word in all {
            let entries = explain(&word, &ExampleMachine::default()).unwrap();
            assert!(!entries.is_empty(), "{word}");
            for Explanation { what, .. } in entries {
                assert!(
                    what.len() > 10 && what.ends_with('.'),
                    "{word} has no sentence that explains it: {what:?}"
                );
            }
        }
    }

    #[test]
    fn what_a_term_refers_to_has_an_explanation_too() {
        for term in glossary() {
            for word in term.see {
                assert!(
                    explain(word, &ExampleMachine::default()).is_ok(),
                    "{:?}: {word}",
                    term.names
                );
            }
        }
    }

    #[test]
    fn every_finding_has_a_meaning_a_level_and_a_fix() {
        let rules = RULES.iter().map(|rule| rule.id);
        for id in plan::findings().map(|row| row.id.as_str()).chain(rules) {
            let entry = of_finding(id).unwrap();
            let labels: Vec<&str> = entry.parts.iter().map(|part| part.label).collect();
            assert!(
                entry.what.len() > 10 && labels == ["about", "level", "fix"],
                "{id}: {entry:?}"
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
            ("smt-sibling", vec!["term", "finding"]),
            ("irq-new", vec!["finding"]),
            ("Stray", vec!["term"]),
            ("boot-line", vec!["term", "finding"]),
            ("tsc", vec!["term", "boot parameter"]),
            ("IRQ_AFFINITY", vec!["knob"]),
            ("Irq-Lingers", vec!["finding"]),
            ("einval", vec!["error number"]),
        ] {
            assert_eq!(kinds(word), wanted, "{word}");
        }
    }

    #[test]
    fn unknown_words_suggest_the_nearest() {
        let meant = |word: &str| explain(word, &ExampleMachine::default()).unwrap_err().0;
        for (typo, first) in [
            ("rq_afinity", "rq_affinity"),
            ("isolcpu", "isolcpus"),
            ("partiton", "partition"),
        ] {
            let requested = meant(typo).unwrap();
            assert!(
                requested.starts_with(&format!("did you mean {first}")),
                "{typo}: {requested}"
            );
        }
        assert_eq!((meant(""), meant("\u{1b}[2Jxxxxxxxxxxxxxxxxxx")), (None, None));
    }
}
