//! Defines the errors of `bitcalc`. Their texts are those of the original, which other programs may compare.

use machine::CpuSet;
use std::fmt;

/// Why a script or a command line cannot be used.
#[derive(Debug)]
pub enum BitcalcError {
    /// The script leaves no value on the stack.
    NothingLeft,
    /// The script leaves several values.
    ManyLeft(usize),
    /// A mask has bits above the highest CPU.
    NoSuchCpu,
    /// A word of the script is wrong.
    Word {
        /// What the word was taken for.
        scope: &'static str,
        /// What is wrong with it.
        error: Box<BitcalcError>,
    },
    /// A mask has more than this number of bits.
    TooWide(usize),
    /// A mask has a character that is no hexadecimal digit.
    Digit {
        /// The mask.
        digits: String,
        /// The character.
        letter: char,
    },
    /// A list of bits cannot be parsed.
    List(String),
    /// A number of bits is missing.
    NoNumber,
    /// A number of bits cannot be parsed.
    Number(String),
    /// The values on the stack have more than this number of bits.
    StackFull(usize),
    /// An operator needs a value, and there is none.
    NoValue,
    /// An operator needs two values, and there are only so many.
    TooFewValues(usize),
    /// A word after `--`.
    Argument(String),
    /// No option has this name.
    UnknownName(String),
    /// Several options begin with this name.
    AmbiguousName(String),
    /// The long option requires a value.
    NameWithoutValue(&'static str),
    /// The long option takes no value.
    NameWithValue(&'static str),
    /// No option has this letter.
    UnknownLetter(char),
    /// The option of this letter requires a value.
    LetterWithoutValue(char),
    /// No format has this name.
    Format(String),
    /// Standard input cannot be read.
    StandardInput(std::io::Error),
    /// A file cannot be opened.
    File {
        /// The file.
        file: String,
        /// The error, as C words it.
        why: String,
    },
}

impl fmt::Display for BitcalcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BitcalcError::Word { scope, error } => write!(f, "Error while parsing {scope}: {error}"),
            BitcalcError::NothingLeft
            | BitcalcError::ManyLeft(_)
            | BitcalcError::NoSuchCpu
            | BitcalcError::Argument(_)
            | BitcalcError::Format(_)
            | BitcalcError::StandardInput(_)
            | BitcalcError::File { .. } => self.of_program(f),
            BitcalcError::UnknownName(_)
            | BitcalcError::AmbiguousName(_)
            | BitcalcError::NameWithoutValue(_)
            | BitcalcError::NameWithValue(_)
            | BitcalcError::UnknownLetter(_)
            | BitcalcError::LetterWithoutValue(_) => self.of_option(f),
            _ => self.of_word(f),
        }
    }
}

impl BitcalcError {
    /// Errors that begin with `Error:`.
    fn of_program(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Error: ")?;
        match self {
            BitcalcError::NothingLeft => f.write_str("no value is left"),
            BitcalcError::ManyLeft(count) => write!(f, "{count} values are left"),
            BitcalcError::NoSuchCpu => write!(f, "there is no CPU above {}", CpuSet::MAX_CPU),
            BitcalcError::Argument(word) => write!(f, "{word}: Unexpected argument"),
            BitcalcError::Format(name) => write!(f, "{name}: {name} is an unknown format"),
            BitcalcError::StandardInput(error) => write!(f, "<stdin>: {error}"),
            BitcalcError::File { file, why } => write!(f, "{file}: Error opening file for reading: {why}"),
            _ => Ok(()),
        }
    }

    /// Errors of options, as `getopt_long` words them.
    fn of_option(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bitcalc: ")?;
        match self {
            BitcalcError::UnknownName(name) => write!(f, "unrecognized option '--{name}'"),
            BitcalcError::AmbiguousName(name) => write!(f, "option '--{name}' is ambiguous"),
            BitcalcError::NameWithoutValue(name) => write!(f, "option '--{name}' requires an argument"),
            BitcalcError::NameWithValue(name) => write!(f, "option '--{name}' doesn't allow an argument"),
            BitcalcError::UnknownLetter(letter) => write!(f, "invalid option -- '{letter}'"),
            BitcalcError::LetterWithoutValue(letter) => {
                write!(f, "option requires an argument -- '{letter}'")
            }
            _ => Ok(()),
        }
    }

    /// Errors within a word of a script.
    fn of_word(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BitcalcError::TooWide(most) => write!(f, "a mask has at most {most} bits here"),
            BitcalcError::Digit { digits, letter } => {
                write!(f, "{digits}: Character '{letter}' is not legal in hexadecimal mask")
            }
            BitcalcError::List(text) => write!(f, "{text}: Malformed bitmap"),
            BitcalcError::NoNumber => f.write_str("Expected unsigned integer value, got empty string"),
            BitcalcError::Number(text) => write!(f, "'{text}': Not a valid unsigned integer value"),
            BitcalcError::StackFull(most) => write!(f, "more than {most} bits are on the stack"),
            BitcalcError::NoValue => f.write_str("Need one value, but none available"),
            BitcalcError::TooFewValues(there) => write!(f, "Need two values, but {there} available"),
            _ => Ok(()),
        }
    }
}
