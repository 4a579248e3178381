//! The CPUs that irqbalance is configured to ban when it starts.
//!
//! `cputree.c: setup_banned_cpus` reads two variables of its environment; irqbalance(1), section ENVIRONMENT VARIABLES.

use super::service::{FILES, Service, Variable, assigned, is_unit};
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
