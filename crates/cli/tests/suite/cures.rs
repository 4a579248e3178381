//! This binary accepts every command that a suggested fix names.

use crate::support::alone::cpu;
use blame::{Class, Confidence, Cure, CureContext, FUNCTIONS, Interruption, InterruptionSubject, cure};
use machine::CpuSet;
use observe::CLASSES;
use std::collections::BTreeSet;
use std::process::Command;

fn row(class: Class, name: &str) -> Interruption {
    Interruption {
        class,
        name: name.to_owned(),
        count: 1,
        total_ns: 1,
        max_ns: 1,
        transition_ns: 0,
        culprit: None,
        confidence: Confidence::Traced,
        fix: String::new(),
        why: String::new(),
        subject: InterruptionSubject::None,
    }
}

#[test]
fn every_printed_command_is_accepted() {
    let cpu = cpu();
    let number: u32 = cpu.parse().unwrap();
    let ground = CureContext {
        requested: CpuSet::parse_list(&cpu).unwrap(),
        ..CureContext::default()
    };
    let classes = CLASSES.iter().map(|class| row(class.class, class.name));
    let functions = FUNCTIONS
        .iter()
        .map(|function| row(Class::FunctionCall, &format!("x: {}", function.name)));
    let mut rows: Vec<Interruption> = classes.chain(functions).collect();
    for subject in [InterruptionSubject::Thread(0), InterruptionSubject::LetIn(1)] {
        rows.push(Interruption {
            subject,
            ..row(Class::Preemption, "x")
        });
    }
    let commands: BTreeSet<String> = rows
        .iter()
        .filter_map(|row| match cure(row, number, &ground) {
            Cure::Command { command, .. } => Some(command),
            Cure::Nothing { .. } => None,
        })
        .collect();
    let applies = commands.iter().filter(|command| command.contains(" apply "));
    let applies: Vec<&String> = applies.collect();
    assert!(applies.len() > 8, "{commands:?}");
    if number == 0 {
        return println!("SKIP: every_printed_command_is_accepted: CPU 0 is the only one, and cannot be isolated");
    }
    for command in applies {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .args(&words)
            .arg("--dry-run")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {output:?}");
    }
}
