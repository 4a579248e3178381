//! Splits the kernel command line as the kernel does: quotes, `--`, repeated parameters.

use serde::Serialize;

/// The kernel's boot line (`/proc/cmdline`), split as the kernel splits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cmdline {
    /// The original line, without the final newline.
    pub text: String,
    /// The kernel's parameters in order, without those after ` -- `, which belong to init.
    pub parameters: Vec<Parameter>,
}

/// Maximum length in bytes: `COMMAND_LINE_SIZE` is 4096 at most, and a boot configuration may add 32767 (`XBC_DATA_MAX`).
pub const MOST_LINE: usize = 40 << 10;

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name as written.
    pub name: String,
    /// Value without quotes; `None` for a bare word.
    pub value: Option<String>,
}

impl Cmdline {
    /// Every occurrence of a parameter, in order. `-` and `_` count as the same.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Parameter> + 'a {
        self.parameters
            .iter()
            .filter(move |parameter| same_name(&parameter.name, name))
    }

    /// The last occurrence of a parameter, which wins for most of them.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .rev()
            .find(|parameter| same_name(&parameter.name, name))
    }

    /// Whether the parameter is present, with or without a value.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.last(name).is_some()
    }
}

/// Whether the kernel considers two parameter names the same: it treats `-` and `_` as equal (`kernel/params.c`, `parameq`).
#[must_use]
pub fn same_name(one: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte };
    one.len() == other.len() && one.bytes().map(plain).eq(other.bytes().map(plain))
}

/// Splits a boot line as `lib/cmdline.c: next_arg` does: at white space outside double quotes. Quotes around a value or
/// around a whole parameter are removed. A bare `--` ends the kernel's part.
#[must_use]
pub fn parse_cmdline(text: &str) -> Cmdline {
    let text = text.trim_end_matches(['\n', '\0']);
    let parameters = words(text)
        .map(Parameter::parse)
        .take_while(|parameter| !parameter.ends_the_kernels_part())
        .collect();
    Cmdline {
        text: text.to_owned(),
        parameters,
    }
}

/// The words of a boot line as written, with quotes, including those after `--`.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(is_blank);
        if rest.is_empty() {
            return None;
        }
        let mut quoted = false;
        let end = rest.find(|letter: char| {
            quoted ^= letter == '"';
            !quoted && is_blank(letter)
        });
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(word)
    })
}

impl Parameter {
    /// Parses one word of a boot line.
    #[must_use]
    pub fn parse(word: &str) -> Parameter {
        split_parameter(word)
    }

    /// Whether this is the bare `--`, after which everything belongs to init.
    #[must_use]
    pub fn ends_the_kernels_part(&self) -> bool {
        self.value.is_none() && self.name == "--"
    }
}

fn split_parameter(word: &str) -> Parameter {
    let bare = match word.strip_prefix('"') {
        Some(inner) => inner.strip_suffix('"').unwrap_or(inner),
        None => word,
    };
    // A `=` at the very start does not end a name: for the kernel, position 0 means "not found".
    let equals = bare
        .char_indices()
        .skip(1)
        .find(|&(_, letter)| letter == '=')
        .map(|(place, _)| place);
    match equals {
        None => Parameter {
            name: bare.to_owned(),
            value: None,
        },
        Some(place) => {
            let (name, value) = (&bare[..place], &bare[place + 1..]);
            let value = match value.strip_prefix('"') {
                Some(inner) => inner.strip_suffix('"').unwrap_or(inner),
                None => value,
            };
            Parameter {
                name: name.to_owned(),
                value: Some(value.to_owned()),
            }
        }
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// The stage that words written to the boot files have reached, according to the journal and the running line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BootWordStage {
    /// In the files, for the next boot.
    Pending,
    /// On the running line.
    Live,
    /// Rebooted since, without them.
    Reverted,
}

impl BootWordStage {
    /// Its name.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            BootWordStage::Pending => "pending",
            BootWordStage::Live => "live",
            BootWordStage::Reverted => "reverted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[(&str, Option<&str>)]) {
        let parsed = parse_cmdline(line);
        let found: Vec<(&str, Option<&str>)> = parsed
            .parameters
            .iter()
            .map(|one| (one.name.as_str(), one.value.as_deref()))
            .collect();
        assert_eq!(found, expected, "of {line:?}");
    }

    #[test]
    fn the_command_line_is_split_as_the_kernel_splits_it() {
        check("", &[]);
        check("  quiet\n", &[("quiet", None)]);
        check("a=1 b= c", &[("a", Some("1")), ("b", Some("")), ("c", None)]);
        check("x=1=2", &[("x", Some("1=2"))]);
        check(
            "dyndbg=\"file a +p; file b +p\" q",
            &[("dyndbg", Some("file a +p; file b +p")), ("q", None)],
        );
        check("\"a b=c d\" e", &[("a b", Some("c d")), ("e", None)]);
        check("x=\"open", &[("x", Some("open"))]);
        check("a=b\"c d\"e f", &[("a", Some("b\"c d\"e")), ("f", None)]);
        check("quiet -- init=/x single", &[("quiet", None)]);
        check("--x a -- b", &[("--x", None), ("a", None)]);
        check("--=1 b", &[("--", Some("1")), ("b", None)]);
        check("=a=b", &[("=a", Some("b"))]);
        check("\u{e4}=\u{fc} b", &[("\u{e4}", Some("\u{fc}")), ("b", None)]);
    }

    #[test]
    fn repeated_parameters_are_kept_and_dashes_equal_underscores() {
        let line = parse_cmdline("isolcpus=1 rcu-nocbs=1 isolcpus=managed_irq,2");
        let all: Vec<_> = line.all("isolcpus").filter_map(|one| one.value.as_deref()).collect();
        assert_eq!(all, ["1", "managed_irq,2"]);
        assert_eq!(
            line.last("isolcpus").and_then(|one| one.value.as_deref()),
            Some("managed_irq,2")
        );
        assert!(line.has("rcu_nocbs") && !line.has("rcu_nocb"));
        assert!(same_name("a-b_c", "a_b-c") && !same_name("ab", "a-b"));
    }
}
