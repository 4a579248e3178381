//! Defines the errors of `bitcalc`. Their texts are those of the original, which other programs may compare.

use machine::CpuSet;

/// Why a script or a command line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BitcalcError {
    /// The script leaves no value on the stack.
    #[error("Error: no value is left")]
    NothingLeft,
    /// The script leaves several values.
    #[error("Error: {0} values are left")]
    ManyLeft(usize),
    /// A mask has bits above the highest CPU.
    #[error("Error: there is no CPU above {}", CpuSet::MAX_CPU)]
    NoSuchCpu,
    /// A word of the script is wrong.
    #[error("Error while parsing {scope}: {error}")]
    Word {
        /// What the word was taken for.
        scope: &'static str,
        /// What is wrong with it.
        error: Box<BitcalcError>,
    },
    /// A mask has more than this number of bits.
    #[error("a mask has at most {0} bits here")]
    TooWide(usize),
    /// A mask has a character that is no hexadecimal digit.
    #[error("{digits}: Character '{letter}' is not legal in hexadecimal mask")]
    Digit {
        /// The mask.
        digits: String,
        /// The character.
        letter: char,
    },
    /// A list of bits cannot be parsed.
    #[error("{0}: Malformed bitmap")]
    List(String),
    /// A number of bits is missing.
    #[error("Expected unsigned integer value, got empty string")]
    NoNumber,
    /// A number of bits cannot be parsed.
    #[error("'{0}': Not a valid unsigned integer value")]
    Number(String),
    /// The values on the stack have more than this number of bits.
    #[error("more than {0} bits are on the stack")]
    StackFull(usize),
    /// An operator needs a value, and there is none.
    #[error("Need one value, but none available")]
    NoValue,
    /// An operator needs two values, and there are only so many.
    #[error("Need two values, but {0} available")]
    TooFewValues(usize),
    /// A word after `--`.
    #[error("Error: {0}: Unexpected argument")]
    Argument(String),
    /// No option has this name.
    #[error("bitcalc: unrecognized option '--{0}'")]
    UnknownName(String),
    /// Several options begin with this name.
    #[error("bitcalc: option '--{0}' is ambiguous")]
    AmbiguousName(String),
    /// The long option requires a value.
    #[error("bitcalc: option '--{0}' requires an argument")]
    NameWithoutValue(&'static str),
    /// The long option takes no value.
    #[error("bitcalc: option '--{0}' doesn't allow an argument")]
    NameWithValue(&'static str),
    /// No option has this letter.
    #[error("bitcalc: invalid option -- '{0}'")]
    UnknownLetter(char),
    /// The option of this letter requires a value.
    #[error("bitcalc: option requires an argument -- '{0}'")]
    LetterWithoutValue(char),
    /// No format has this name.
    #[error("Error: {0}: {0} is an unknown format")]
    Format(String),
    /// Standard input cannot be read.
    #[error("Error: <stdin>: {0}")]
    StandardInput(std::io::Error),
    /// A file cannot be opened.
    #[error("Error: {file}: Error opening file for reading: {why}")]
    File {
        /// The file.
        file: String,
        /// The error, as C words it.
        why: String,
    },
}
