//! The flags of every command, and the screen that they select.

use clap::{Args, ValueEnum};
use report::Style;
use std::io::IsTerminal;
use terminal::{Form, Screen, StandardError, Volume};

/// Flags of every verb.
#[derive(Args, Clone, Debug)]
pub struct Flags {
    /// Print the result as JSON on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Print nothing but errors (and the JSON, if asked for)
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Say more
    #[arg(long, short, global = true)]
    verbose: bool,
    /// Colours: auto is yes on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl Flags {
    /// The screen of a command.
    #[must_use]
    pub fn screen(&self) -> Screen {
        let has_colour = match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        };
        let volume = match (self.quiet, self.verbose) {
            (true, _) => Volume::Quiet,
            (false, true) => Volume::Verbose,
            (false, false) => Volume::Normal,
        };
        Screen::new(
            if self.json { Form::Json } else { Form::Text },
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
