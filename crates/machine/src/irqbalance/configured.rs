//! Reads the CPUs that irqbalance is configured to ban when it starts.
//!
//! `cputree.c: setup_banned_cpus` reads two variables of its environment; irqbalance(1), section ENVIRONMENT VARIABLES.

use super::arguments;
use super::service::{FILES, IrqbalanceService, Variable, assigned, is_unit, words};
use crate::reading::RootReader;
use crate::{CpuSet, ParseError};

/// CPUs that irqbalance is configured to ban when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredBan {
    /// The files with the setting: those of distributions, a systemd unit or drop-in, or an environment file that one names.
    pub paths: Vec<String>,
    /// The assignment as written, without quotes.
    pub text: String,
    /// The CPUs, or why the value is invalid.
    pub banned: Result<CpuSet, ParseError>,
}

impl ConfiguredBan {
    /// Whether the setting is `Environment=` in a systemd unit or drop-in.
    #[must_use]
    pub fn is_in_unit(&self) -> bool {
        self.paths.iter().any(|path| is_unit(path))
    }
}

/// The variables with CPUs to ban: the mask takes precedence over the list, as in [`super::own_bans`].
const MASK: &str = "IRQBALANCE_BANNED_CPUS";
const LIST: &str = "IRQBALANCE_BANNED_CPULIST";
/// The variables with additional arguments: of irqbalance's own unit, and of older ones of Debian.
const ARGUMENTS: [&str; 2] = ["IRQBALANCE_ARGS", "OPTIONS"];

/// The bans that irqbalance is configured with; empty if it detects the isolated CPUs by itself.
///
/// If systemd has a unit or drop-ins for it, this is the environment that systemd sets. Otherwise each file of a
/// distribution counts, and files with the same assignment are one ban.
pub(crate) fn configured(reader: &RootReader) -> Vec<ConfiguredBan> {
    if let Some(service) = IrqbalanceService::read(reader) {
        let value = |name| service.value(reader, name);
        return ban(value(MASK), value(LIST)).into_iter().collect();
    }
    let mut all: Vec<ConfiguredBan> = Vec::new();
    for path in FILES {
        let Some(ban) = reader.text(path).and_then(|text| parse_ban(path, &text)) else {
            continue;
        };
        match all.iter_mut().find(|known| known.text == ban.text) {
            Some(known) => known.paths.extend(ban.paths),
            None => all.push(ban),
        }
    }
    all
}

/// A part of irqbalance's configuration whose effect on the isolated CPUs is unknown here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIrqbalanceRule {
    /// The file that contains it.
    pub path: String,
    /// The option or the assignment.
    pub text: String,
    /// Why it cannot be judged.
    pub why: &'static str,
}

/// The parts of irqbalance's configuration that cannot be judged: a policy script, driver hints (in `ExecStart=` and in
/// the variables that it passes on), and environment files that cannot be found.
pub(crate) fn unjudged(reader: &RootReader) -> Vec<UnknownIrqbalanceRule> {
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    match IrqbalanceService::read(reader) {
        Some(mut service) => {
            unread = std::mem::take(&mut service.unread);
            all.extend(passed(reader, &service));
        }
        None => {
            for path in FILES {
                let text = reader.text(path).unwrap_or_default();
                let values = ARGUMENTS.iter().filter_map(|name| assigned(&text, name));
                all.extend(values.map(|value| (path.to_owned(), words(value))));
            }
        }
    }
    let of_arguments = all.iter().flat_map(|(path, arguments)| {
        let options = arguments::unjudged(arguments.iter().map(String::as_str));
        options.into_iter().map(move |(name, value)| UnknownIrqbalanceRule {
            path: path.clone(),
            text: format!("--{name}={value}"),
            why: match name {
                "hintpolicy" => "then the drivers decide where interrupts go",
                _ => "the script decides which interrupts are placed",
            },
        })
    });
    let of_files = unread.into_iter().map(|(path, file)| UnknownIrqbalanceRule {
        path,
        text: format!("EnvironmentFile={file}"),
        why: "its name has a systemd specifier, so the file was not read",
    });
    of_arguments.chain(of_files).collect()
}

/// The arguments that a service passes on, by file: those of `ExecStart=`, and those of the variables that it names.
/// Drop-ins without a unit are assumed to extend a unit that passes the usual variables.
fn passed(reader: &RootReader, service: &IrqbalanceService) -> Vec<(String, Vec<String>)> {
    let mut names: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for (path, arguments) in &service.arguments {
        let (variables, plain): (Vec<&String>, Vec<&String>) =
            arguments.iter().partition(|argument| argument.starts_with('$'));
        let name = |argument: &String| argument.trim_matches(['$', '{', '}']).to_owned();
        names.extend(variables.into_iter().map(name));
        all.push((path.clone(), plain.into_iter().cloned().collect()));
    }
    if service.arguments.is_empty() {
        names.extend(ARGUMENTS.map(str::to_owned));
    }
    let values = names.iter().filter_map(|name| service.value(reader, name));
    all.extend(values.map(|one| (one.path, words(&one.value))));
    all
}

/// Every environment file named by its unit and drop-ins.
pub(crate) fn environment_files(reader: &RootReader) -> Vec<String> {
    IrqbalanceService::read(reader).map_or_else(Vec::new, |service| service.files)
}

fn parse_ban(path: &str, text: &str) -> Option<ConfiguredBan> {
    let value = |name: &str| {
        assigned(text, name).map(|value| Variable {
            path: path.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        })
    };
    ban(value(MASK), value(LIST))
}

/// The ban of both variables; an empty value counts as unset.
fn ban(mask: Option<Variable>, list: Option<Variable>) -> Option<ConfiguredBan> {
    let is_set = |variable: &Variable| !variable.value.is_empty();
    let variable = mask.filter(is_set).or(list.filter(is_set))?;
    let banned = match (variable.name.as_str(), variable.value.as_str()) {
        (MASK, mask) => CpuSet::parse_mask(mask),
        // This value bans no CPU in irqbalance up to 1.9.5.
        (_, "-") => Ok(CpuSet::new()),
        (_, list) => CpuSet::parse_list(list),
    };
    Some(ConfiguredBan {
        text: format!("{}={}", variable.name, variable.value),
        paths: vec![variable.path],
        banned,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banned_cpus_are_read_from_the_environment() {
        let check = |text: &str, expected: Option<(&str, Option<&str>)>| {
            let found = parse_ban("/f", text);
            let found = found.map(|ban| (ban.text, ban.banned.ok().map(|cpus| cpus.to_string())));
            let expected = expected.map(|(text, cpus)| (text.to_owned(), cpus.map(str::to_owned)));
            assert_eq!(found, expected, "of {text:?}");
        };
        let list = "IRQBALANCE_BANNED_CPULIST";
        check("", None);
        check(&format!("#{list}=1\n{list}=\n"), None);
        check(&format!("{list}=\"\"\n"), None);
        check(
            &format!("{list}=1\n {list}=\"2-3\"\n"),
            Some((&format!("{list}=2-3"), Some("2-3"))),
        );
        check(&format!("export {list}='4-3'\n"), Some((&format!("{list}=4-3"), None)));
        check(&format!("{list}=-\n"), Some((&format!("{list}=-"), Some(""))));
        check(
            &format!("{list}=1\nIRQBALANCE_BANNED_CPUS=c\n"),
            Some(("IRQBALANCE_BANNED_CPUS=c", Some("2-3"))),
        );
        check(&format!("{list}_X=1\nIRQBALANCE_ARGS=\"-j\"\n"), None);
    }
}
