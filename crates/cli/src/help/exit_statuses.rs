//! The table of exit statuses, for the help of each command and for `docs/src/reference/exit-statuses.md`.

use super::wrapped;

/// What a status means in every command.
pub const STATUSES: [(u8, &str); 7] = [
    (0, "done, or quiet"),
    (1, "a check or a step failed"),
    (2, "wrong usage"),
    (3, "not permitted"),
    (4, "not possible on this kernel or machine"),
    (5, "conflict or drift"),
    (70, "a bug in quietcore"),
];

const RUNS_LEFT: &str = "interrupted, or the budget is used up: runs are left";
const OTHER_STUDY: &str = "another study runs";

/// Commands whose statuses say more: the command, perhaps with the option that makes the difference, the status, and when it
/// is returned.
pub const COMMAND_STATUSES: [(&str, &str, &str); 41] = [
    (
        "apply",
        "1",
        "applied, and a finding of level error remains; with `boot = true` also if the boot line does not match",
    ),
    (
        "apply",
        "5",
        "the partition exists with other CPUs, or what was applied has changed since",
    ),
    (
        "apply --at-boot",
        "0",
        "done, or nothing to do (`quietcore=off`, nothing declared)",
    ),
    (
        "apply --at-boot",
        "5",
        "the last boot with it was not good: nothing was applied",
    ),
    ("undo", "0", "everything is as before"),
    (
        "undo",
        "5",
        "something was left alone, and is named; `--force` restores it, `--skip-changed` leaves it",
    ),
    (
        "check",
        "0",
        "everything needed for a verdict was observed, and nothing is wrong",
    ),
    ("check", "1", "findings of `--level` (default: error) or above"),
    (
        "check",
        "4",
        "not everything could be observed: `--for 0s`, or a captured machine",
    ),
    (
        "status",
        "0",
        "the status was printed, whether or not something is isolated; use `check` in scripts",
    ),
    ("confirm", "5", "nothing waits for a confirmation"),
    (
        "boot confirm",
        "5",
        "no trial waits for a confirmation, or this boot is not that of the trial",
    ),
    ("boot check", "0", "every parameter works"),
    ("boot check", "1", "a parameter does not work"),
    ("boot check", "4", "something could not be observed"),
    (
        "boot check",
        "5",
        "the parameters take effect at the next boot, or are missing from this one",
    ),
    (
        "boot clear",
        "5",
        "another program changed parameters of quietcore; they were left alone",
    ),
    ("run", "0-255", "that of the program"),
    ("run", "125", "the program could not be placed"),
    ("run", "126", "the program is not executable"),
    ("run", "127", "the program was not found"),
    (
        "lease",
        "1",
        "leased, and a finding of level error remains; or interrupted: nothing was leased",
    ),
    (
        "lease",
        "4",
        "no pool, more CPUs than it has, no such owner, or a step that this kernel refuses",
    ),
    ("lease", "5", "no CPUs in time, or the owner has another lease"),
    ("release", "4", "no lease has this number"),
    (
        "release",
        "5",
        "something was left alone or could not be undone, and is named",
    ),
    ("move", "3", "nothing was moved, because permission was missing"),
    ("move", "5", "some tasks stayed, or new ones kept appearing"),
    (
        "measure",
        "1",
        "`--break` was reached, or the numbers cannot be trusted (a finding of level error)",
    ),
    ("blame", "1", "`--break` was reached, or a finding of level error"),
    (
        "compare",
        "1",
        "a `--require` rule is not shown to hold, or with `--fail-on-worse` a set is worse",
    ),
    ("trace record", "1", "events were lost, or the recording is incomplete"),
    ("explain --cmdline", "1", "the boot line has an error"),
    ("study run", "1", RUNS_LEFT),
    ("study run", "5", OTHER_STUDY),
    ("study which-knob", "1", RUNS_LEFT),
    ("study which-knob", "5", OTHER_STUDY),
    ("study isolcpus-vs-cpuset", "1", RUNS_LEFT),
    ("study isolcpus-vs-cpuset", "5", OTHER_STUDY),
    (
        "prove",
        "1",
        "no isolated CPU, or noise that should have stopped remained",
    ),
    ("prove", "5", "not everything could be undone"),
];

/// The exit statuses of a command, for its help. `path` names it, such as `boot set`.
pub fn text(path: &str) -> String {
    let mut text = "Exit status:\n".to_owned();
    for (command, status, when) in COMMAND_STATUSES {
        let with = match (path, command.strip_prefix(path)) {
            ("", _) => continue,
            // The statuses of `measure` are those of its subcommands.
            _ if path.starts_with(&format!("{command} ")) => String::new(),
            (_, Some("")) => String::new(),
            (_, Some(option)) if option.starts_with(" --") => format!("with{option}: "),
            _ => continue,
        };
        text.push_str(&wrapped(
            &format!("{with}{when}"),
            &format!("  {status:<5} "),
            "        ",
        ));
    }
    let all = STATUSES.map(|(status, meaning)| format!("{status} {meaning}"));
    text + &wrapped(&all.join("; "), "  In all commands: ", "  ")
}
