//! The flags of every command, the screen that they select, and options that several commands share.

use clap::{Arg, ArgAction, Args, ValueEnum};
use report::Style;
use session::comm_pattern::Pin;
use session::policy::{self, SchedulingPolicy};
use std::io::IsTerminal;
use terminal::{OutputFormat, Screen, StandardError, Volume};
use tracing::ipi_senders::Kprobes;

/// The heading of the flags of every command, in the help.
const HEADING: &str = "Global options";

/// Flags of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = HEADING)]
pub struct Flags {
    /// Print the result as JSON on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Print only errors, one-line verdicts and requested data
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Print every detail
    #[arg(long, short, global = true)]
    verbose: bool,
    /// Use colours: auto, always or never
    ///
    /// With auto: on a terminal, if NO_COLOR is unset.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    color: ColorMode,
}

/// `--help` and `--version`, under the heading of the other flags. Those that `clap` makes have no heading.
#[must_use]
pub fn help_and_version() -> [Arg; 2] {
    let flag = |name: &'static str, short: char, action: ArgAction| {
        let flag = Arg::new(name).long(name).short(short).action(action);
        flag.global(true).help_heading(HEADING)
    };
    [
        flag("help", 'h', ArgAction::Help).help("Print help: -h a summary, --help everything"),
        flag("version", 'V', ArgAction::Version).help("Print the version"),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ColorMode {
    Auto,
    Always,
    Never,
}

impl Flags {
    /// The screen of a command.
    #[must_use]
    pub fn screen(&self) -> Screen {
        let has_colour = match self.color {
            ColorMode::Always => true,
            ColorMode::Never => false,
            ColorMode::Auto => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        let volume = match (self.quiet, self.verbose) {
            (true, _) => Volume::Quiet,
            (false, true) => Volume::Verbose,
            (false, false) => Volume::Normal,
        };
        Screen::new(
            if self.json {
                OutputFormat::Json
            } else {
                OutputFormat::Text
            },
            volume,
            if has_colour { Style::Colour } else { Style::Plain },
        )
    }

    /// Where the session of a command reports.
    #[must_use]
    pub fn reporter(&self) -> &'static StandardError {
        if self.quiet {
            &StandardError::Quiet
        } else {
            &StandardError::Normal
        }
    }
}

/// Whether kprobes may be made.
#[derive(Args)]
#[group(skip)]
pub struct KprobesArgs {
    /// Do not use kprobes to find the senders of interrupts
    ///
    /// Kernels before 6.4 have no events for them. Without kprobes, their senders are not reported.
    #[arg(long)]
    no_kprobes: bool,
}

impl KprobesArgs {
    /// The choice.
    pub fn kprobes(&self) -> Kprobes {
        match self.no_kprobes {
            true => Kprobes::Forbidden,
            false => Kprobes::Allowed,
        }
    }
}

/// How a program or a task is placed inside the partition.
#[derive(Args, Clone, Debug)]
pub struct PlacementArgs {
    /// Use only these CPUs of the partition [default: all of them]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<String>,
    /// Scheduling policy: other, batch, idle, fifo:80, rr:50 or deadline:100us/500us/1ms
    ///
    /// The times of deadline are runtime, deadline and period.
    #[arg(long, value_name = "POLICY", value_parser = policy::parse)]
    pub policy: Option<SchedulingPolicy>,
    /// Nice value, from -20 (highest priority) to 19
    #[arg(long, value_name = "N", value_parser = policy::parse_nice, allow_hyphen_values = true)]
    pub nice: Option<i32>,
    /// Pin the threads whose names match: 'io*=2' (repeatable)
    ///
    /// The first pattern that matches a thread counts.
    #[arg(long, value_name = "GLOB=CPUS", value_parser = Pin::parse)]
    pub pin: Vec<Pin>,
}

/// Defines an enum of words that stand for the values of another crate's enum, so that this enum needs no `clap`. Each stands
/// for the variant of the same name.
macro_rules! value_words {
    (
        $(#[$meta:meta])*
        $vis:vis enum $Word:ident for $Value:ty { $($(#[$about:meta])* $Variant:ident),+ $(,)? }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        $(#[$meta])*
        $vis enum $Word {
            $($(#[$about])* $Variant,)+
        }

        impl From<$Word> for $Value {
            fn from(word: $Word) -> $Value {
                match word {
                    $($Word::$Variant => <$Value>::$Variant,)+
                }
            }
        }
    };
}

pub(crate) use value_words;
