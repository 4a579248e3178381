//! Follows a command line word by word through the `clap` commands, and finds what may come next.

use super::{Candidate, values};
use crate::reading::Machines;
use clap::{Arg, ArgAction, Command};
use root::Root;
use session::Session;
use std::path::Path;

/// The command line before the cursor.
pub struct CommandLine<'c> {
    command: &'c Command,
    /// The option whose values are read, and how many it has.
    option: Option<(&'c Arg, usize)>,
    /// Options that were given.
    given: Vec<&'c Arg>,
    /// The captured machine that was named.
    root: Option<String>,
    /// Number of the positional argument that comes next.
    position: usize,
    /// After `--`.
    is_escaped: bool,
    rest: Rest,
}

/// What the words that come next belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Our command.
    Own,
    /// A program to start, which has arguments of its own.
    Program,
    /// Unknown: our command takes no such word. Front ends such as `cset` have command lines of their own.
    Unknown,
}

impl<'c> CommandLine<'c> {
    /// A line with the name of the program. The command must be built.
    pub fn new(command: &'c Command) -> CommandLine<'c> {
        CommandLine {
            command,
            option: None,
            given: Vec::new(),
            root: None,
            position: 0,
            is_escaped: false,
            rest: Rest::Own,
        }
    }

    /// Adds the next word.
    pub fn take(&mut self, word: &str) {
        if self.rest != Rest::Own || self.is_taken_by_option(word) {
            return;
        }
        if !self.is_escaped {
            if word == "--" {
                self.is_escaped = true;
                return;
            }
            if word.len() > 1 && word.starts_with('-') {
                self.take_options(word);
                return;
            }
            if let Some(inner) = self.command.find_subcommand(word) {
                *self = CommandLine::new(inner);
                return;
            }
        }
        self.rest = match self.positional() {
            Some(arg) if is_program(arg) => Rest::Program,
            Some(_) => Rest::Own,
            None => Rest::Unknown,
        };
        self.position += 1;
    }

    /// Whether a word is a value of the option before it.
    fn is_taken_by_option(&mut self, word: &str) -> bool {
        let Some((option, count)) = self.option.take() else {
            return false;
        };
        let (least, most) = value_range(option);
        if count >= least && word.starts_with('-') {
            return false;
        }
        self.see_value(option, word);
        self.option = (count + 1 < most).then_some((option, count + 1));
        true
    }

    /// Adds `--name`, `--name=value` or a group such as `-qv`.
    fn take_options(&mut self, word: &str) {
        let Some(long) = word.strip_prefix("--") else {
            for letter in word.chars().skip(1) {
                let of_letter = |arg: &&Arg| arg.get_short() == Some(letter);
                if let Some(option) = self.command.get_arguments().find(of_letter) {
                    self.give(option);
                }
            }
            // `-ofile` has its value already.
            self.option = self
                .option
                .filter(|(option, _)| option.get_short() == word.chars().last());
            return;
        };
        let (name, value) = long
            .split_once('=')
            .map_or((long, None), |(name, value)| (name, Some(value)));
        let Some(option) = self.long(name) else {
            return;
        };
        self.give(option);
        if let Some(value) = value {
            self.see_value(option, value);
            self.option = None;
        }
    }

    fn see_value(&mut self, option: &Arg, value: &str) {
        if option.get_id() == "root" {
            self.root = Some(value.to_owned());
        }
    }

    fn give(&mut self, option: &'c Arg) {
        self.given.push(option);
        let has_values = value_range(option).1 > 0 && !option.is_require_equals_set();
        self.option = has_values.then_some((option, 0));
    }

    /// The option of that name, also one of an older name.
    fn long(&self, name: &str) -> Option<&'c Arg> {
        self.command.get_arguments().find(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long() == Some(name) || aliases.contains(&name)
        })
    }

    /// The positional argument that comes next.
    fn positional(&self) -> Option<&'c Arg> {
        let all = || self.command.get_positionals();
        if self.is_escaped
            && let Some(last) = all().find(|arg| arg.is_last_set())
        {
            return Some(last);
        }
        let several = || all().last().filter(|arg| value_range(arg).1 > 1);
        all()
            .nth(self.position)
            .or_else(several)
            .filter(|arg| !arg.is_last_set() || self.is_escaped)
    }

    /// The machine that the command reads. An archive would take too long to open.
    pub fn machine<'s>(&self, session: &'s Session) -> Machines<'s> {
        let dir = self.root.as_ref().map(Path::new).filter(|path| path.is_dir());
        match dir.and_then(|dir| Root::open(dir).ok()) {
            Some(root) => Machines::Captured(Box::new(session.captured(root))),
            None => Machines::Running(session),
        }
    }

    /// What may be at the cursor, where `current` was typed so far.
    pub fn candidates(&self, current: &str, session: &Session) -> Vec<Candidate> {
        match self.rest {
            Rest::Own => {}
            Rest::Program => return vec![Candidate::new("<files>", "")],
            Rest::Unknown => return Vec::new(),
        }
        let mut found = Vec::new();
        if let Some((option, count)) = self.option {
            found = values::of(option, current, session);
            if count < value_range(option).0 {
                return found;
            }
        }
        if self.is_escaped || !current.starts_with('-') {
            found.extend(self.words(current, session));
        } else if let Some((name, value)) = current.split_once('=') {
            let option = name.strip_prefix("--").and_then(|name| self.long(name));
            found = option.map_or_else(Vec::new, |option| values::of(option, value, session));
            for one in found.iter_mut().filter(|one| !one.is_request()) {
                one.word = format!("{name}={}", one.word);
            }
        } else {
            found.extend(self.options(current));
        }
        found
    }

    /// Commands and values of the positional argument; options where there are none.
    fn words(&self, current: &str, session: &Session) -> Vec<Candidate> {
        let is_offered = |one: &&Command| !one.is_hide_set() && one.get_name().starts_with(current) && !self.is_escaped;
        let of_command = |one: &Command| {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            Candidate::new(one.get_name(), about)
        };
        let commands = self.command.get_subcommands().filter(is_offered);
        let mut found: Vec<Candidate> = commands.map(of_command).collect();
        let positional = self.positional();
        found.extend(positional.into_iter().flat_map(|arg| values::of(arg, current, session)));
        if found.is_empty() && positional.is_none() && current.is_empty() && !self.is_escaped {
            found = self.options(current);
        }
        found
    }

    /// The visible options, without those that were given and count once.
    fn options(&self, current: &str) -> Vec<Candidate> {
        let is_open = |arg: &&Arg| {
            let is_repeatable = matches!(arg.get_action(), ArgAction::Append | ArgAction::Count);
            let is_given = self.given.iter().any(|given| given.get_id() == arg.get_id());
            !arg.is_positional() && !arg.is_hide_set() && (is_repeatable || !is_given)
        };
        let of_arg = |arg: &Arg| {
            let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let long = arg.get_long().map(|name| format!("--{name}"));
            let short = arg.get_short().map(|letter| format!("-{letter}"));
            [long, short]
                .into_iter()
                .flatten()
                .map(move |word| Candidate::new(word, about.clone()))
        };
        let all = self.command.get_arguments().filter(is_open).flat_map(of_arg);
        all.filter(|one| one.word.starts_with(current)).collect()
    }
}

/// The fewest and the most values of an argument.
fn value_range(arg: &Arg) -> (usize, usize) {
    arg.get_num_args()
        .map_or((1, 1), |range| (range.min_values(), range.max_values()))
}

/// Whether an argument is a program with its arguments.
fn is_program(arg: &Arg) -> bool {
    arg.is_trailing_var_arg_set() || arg.is_last_set()
}
