//! Prints cset's help: usage, options, version.

use super::options::{Flag, OptionValueKind};
use super::talk::CsetOutput;
use super::{CsetCommand, CsetError, chosen};
use root::Status;

/// The author of this implementation.
pub const COPYRIGHT: &str = "\nThis is quietcore with the command line of cset 1.6; it contains no code of that \
     program.\nLicence: MIT or Apache-2.0, at your option.\n";

/// Printed if there is no command.
pub const NOTHING: &str = "usage: cset <command>\n  Try \"cset --help\" for a list of supported commands\n";

const GENERAL: &str = "Usage: cset [global options] <command> [command options]

Global options:
  -l/--log <fname>       output debugging log in fname
  -m/--machine           print machine readable output
  -x/--tohex <CPUSPEC>   convert a CPUSPEC to hex

Generic commands:
  help        print the detailed command usage
  version     display version information
  copyright   display copyright information

Super commands (high-level and multi-function):
  shield      supercommand to set up and manage basic shielding

Regular commands:
  proc        create and manage processes within cpusets
  set         create, modify and destroy cpusets

Examples:
  cset shield --cpu=1-3 --kthread=on
  cset shield --exec -- ls -l
  cset shield --reset
  cset help shield       more about a command

Exit status:
  0 done; 1 or 2 an error, as in cset 1.6; of --exec that of the program
";

/// A short description of each command.
const ABOUT: &[(&str, &str)] = &[
    (
        "shield",
        "Reserves CPUs for chosen programs: they run in the cpuset \"user\", and everything else runs in the \
         cpuset\n\"system\" on the other CPUs. Without options it shows the active shield; --reset restores the \
         previous state.\n\n# cset shield --cpu=1-3 --kthread=on\n    # cset shield --exec -- ls -l\n    # cset shield \
         --shield --pid=50-65\n    # cset shield --reset\n",
    ),
    (
        "proc",
        "Lists tasks of cpusets, starts programs in them, moves tasks between them.\n\n\
             # cset proc --list --set myset\n    # cset proc --set myset --exec -- ls -l\n    \
         # cset proc --move 2442,3000-3200 myset\n    # cset proc --move --fromset=one --toset=two\n",
    ),
    (
        "set",
        "Lists, creates, changes, renames and removes cpusets. A set is identified by its name if the name is unique, \
         and\nby its path from the root of the cpusets otherwise. Tasks of a removed set move to its parent.\n\n# cset \
         set --list --recurse\n    # cset set --cpu=2,4,6-8 --set=new_set\n    # cset set --cpu=3 --mem=0 \
         /rad/set_one\n    # cset set --destroy new_set\n",
    ),
];

/// `cset help [COMMAND]`.
pub fn show(command: Option<&str>, talk: &mut CsetOutput) -> Result<Status, CsetError> {
    let Some(name) = command else {
        talk.raw(GENERAL);
        return Ok(Status::Done);
    };
    let command = chosen(name)?;
    let about = ABOUT.iter().find(|(name, _)| *name == command.name);
    let usage = usage(command);
    let (line, options) = usage.split_once("\n\n").unwrap_or((&usage, ""));
    let about = about.map_or("", |(_, about)| about);
    talk.raw(&format!("{line}\n\n{about}\n{options}"));
    Ok(Status::Done)
}

/// The usage and the options of a command.
pub fn usage(command: &CsetCommand) -> String {
    let mut text = format!("{}\n\nOptions:\n", first_line(command));
    for flag in command.flags {
        let (left, help) = (left(flag), flag.help);
        text.push_str(&match left.len() {
            0..=20 => format!("  {left:<20}  {help}\n"),
            _ => format!("  {left}\n{:24}{help}\n", ""),
        });
    }
    text.push_str("  -h, --help            show this help message and exit\n");
    text
}

/// The message on standard error about wrong options.
pub fn wrong(command: &CsetCommand, what: &str) -> String {
    format!("{}\n\ncset {}: error: {what}\n", first_line(command), command.name)
}

fn first_line(command: &CsetCommand) -> String {
    format!("Usage: cset {} [options] {}", command.name, command.operands)
}

fn left(flag: &Flag) -> String {
    let word = match flag.takes {
        OptionValueKind::Nothing => String::new(),
        OptionValueKind::Word => flag.long.to_uppercase(),
        OptionValueKind::OneOf(words) => words.join("|"),
    };
    let word = match flag.long {
        "cpu" => "CPUSPEC".to_owned(),
        "mem" => "MEMSPEC".to_owned(),
        "pid" => "PIDSPEC".to_owned(),
        "set" => "CPUSET".to_owned(),
        _ => word,
    };
    let (short, long) = match word.is_empty() {
        true => (String::new(), String::new()),
        false => (format!(" {word}"), format!("={word}")),
    };
    match flag.short {
        ' ' => format!("--{}{long}", flag.long),
        letter => format!("-{letter}{short}, --{}{long}", flag.long),
    }
}

#[cfg(test)]
mod tests {
    use super::super::COMMANDS;
    use super::*;

    #[test]
    fn every_command_has_a_help_text_and_every_option_a_line() {
        for command in COMMANDS {
            assert!(ABOUT.iter().any(|(name, _)| *name == command.name), "{}", command.name);
            let usage = usage(command);
            for flag in command.flags {
                assert!(
                    usage.contains(&format!("--{}", flag.long)),
                    "{}: {}",
                    command.name,
                    flag.long
                );
                assert!(!flag.help.is_empty());
            }
        }
        assert!(
            usage(COMMANDS[2])
                .starts_with("Usage: cset set [options] [cpuset name]\n\nOptions:\n  -l, --list            list")
        );
        assert!(usage(COMMANDS[0]).contains("\n  -k on|off, --kthread=on|off\n                        "));
    }
}
