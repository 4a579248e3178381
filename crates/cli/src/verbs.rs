//! Lists the commands: one file and one line each.

use clap::Subcommand;
use root::Failure;
use session::Session;
use terminal::Screen;

macro_rules! verbs {
    ($($(#[$meta:meta])* $module:ident => $Verb:ident),+ $(,)?) => {
        $(pub(crate) mod $module;)+

        /// What to do.
        #[derive(Subcommand)]
        pub enum Verb {
            $($(#[$meta])* $Verb($module::Args),)+
        }

        /// Runs a command.
        ///
        /// # Errors
        /// Those of the command.
        pub fn run(verb: &Verb, session: &Session, screen: &mut Screen) -> Result<root::Status, Failure> {
            match verb {
                $(Verb::$Verb(args) => $module::run(args, session, screen),)+
            }
        }
    };
}

verbs! {
    /// Show what is isolated, by what and since when, and the next step
    status => Status,
    /// Show the topology of the machine, and what is isolated now
    inspect => Inspect,
    /// Evaluate a CPU expression: list, mask, count
    cpus => Cpus,
    /// Explain a knob, kernel thread, counter, interrupt or finding; check a boot line
    explain => Explain,
    /// Capture this machine into an archive, which other commands read with --root
    snapshot => Snapshot,
    /// Compare two snapshots, or a snapshot with this machine
    diff => Diff,
    /// List every change that an isolation needs, with reason and undo; change nothing
    plan => Plan,
    /// Measure wake-up latency or noise
    measure => Measure,
    /// Compare the intended with the actual isolation, with evidence and fixes
    check => Check,
    /// Show interruptions and findings live; record and play; run as a daemon
    watch => Watch,
    /// Report what interrupts CPUs, what caused it, and what would stop it
    blame => Blame,
    /// Predict what each change would gain, before you make it
    predict => Predict,
    /// Record and read kernel traces: events, longest run, longest waits
    trace => Trace,
    /// Read a result of any measuring tool; print or convert it
    report => Report,
    /// Compare results of any measuring tools, and check requirements
    compare => Compare,
    /// Measure, isolate, measure again, undo and report, in one command
    prove => Prove,
    /// Repeat a measurement over isolations, loads and knobs; report what matters
    study => Study,
    /// Isolate CPUs now; every write is journalled and read back
    ///
    /// The isolation does not depend on your session. It stays active after a logout or a lost ssh connection,
    /// until `quietcore undo` or a restart. With --confirm-within, a separate process undoes it when the time is over
    /// and `quietcore confirm` was not run. A signal during `apply`, such as a lost connection, undoes what was done.
    apply => Apply,
    /// Show or change the kernel's boot line in the boot loader's files
    boot => Boot,
    /// Keep what `apply --confirm-within` applied
    confirm => Confirm,
    /// Undo exactly what was applied
    undo => Undo,
    /// Show what was applied and undone since this boot
    history => History,
    /// Start a program in the partition
    run => Run,
    /// Move running tasks into the partition, or back
    r#move => Move,
    /// Lease CPUs of the pool to a process, unit, container or virtual machine
    ///
    /// The CPUs are a partition of their own. It is undone when the owner ends, by the next command that changes
    /// something, or at once while `watch --daemon` runs.
    lease => Lease,
    /// Show the pool, the leases and the requests that wait
    leases => Leases,
    /// End a lease; its partition is undone
    release => Release,
    /// Print a completion script for a shell
    completions => Completions,
    /// Write the man pages of all commands to a directory
    man => Man,
    #[command(hide = true)]
    complete => Complete,
    #[command(hide = true)]
    guard => Guard,
    #[command(hide = true)]
    good_boot => GoodBoot,
}

/// The commands by what they are for, as `--help` lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Look",
        &["status", "inspect", "cpus", "explain", "snapshot", "diff", "history"],
    ),
    (
        "Isolate",
        &[
            "plan", "predict", "apply", "confirm", "run", "move", "undo", "lease", "leases", "release",
        ],
    ),
    ("Verify", &["check", "blame", "watch", "prove"]),
    ("Measure", &["measure", "trace", "report", "compare", "study"]),
    ("Persist and install", &["boot", "completions", "man"]),
];

/// The groups with their commands, for the help of the program.
#[must_use]
pub fn groups_text(program: &clap::Command) -> String {
    let about = |name: &str| {
        let command = program.find_subcommand(name);
        command
            .and_then(clap::Command::get_about)
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines: String = names
            .iter()
            .map(|name| format!("  {name:<12} {}\n", about(name)))
            .collect();
        format!("{title}:\n{lines}\n")
    };
    GROUPS.iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_not_hidden_is_in_one_group() {
        let program = crate::command();
        let visible = program.get_subcommands().filter(|command| !command.is_hide_set());
        let mut visible: Vec<&str> = visible.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(visible, grouped);
    }
}
