//! The flags of every command, the screen that they select, and options that several commands share.

use clap::{Args, ValueEnum};
use report::Style;
use session::comm_pattern::Pin;
use session::policy::{self, SchedulingPolicy};
use std::io::IsTerminal;
use terminal::{OutputFormat, Screen, StandardError, Volume};
use tracing::ipi_senders::Kprobes;

/// Flags of every verb.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Print the result as JSON on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Print only errors and verdicts of one line, and the JSON if requested
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Say more
    #[arg(long, short, global = true)]
    verbose: bool,
    /// Colours: auto is yes on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorMode,
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
    /// On a kernel without events for the sending of interrupts (before 6.4), do not put kprobes at the functions that send
    /// them: the senders of interrupts are then not reported
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
    /// CPUs of the partition to use; all of them without it
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Policy: other, batch, idle, fifo:80, rr:50, deadline:100us/500us/1ms (runtime, deadline, period)
    #[arg(long, value_name = "POLICY", value_parser = policy::parse)]
    pub policy: Option<SchedulingPolicy>,
    /// Nice value, from -20 (takes most) to 19
    #[arg(long, value_name = "N", value_parser = policy::parse_nice, allow_hyphen_values = true)]
    pub nice: Option<i32>,
    /// Pin threads with such names: 'io*=2'; may be given several times, the first that matches counts
    #[arg(long, value_name = "GLOB=LIST", value_parser = Pin::parse)]
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
