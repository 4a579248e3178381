//! `boot check`: of each parameter whether it reached the kernel, was understood, and works.

use super::counting;
use super::scene::Scene;
use crate::intent::existing_cpus;
use crate::reading::Reading;
use machine::parse_duration;
use crate::{CommandError, Screen, Status, declared};
use boot::{After, BootState, MARK, missing_words, state_after};
use machine::{Machine, Settings, cmdline};
use plan::boot_check::{
    Agreement, Answer, BootVerdict, Checked, Declared, Evidence, Outcome, OurWords, Stage, Truth, Window, asked_cpus,
    boot_check, paths,
};
use plan::declared::CpuWish;
use plan::lint::{Facts, Outcome as Said};
use root::{Origin, Root};
use serde::Serialize;
use std::time::Duration;

/// Arguments of `boot check`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    reading: Reading,
    /// How long ticks and interrupts are counted
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    window: Duration,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    verb: &'static str,
    origin: &'static str,
    running: &'a str,
    verdict: &'static str,
    parameters: &'a [Checked],
    declared: &'a [Agreement],
    unread: &'a [String],
}

/// Runs it.
///
/// # Errors
/// A captured machine that cannot be opened, a journal or a file of declarations that cannot be understood.
pub fn run(args: &Args, screen: &mut Screen) -> Result<Status, CommandError> {
    let root = args.reading.open()?;
    let is_live = root.origin() == Origin::Live;
    let scene = Scene::read(root)?;
    let root = &scene.root;
    let machine = Machine::read(root);
    let mut facts = Facts::of_machine(&machine);
    facts.outcome = Some(Said {
        messages: root.kernel_log().unwrap_or_default(),
        isolated: machine.isolation.boot_isolated.clone(),
        nohz_full: machine.isolation.nohz_full.clone(),
    });
    let asked = asked_cpus(&scene.running, &facts).and(&machine.topology.online);
    let window = match (is_live, asked.is_empty()) {
        (false, _) => Window::Nothing {
            why: "nothing can be counted on a captured machine; run it on the machine itself".to_owned(),
        },
        (true, true) => Window::Nothing {
            why: "the running line isolates no CPU that is online".to_owned(),
        },
        (true, false) => counting::count(root, &asked, args.window),
    };
    // After the window, so that it tells who came to the CPUs meanwhile.
    let machine = machine.with_tasks_and_interrupts(root);
    let ours = ours(&scene);
    let words = cmdline::words(&scene.running).chain(ours.iter().flat_map(|one| one.words.iter().map(String::as_str)));
    let mut settings = Settings::default();
    for path in paths(words) {
        if let Some(value) = root.value(&path).ok().flatten() {
            settings.values.insert(path, value);
        }
    }
    let evidence = Evidence {
        machine: &machine,
        facts: &facts,
        settings: &settings,
        ours,
        window,
        most: scene.limit().most,
        declared: declarations(root, &machine)?,
    };
    let verdict = boot_check(&evidence);
    let mut unread: Vec<String> = machine.unreadable.iter().map(|one| format!("{}: {}", one.path, one.why)).collect();
    unread.extend(scene.unknown.clone());
    screen.text(&report::safe_lines(&text(&verdict, &scene.running, &unread)));
    screen.json(&Report {
        schema: "quietcore.boot/1",
        verb: "check",
        origin: if is_live { "live" } else { "captured" },
        running: &scene.running,
        verdict: word(verdict.outcome),
        parameters: &verdict.parameters,
        declared: &verdict.declared,
        unread: &unread,
    });
    Ok(status(verdict.outcome))
}

/// The words of ours that this boot should have. The boot of a trial has its words and not those of the default line.
fn ours(scene: &Scene) -> Vec<OurWords> {
    let stage = |words: &[String]| match state_after(words, &scene.running, scene.after) {
        BootState::Pending => Stage::Pending,
        BootState::Live => Stage::Live,
        BootState::Reverted => Stage::Reverted,
    };
    let of = |words: &Vec<String>| OurWords {
        words: words.clone(),
        stage: stage(words),
    };
    let (line, trial) = (scene.kept.line.as_ref(), scene.kept.trial.as_ref());
    let tried = missing_words(&[MARK.to_owned()], &scene.running).is_empty();
    match trial {
        // The default line was started since on purpose, where the trial was only written in this boot.
        Some(trial) if tried || scene.after == After::AnotherBoot => vec![of(&trial.words)],
        _ => line.into_iter().chain(trial).map(|ours| of(&ours.words)).collect(),
    }
}

/// What `/etc/quietcore.toml` declares.
fn declarations(root: &Root, machine: &Machine) -> Result<Vec<Declared>, CommandError> {
    let Some(file) = declared::read(root, None)? else {
        return Ok(Vec::new());
    };
    let cpus = |wish: &CpuWish| match wish {
        CpuWish::Named(expression) => {
            existing_cpus(expression, machine).map_err(|error| format!("{}: {}", error.what, error.why))
        }
        CpuWish::Chosen { .. } => Err("its CPUs are chosen when it is applied, so the boot line cannot name them".to_owned()),
    };
    let all = file.declarations.iter().map(|one| Declared {
        name: one.name().to_string(),
        cpus: cpus(&one.cpus),
    });
    Ok(all.collect())
}

fn word(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        None => "nothing",
        Some(Outcome::Works) => "works",
        Some(Outcome::Unknown) => "unknown",
        Some(Outcome::Pending) => "pending",
        Some(Outcome::Reverted) => "reverted",
        Some(Outcome::Broken) => "broken",
    }
}

fn status(outcome: Option<Outcome>) -> Status {
    match outcome {
        None | Some(Outcome::Works) => Status::Done,
        Some(Outcome::Unknown) => Status::Unable,
        Some(Outcome::Pending | Outcome::Reverted) => Status::Conflict,
        Some(Outcome::Broken) => Status::Failed,
    }
}

fn text(verdict: &BootVerdict, running: &str, unread: &[String]) -> String {
    let mut text = format!("running: {running}\n");
    for one in &verdict.parameters {
        let ours = if one.ours.is_some() { " (ours)" } else { "" };
        text.push_str(&format!("{}{ours}: {}\n", one.word, word(Some(one.outcome))));
        row(&mut text, "reached", &one.reached);
        row(&mut text, "understood", &one.understood);
        row(&mut text, "works", &one.works);
    }
    for one in &verdict.declared {
        let name = one.partition.as_ref().map_or_else(|| "no partition".to_owned(), |name| format!("partition {name}"));
        text.push_str(&format!("/etc/quietcore.toml, {name}\n"));
        row(&mut text, "agrees", &one.answer);
    }
    for line in unread {
        text.push_str(&format!("not read: {line}\n"));
    }
    text.push_str(match verdict.outcome {
        None => "No parameter on the running line isolates anything, and quietcore wrote none.\n",
        Some(Outcome::Works) => "Every parameter reached the kernel, was understood, and works as far as kernels show it.\n",
        Some(Outcome::Unknown) => "Nothing is seen to be wrong, and not everything could be seen.\n",
        Some(Outcome::Pending) => "The next boot will have it: restart the machine, then ask again.\n",
        Some(Outcome::Reverted) => "This boot does not have what was written.\n",
        Some(Outcome::Broken) => "Not all of it works.\n",
    });
    text
}

fn row(text: &mut String, question: &str, answer: &Answer) {
    let truth = match answer.truth {
        Truth::Yes => "yes",
        Truth::No => "NO",
        Truth::Unknown => "unknown",
        Truth::Unseen => "unseen",
    };
    text.push_str(&format!("  {question:<11}{truth:<8}{}\n", answer.because));
}
