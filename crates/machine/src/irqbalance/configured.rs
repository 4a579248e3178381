//! The CPUs that irqbalance is configured to ban when it starts.
//!
//! `cputree.c: setup_banned_cpus` reads two variables of its environment; irqbalance(1), section ENVIRONMENT VARIABLES.

use super::arguments;
use super::service::{FILES, Service, Variable, assigned, is_unit, words};
use crate::CpuSet;
use crate::reading::Reader;

/// What irqbalance is configured to ban when it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredBan {
    /// The files that say so: those of distributions, a unit or drop-in of systemd, or an environment file that one names.
    pub paths: Vec<String>,
    /// The assignment as it stands there, without quotes.
    pub text: String,
    /// The CPUs, or why the value names none.
    pub banned: Result<CpuSet, String>,
}

impl ConfiguredBan {
    /// Whether a unit of systemd or a drop-in says so, as `Environment=`.
    #[must_use]
    pub fn is_in_unit(&self) -> bool {
        self.paths.iter().any(|path| is_unit(path))
    }
}

/// The variables that name CPUs to ban: the mask counts before the list, as in [`super::own_bans`].
const MASK: &str = "IRQBALANCE_BANNED_CPUS";
const LIST: &str = "IRQBALANCE_BANNED_CPULIST";
/// The variables with further arguments: of irqbalance's own unit, and of older ones of Debian.
const ARGUMENTS: [&str; 2] = ["IRQBALANCE_ARGS", "OPTIONS"];

/// What irqbalance is configured to ban; nothing where it is left to find the isolated CPUs by itself.
///
/// Where systemd has a unit or drop-ins for it, this is the environment that systemd gives it. Otherwise each file of a
/// distribution counts, and files with the same assignment are one ban.
pub(crate) fn configured(reader: &Reader) -> Vec<ConfiguredBan> {
    if let Some(service) = Service::read(reader) {
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

/// Something that irqbalance is configured with and whose effect on the isolated CPUs is not known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unjudged {
    /// The file that says it.
    pub path: String,
    /// The option or the assignment.
    pub text: String,
    /// Why it cannot be judged.
    pub why: &'static str,
}

/// What irqbalance is configured with and what cannot be judged: a policy script, hints of drivers (in `ExecStart=` and in the
/// variables that it passes on), and environment files that cannot be found.
pub(crate) fn unjudged(reader: &Reader) -> Vec<Unjudged> {
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    match Service::read(reader) {
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
        options.into_iter().map(move |(name, value)| Unjudged {
            path: path.clone(),
            text: format!("--{name}={value}"),
            why: match name {
                "hintpolicy" => "the drivers decide then where interrupts go",
                _ => "the script decides which interrupts are placed",
            },
        })
    });
    let of_files = unread.into_iter().map(|(path, file)| Unjudged {
        path,
        text: format!("EnvironmentFile={file}"),
        why: "its name has a specifier of systemd, so the file was not read",
    });
    of_arguments.chain(of_files).collect()
}

/// The arguments that a service passes on, by the file that has them: those of `ExecStart=`, and those of the variables that
/// it names. Drop-ins without a unit are taken to add to a unit that passes the usual variables.
fn passed(reader: &Reader, service: &Service) -> Vec<(String, Vec<String>)> {
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

/// Every environment file that its unit and the drop-ins name.
pub(crate) fn environment_files(reader: &Reader) -> Vec<String> {
    Service::read(reader).map_or_else(Vec::new, |service| service.files)
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

/// The ban of both variables; an empty value counts as none.
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
        banned: banned.map_err(|error| error.why),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_bans() {
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
        check(
            &format!("export {list}='4-3'\n"),
            Some((&format!("{list}=4-3"), None)),
        );
        check(&format!("{list}=-\n"), Some((&format!("{list}=-"), Some(""))));
        check(
            &format!("{list}=1\nIRQBALANCE_BANNED_CPUS=c\n"),
            Some(("IRQBALANCE_BANNED_CPUS=c", Some("2-3"))),
        );
        check(&format!("{list}_X=1\nIRQBALANCE_ARGS=\"-j\"\n"), None);
    }
}
