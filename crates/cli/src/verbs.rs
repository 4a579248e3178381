//! Lists the verbs: one file and one line each.

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

        /// Runs a verb.
        ///
        /// # Errors
        /// What the verb says.
        pub fn run(verb: &Verb, session: &Session, screen: &mut Screen) -> Result<root::Status, Failure> {
            match verb {
                $(Verb::$Verb(args) => $module::run(args, session, screen),)+
            }
        }
    };
}

verbs! {
    /// Show what is isolated by what and since when, the last check, and what to type next
    status => Status,
    /// Show what the machine is built of, and what isolates what now
    inspect => Inspect,
    /// Evaluate a CPU expression: list, mask, count
    cpus => Cpus,
    /// Explain a knob, a kernel thread, a counter, an interrupt, a boot parameter; or judge a boot line
    explain => Explain,
    /// Capture what all reading verbs need into one archive
    snapshot => Snapshot,
    /// Say what changed between two snapshots, or one and now, and what it matters to isolated CPUs
    diff => Diff,
    /// List every change that an isolation needs, with reason and undo; does nothing
    plan => Plan,
    /// Measure wake-up latency, or noise
    measure => Measure,
    /// Compare the intended with the actual isolation: every layer, with evidence and fix; exit status for scripts
    check => Check,
    /// Watch it live, full screen: who interrupts which CPU, and what check finds; records and plays recordings
    watch => Watch,
    /// Say who interrupts these CPUs, who caused it, and what would stop it
    blame => Blame,
    /// Read traces of the kernel: its events, the longest uninterrupted run, the longest waits
    trace => Trace,
    /// Read a result of any measuring tool: in words, as JSON, or in another tool's format
    report => Report,
    /// Put results of any measuring tools side by side, and check what they show
    compare => Compare,
    /// Measure, isolate, measure again, undo, report: the whole story in one command
    prove => Prove,
    /// Run the same measurement over isolations, loads and knobs, in random order, and say what makes a difference
    study => Study,
    /// Isolate CPUs now; every write is journalled and read back
    apply => Apply,
    /// Show or change the kernel's boot line in the boot loader's own files
    boot => Boot,
    /// Keep what was applied with a time limit
    confirm => Confirm,
    /// Undo exactly what was applied
    undo => Undo,
    /// Show what was done on this boot
    history => History,
    /// Start a program in the partition
    run => Run,
    /// Move tasks into the partition, or back to where they came from
    r#move => Move,
    /// Print the completions of a shell
    completions => Completions,
    /// Write the man pages of all commands to a directory
    man => Man,
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
    ("Isolate", &["plan", "apply", "confirm", "run", "move", "undo"]),
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
