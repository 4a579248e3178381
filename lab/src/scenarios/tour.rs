//! Installs the binary and pastes the tour of README.md line by line in an installed Debian 12, as a user who may call
//! sudo, and compares what is printed with what the document shows. At the end the machine is as before.

mod comparison;
mod document;

use self::document::{OutputOrigin, TourStep};
use super::systemd::same_states;
use crate::kernels::K6_1;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;

/// Runs in the one guest whose output the document shows.
pub const SCENARIO: Scenario = Scenario {
    name: "tour",
    about: "each command of the tour in README.md prints what is shown below it, and nothing is left behind",
    cells,
    script,
    check,
};

const README: &str = include_str!("../../../README.md");
const HEADING: &str = "## Five-minute tour";

/// What the tour has to show.
const SHOWN: [&str; 8] = ["inspect", "plan", "apply", "confirm", "run", "check", "blame", "undo"];

/// A disk controller whose queues the kernel manages, and memory for Debian.
const WITH_DISK: GuestShape = GuestShape {
    memory_mib: 1024,
    modules: &["nvme"],
    devices: &[
        "-blockdev",
        "null-co,node-name=n0,size=67108864",
        "-device",
        "nvme,drive=n0,serial=1",
    ],
    ..USUAL
};

/// Always emulated: the document shows the caches of the emulated processor.
fn cells() -> Vec<ScenarioCell> {
    let cell = ScenarioCell::new(K6_1, CgroupLayout::V2).on(WITH_DISK);
    vec![cell.within(240).under_debian().emulated()]
}

/// Each line is run by a login shell of its own, with both outputs in one, as on a terminal. The first command is the one of
/// the section about installing.
fn script(_: &ScenarioCell) -> String {
    let mut script = "export LAB_STATE_LEAVES=/run/quietcore/journal
useradd --create-home --shell /bin/bash --groups sudo user
echo 'user ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/user
cp /root/quietcore /home/user/quietcore-0.1.0-x86_64
rec installed su - user -c 'sudo install -m 755 quietcore-0.1.0-x86_64 /usr/local/bin/quietcore'
state before
"
    .to_owned();
    for step in document::steps(README, HEADING) {
        for (place, command) in step.commands.iter().enumerate() {
            let name = record_name(&step, place);
            script.push_str(&format!(
                "cat >/tmp/line <<'END'\nexec 2>&1\n{command}\nEND\nrec {name} su - user -c '. /tmp/line'\n"
            ));
        }
    }
    script + "state after\nsame same before after\n"
}

/// The record of a command, by its line in the document.
fn record_name(step: &TourStep, place: usize) -> String {
    format!("line_{}", step.first_line + place)
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let steps = document::steps(README, HEADING);
    for word in SHOWN {
        let mut commands = steps.iter().flat_map(|step| &step.commands);
        let is_shown = commands.any(|command| command.contains(&format!("quietcore {word}")));
        verdict.that(is_shown, format!("the tour shows quietcore {word}"));
    }
    let elsewhere =
        |step: &&TourStep| matches!(&step.output, Some(output) if output.origin == OutputOrigin::AnotherMachine);
    verdict.equal("outputs of another machine", steps.iter().filter(elsewhere).count(), 1);
    verdict.status(seen, "installed", 0);
    let mut lines = 0;
    for step in &steps {
        let records = (0..step.commands.len()).map(|place| verdict.status(seen, &record_name(step, place), 0));
        let printed: String = records.map(|record| record.stdout).collect();
        let Some(output) = &step.output else {
            continue;
        };
        let difference = match output.origin {
            OutputOrigin::TestedGuest => comparison::difference(&output.lines, &printed),
            OutputOrigin::AnotherMachine => comparison::missing_heading(&output.lines, &printed),
        };
        lines += output.lines.len();
        let what = match &difference {
            Some(found) => format!("README.md:{}: {}", output.first_line + found.line, found.what),
            None => format!("README.md:{}: the output is as shown", output.first_line),
        };
        verdict.that(difference.is_none(), what);
    }
    same_states(seen, "same", verdict);
    verdict.note(format!("{lines} lines"));
}
