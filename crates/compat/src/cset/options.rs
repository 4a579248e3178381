//! Parses options like cset: clustered short options, long options by unique prefix, attached or separate values,
//! interleaved operands, `--` before the rest.

use super::CsetError;
use machine::OrderBy;
use std::ffi::{OsStr, OsString};

/// One option of a command.
pub struct Flag {
    /// Its letter; a blank if it has none.
    pub short: char,
    /// Its name.
    pub long: &'static str,
    /// The value that it takes.
    pub takes: OptionValueKind,
    /// Its description in the list of options.
    pub help: &'static str,
}

impl Flag {
    /// An option without a value.
    pub const fn plain(short: char, long: &'static str, help: &'static str) -> Flag {
        Flag::with(short, long, OptionValueKind::Nothing, help)
    }

    /// An option with a word as its value.
    pub const fn word(short: char, long: &'static str, help: &'static str) -> Flag {
        Flag::with(short, long, OptionValueKind::Word, help)
    }

    /// An option of any kind.
    pub const fn with(short: char, long: &'static str, takes: OptionValueKind, help: &'static str) -> Flag {
        Flag {
            short,
            long,
            takes,
            help,
        }
    }
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValueKind {
    /// Nothing.
    Nothing,
    /// A word.
    Word,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// A parsed command line.
#[derive(Debug, Default)]
pub struct ParsedOptions {
    options: Vec<(&'static str, String)>,
    /// The operands.
    pub operands: Vec<OsString>,
}

impl ParsedOptions {
    /// Whether an option is given.
    pub fn has(&self, long: &str) -> bool {
        self.options.iter().any(|(name, _)| *name == long)
    }

    /// How often an option is given.
    pub fn count(&self, long: &str) -> usize {
        self.options.iter().filter(|(name, _)| *name == long).count()
    }

    /// The last value of an option; an empty one counts as missing.
    pub fn value(&self, long: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(name, _)| *name == long);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// An operand as text.
    pub fn operand(&self, place: usize) -> Option<String> {
        self.operands
            .get(place)
            .map(|operand| operand.to_string_lossy().into_owned())
    }

    /// The values of these options, then the operands.
    pub fn names(&self, options: &[&str]) -> Vec<String> {
        let values = options
            .iter()
            .filter_map(|option| self.value(option))
            .map(str::to_owned);
        let operands = self
            .operands
            .iter()
            .map(|operand| operand.to_string_lossy().into_owned());
        values.chain(operands).collect()
    }
}

/// Parses a command line.
///
/// # Errors
/// The error in the command line, in the words that callers expect.
pub fn parse(flags: &'static [Flag], words: &[OsString]) -> Result<ParsedOptions, CsetError> {
    let mut given = ParsedOptions::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "--" {
            given.operands.extend(words.cloned());
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let flag = by_name(flags, name)?;
            let shown = format!("--{}", flag.long);
            let value = match (flag.takes, value) {
                (OptionValueKind::Nothing, Some(_)) => {
                    return Err(wrong(format!("{shown} option does not take a value")));
                }
                (OptionValueKind::Nothing, None) => String::new(),
                (_, Some(value)) => value,
                (_, None) => next(&mut words, &shown)?,
            };
            given.options.push((flag.long, checked(flag, &shown, value)?));
        } else if text.len() > 1 && text.starts_with('-') {
            let mut letters = text.chars().skip(1);
            while let Some(letter) = letters.next() {
                let shown = format!("-{letter}");
                let flag = flags
                    .iter()
                    .find(|flag| flag.short == letter)
                    .ok_or_else(|| wrong(format!("no such option: {shown}")))?;
                let value = match flag.takes {
                    OptionValueKind::Nothing => String::new(),
                    _ => match letters.by_ref().collect::<String>() {
                        rest if rest.is_empty() => next(&mut words, &shown)?,
                        rest => rest,
                    },
                };
                given.options.push((flag.long, checked(flag, &shown, value)?));
            }
        } else {
            given.operands.push(word.clone());
        }
    }
    Ok(given)
}

fn by_name(flags: &'static [Flag], name: &str) -> Result<&'static Flag, CsetError> {
    if let Some(flag) = flags.iter().find(|flag| flag.long == name) {
        return Ok(flag);
    }
    let mut fitting: Vec<&Flag> = flags.iter().filter(|flag| flag.long.starts_with(name)).collect();
    fitting.order_by_key(|flag| flag.long);
    match fitting.as_slice() {
        [flag] => Ok(flag),
        [] => Err(wrong(format!("no such option: --{name}"))),
        several => {
            let names: Vec<String> = several.iter().map(|flag| format!("--{}", flag.long)).collect();
            Err(wrong(format!("ambiguous option: --{name} ({}?)", names.join(", "))))
        }
    }
}

fn next<'a>(words: &mut impl Iterator<Item = &'a OsString>, shown: &str) -> Result<String, CsetError> {
    let value = words.next().map(OsString::as_os_str).map(OsStr::to_string_lossy);
    value
        .map(std::borrow::Cow::into_owned)
        .ok_or_else(|| wrong(format!("{shown} option requires 1 argument")))
}

fn checked(flag: &Flag, shown: &str, value: String) -> Result<String, CsetError> {
    match flag.takes {
        OptionValueKind::OneOf(words) if !words.contains(&value.as_str()) => {
            let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            Err(wrong(format!(
                "option {shown}: invalid choice: '{value}' (choose from {})",
                words.join(", ")
            )))
        }
        _ => Ok(value),
    }
}

fn wrong(what: String) -> CsetError {
    CsetError::Usage(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &[Flag] = &[
        Flag::word('c', "cpu", ""),
        Flag::plain(' ', "cpu_exclusive", ""),
        Flag::with('k', "kthread", OptionValueKind::OneOf(&["on", "off"]), ""),
        Flag::plain('l', "list", ""),
        Flag::plain('v', "verbose", ""),
    ];

    fn parsed(line: &str) -> Result<ParsedOptions, String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(FLAGS, &words).map_err(|refused| match refused {
            CsetError::Usage(what) => what,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn options_are_parsed_in_every_notation() {
        for line in [
            "-c 1-3 -lvv x",
            "-c1-3 -lvv x",
            "--cpu=1-3 x -vlv",
            "x --cpu 1-3 --li --verb -v",
            "-lvvc 1-3 -- x",
        ] {
            let given = parsed(line).unwrap();
            assert_eq!(
                (given.value("cpu"), given.has("list"), given.count("verbose")),
                (Some("1-3"), true, 2),
                "{line}"
            );
            assert_eq!(given.operand(0).as_deref(), Some("x"), "{line}");
        }
        let given = parsed("-l -- chrt -f 99").unwrap();
        assert_eq!(given.operands, ["chrt", "-f", "99"]);
        assert!(!given.has("verbose") && given.value("cpu").is_none());
    }

    #[test]
    fn option_errors_are_worded_as_in_cset() {
        let table = [
            ("--bogus", "no such option: --bogus"),
            ("-lx", "no such option: -x"),
            ("-c", "-c option requires 1 argument"),
            ("--c", "ambiguous option: --c (--cpu, --cpu_exclusive?)"),
            (
                "-k maybe",
                "option -k: invalid choice: 'maybe' (choose from 'on', 'off')",
            ),
            (
                "--kthread=x",
                "option --kthread: invalid choice: 'x' (choose from 'on', 'off')",
            ),
            ("--list=x", "--list option does not take a value"),
        ];
        for (line, message) in table {
            assert_eq!(parsed(line).unwrap_err(), message, "{line}");
        }
        assert!(parsed("--cpu_").unwrap().has("cpu_exclusive"));
    }
}
