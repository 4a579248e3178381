//! Implements `bitcalc`, the mask calculator of partrt. It evaluates constants and operators in postfix notation, from
//! arguments, files, or standard input.

mod bits;
mod error;

pub use bits::{Bits, MaskFormat};
pub use error::BitcalcError;

use machine::{CpuId, CpuSet};
use root::Status;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use terminal::Screen;

const USAGE: &str = "\
bitcalc - calculates with bit masks

Usage: bitcalc [options] SCRIPT...

A script consists of words in postfix notation: first the values, then the operator:
  ff30, 0xff30, ff,10404020   a hexadecimal mask
  #0-5,9,12                   a list of bits
  &c                          this number of bits, starting with bit 0, hexadecimal
  1 2 and                     1 & 2
  1 2 xor                     1 ^ 2
  ff print-bit-count          prints how many bits are set
The remaining values are printed, the last one first. Scripts and files are read in the given order.

Options:
  -F, --format=FORMAT   mask (default), list, u32list, array; the last one counts
  -f, --file=FILE       reads the script from a file; - is standard input
  -v, --verbose         prints each step on standard error; twice prints more
  -V, --version         shows the version
  -h, --help            shows this help

Examples:
  bitcalc '#1-2,4-5 #2-4 xor'
  bitcalc -F list 0xc
  echo xor | bitcalc 0xfe 0xfe00 --file=-

Exit status: 0, or 1 for a script that is wrong.
";

/// Runs it. Errors go to standard error, with exit status 1.
pub fn run(args: &[OsString], _session: &session::Session, screen: &mut Screen) -> Status {
    let words: Vec<String> = args.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut machine = Calculator::default();
    let ended = calculate(&words, &mut machine);
    if !machine.log.is_empty() {
        screen.note(&machine.log);
    }
    match ended {
        Ok(Some(text)) => screen.text(&text),
        Ok(None) => screen.text(&machine.result()),
        Err(message) => {
            // Print the output of `print-bit-count` before the error.
            screen.text(&machine.counts);
            screen.note(&format!("{message}\n"));
            return Status::Failed;
        }
    }
    Status::Done
}

/// The one mask that a script leaves on the stack.
///
/// # Errors
/// The error message of bitcalc.
pub fn evaluate(script: &str) -> Result<Bits, BitcalcError> {
    let mut machine = Calculator::default();
    machine.script(script)?;
    match (machine.stack.pop(), machine.stack.len()) {
        (Some(value), 0) => Ok(value),
        (None, _) => Err(BitcalcError::NothingLeft),
        (Some(_), others) => Err(BitcalcError::ManyLeft(others + 1)),
    }
}

/// A mask as CPUs.
///
/// # Errors
/// Bits above [`CpuSet::MAX_CPU`].
pub fn cpus(bits: &Bits) -> Result<CpuSet, BitcalcError> {
    let numbers = bits.set().map(u32::try_from);
    let cpus: Option<CpuSet> = numbers
        .map(|cpu| cpu.ok().filter(|cpu| *cpu <= CpuSet::MAX_CPU).map(CpuId))
        .collect();
    cpus.ok_or(BitcalcError::NoSuchCpu)
}

/// The maximum size of the stack, so that a long script cannot exhaust memory.
const MAX_STACK_BITS: usize = 1 << 26;

/// The stack, and the pending output.
#[derive(Default)]
struct Calculator {
    stack: Vec<Bits>,
    /// The total number of bits on the stack.
    stack_bits: usize,
    format: MaskFormat,
    verbose: u32,
    counts: String,
    log: String,
}

impl Calculator {
    fn script(&mut self, script: &str) -> Result<(), BitcalcError> {
        script
            .split([' ', '\n', '\r', '\t'])
            .filter(|token| !token.is_empty())
            .try_for_each(|token| self.token(token))
    }

    fn token(&mut self, token: &str) -> Result<(), BitcalcError> {
        let scope = match token {
            "and" => "binary operator 'and'",
            "xor" => "binary operator 'xor'",
            "print-bit-count" => "unary operator 'print-bit-count'",
            _ if token.starts_with('#') => "list",
            _ if token.starts_with('&') => "nr bits",
            _ => "mask or u32 list",
        };
        if self.verbose > 1 {
            self.log
                .push_str(&format!("Parsing {scope}: {token}: Identified as {scope}\n"));
        }
        self.take(token).map_err(|error| BitcalcError::Word {
            scope,
            error: Box::new(error),
        })
    }

    fn take(&mut self, token: &str) -> Result<(), BitcalcError> {
        match token {
            "and" => self.combine(Bits::and),
            "xor" => self.combine(Bits::xor),
            "print-bit-count" => {
                let value = self.pop().ok_or(BitcalcError::NoValue)?;
                self.counts.push_str(&value.set().count().to_string());
                Ok(())
            }
            _ => {
                let value = if let Some(list) = token.strip_prefix('#') {
                    Bits::of_list(list)
                } else if let Some(count) = token.strip_prefix('&') {
                    bit_count(count).and_then(Bits::first)
                } else {
                    Bits::of_mask(token)
                }?;
                self.push(value)
            }
        }
    }

    fn push(&mut self, value: Bits) -> Result<(), BitcalcError> {
        self.stack_bits += value.width();
        self.stack.push(value);
        if self.stack_bits > MAX_STACK_BITS {
            return Err(BitcalcError::StackFull(MAX_STACK_BITS));
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<Bits> {
        let value = self.stack.pop()?;
        self.stack_bits -= value.width();
        Some(value)
    }

    fn combine(&mut self, operator: fn(&Bits, &Bits) -> Bits) -> Result<(), BitcalcError> {
        let there = self.stack.len();
        match (self.pop(), self.pop()) {
            (Some(newer), Some(older)) => self.push(operator(&older, &newer)),
            _ => Err(BitcalcError::TooFewValues(there)),
        }
    }

    /// The counts, then the values left on the stack, the last one first; empty input gives empty output.
    fn result(&self) -> String {
        let values: Vec<String> = self.stack.iter().rev().map(|value| value.text(self.format)).collect();
        let end = if values.is_empty() { "" } else { "\n" };
        format!("{}{}{end}", self.counts, values.join(" "))
    }
}

fn bit_count(text: &str) -> Result<usize, BitcalcError> {
    if text.is_empty() {
        return Err(BitcalcError::NoNumber);
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    usize::from_str_radix(digits, 16).map_err(|_| BitcalcError::Number(text.to_owned()))
}

const LONG: &[(&str, char)] = &[
    ("help", 'h'),
    ("verbose", 'v'),
    ("version", 'V'),
    ("file", 'f'),
    ("format", 'F'),
];

/// Handles options and scripts in order. `--help` and `--version` stop it with a text.
fn calculate(words: &[String], machine: &mut Calculator) -> Result<Option<String>, BitcalcError> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            return match words.next() {
                Some(word) => Err(BitcalcError::Argument(word.clone())),
                None => Ok(None),
            };
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let (name, letter) = long_option(name)?;
            let value = match (letter, value) {
                ('f' | 'F', None) => Some(words.next().cloned().ok_or(BitcalcError::NameWithoutValue(name))?),
                ('f' | 'F', value) => value,
                (_, Some(_)) => return Err(BitcalcError::NameWithValue(name)),
                (_, None) => None,
            };
            if let Some(text) = option(letter, &value.unwrap_or_default(), machine)? {
                return Ok(Some(text));
            }
        } else if let Some(group) = word.strip_prefix('-').filter(|group| !group.is_empty()) {
            let mut letters = group.chars();
            while let Some(letter) = letters.next() {
                let takes_value = match letter {
                    'f' | 'F' => true,
                    'h' | 'v' | 'V' => false,
                    _ => return Err(BitcalcError::UnknownLetter(letter)),
                };
                let value = match (takes_value, letters.as_str()) {
                    (false, _) => String::new(),
                    (true, "") => words.next().cloned().ok_or(BitcalcError::LetterWithoutValue(letter))?,
                    (true, attached) => attached.to_owned(),
                };
                if let Some(text) = option(letter, &value, machine)? {
                    return Ok(Some(text));
                }
                if takes_value {
                    break;
                }
            }
        } else {
            machine.script(word)?;
        }
    }
    Ok(None)
}

/// A long option by unique prefix.
fn long_option(name: &str) -> Result<(&'static str, char), BitcalcError> {
    let exact = LONG.iter().find(|(known, _)| *known == name);
    let mut likely = LONG.iter().filter(|(known, _)| known.starts_with(name));
    match (exact, likely.next(), likely.next()) {
        (Some(option), ..) | (None, Some(option), None) => Ok(*option),
        (None, None, _) => Err(BitcalcError::UnknownName(name.to_owned())),
        (None, Some(_), Some(_)) => Err(BitcalcError::AmbiguousName(name.to_owned())),
    }
}

fn option(letter: char, value: &str, machine: &mut Calculator) -> Result<Option<String>, BitcalcError> {
    match letter {
        'h' => return Ok(Some(USAGE.to_owned())),
        'V' => {
            return Ok(Some(format!("bitcalc (quietcore {})\n", env!("CARGO_PKG_VERSION"))));
        }
        'v' => machine.verbose += 1,
        'F' => {
            machine.format = MaskFormat::of(value).ok_or_else(|| BitcalcError::Format(value.to_owned()))?;
        }
        _ => machine.script(&script_of(value)?)?,
    }
    Ok(None)
}

/// More than any script needs; an endless standard input must not exhaust memory.
const LONGEST_SCRIPT: u64 = 16 << 20;

fn script_of(file: &str) -> Result<String, BitcalcError> {
    if file == "-" {
        let mut script = String::new();
        let read = std::io::stdin().lock().take(LONGEST_SCRIPT).read_to_string(&mut script);
        return match read {
            Ok(_) => Ok(script),
            Err(error) => Err(BitcalcError::StandardInput(error)),
        };
    }
    root::input::text(Path::new(file)).map_err(|error| BitcalcError::File {
        file: file.to_owned(),
        why: error.errno().map_or_else(|| error.to_string(), root::errno_text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output_of(words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut machine = Calculator::default();
        let text = calculate(&words, &mut machine).map_err(|error| error.to_string())?;
        Ok(text.unwrap_or_else(|| machine.result()))
    }

    #[test]
    fn documented_examples_of_bitcalc_give_the_documented_results() {
        for (words, printed) in [
            (&["#0-3 #4-6 xor"][..], "7f\n"),
            (&["7f f and 3 xor"], "0c\n"),
            (&["#1-2,4-5 #2-4 xor"], "2a\n"),
            (&[], ""),
            (&["-F", "list", "0xc"], "2-3\n"),
            (&["--format=list", "0xc"], "2-3\n"),
            (&["--form", "list", "0xc"], "2-3\n"),
            (&["-Fu32list", "1ffffffff"], "1,ffffffff\n"),
            (&["0xc", "-Farray"], "2 3\n"),
            (&["&c"], "fff\n"),
            (&["&10"], "ffff\n"),
            (&["1 2 and"], "0\n"),
            (&["1", "2", "xor"], "3\n"),
            (&["c 3 print-bit-count"], "2c\n"),
            (&["0xff print-bit-count"], "8"),
            (&["1 2"], "2 1\n"),
            (&["#"], "\n"),
            (&["c", "--"], "c\n"),
        ] {
            assert_eq!(output_of(words).as_deref(), Ok(printed), "{words:?}");
        }
    }

    #[test]
    fn errors_are_worded_as_bitcalc_words_them() {
        for (words, printed) in [
            (
                &["xor"][..],
                "Error while parsing binary operator 'xor': Need two values, but 0 available",
            ),
            (
                &["1 and"],
                "Error while parsing binary operator 'and': Need two values, but 1 available",
            ),
            (
                &["print-bit-count"],
                "Error while parsing unary operator 'print-bit-count': Need one value, but none available",
            ),
            (
                &["12z"],
                "Error while parsing mask or u32 list: 12z: Character 'z' is not legal in hexadecimal mask",
            ),
            (&["#1-"], "Error while parsing list: 1-: Malformed bitmap"),
            (
                &["&"],
                "Error while parsing nr bits: Expected unsigned integer value, got empty string",
            ),
            (
                &["&-1"],
                "Error while parsing nr bits: '-1': Not a valid unsigned integer value",
            ),
            (&["-Fjson", "1"], "Error: json: json is an unknown format"),
            (&["--", "1"], "Error: 1: Unexpected argument"),
            (&["-q"], "bitcalc: invalid option -- 'q'"),
            (&["-f"], "bitcalc: option requires an argument -- 'f'"),
            (&["--fo"], "bitcalc: option '--format' requires an argument"),
            (&["--f"], "bitcalc: option '--f' is ambiguous"),
            (&["--no"], "bitcalc: unrecognized option '--no'"),
            (&["--help=1"], "bitcalc: option '--help' doesn't allow an argument"),
            (
                &["-f/there/is/none"],
                "Error: /there/is/none: Error opening file for reading: No such file or directory",
            ),
        ] {
            assert_eq!(
                output_of(words).as_ref().map_err(String::as_str),
                Err(printed),
                "{words:?}"
            );
        }
    }

    #[test]
    fn the_stack_of_a_script_is_limited() {
        let full = "&100000 ".repeat(64);
        assert!(output_of(&[&full]).is_ok());
        let printed = output_of(&[&format!("{full} 1")]).unwrap_err();
        assert!(
            printed.ends_with("more than 67108864 bits are on the stack"),
            "{printed}"
        );
        assert!(
            output_of(&[&format!("{full} and 1")]).is_ok(),
            "an operator frees what it takes"
        );
    }

    #[test]
    fn a_mask_expression_must_give_exactly_one_value() {
        assert_eq!(evaluate("0xc").unwrap().set().collect::<Vec<_>>(), [2, 3]);
        assert!(evaluate("").is_err() && evaluate("1 2").is_err() && evaluate("g").is_err());
    }
}
