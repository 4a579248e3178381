//! Determines the environment that systemd gives irqbalance: its unit, the drop-ins, and the files that both name.
//!
//! A file in the unit search path hides those with the same name in later directories, and drop-ins apply after the
//! unit, in order of their names (systemd.unit(5)). Variables of `EnvironmentFile=` replace those of `Environment=`; an
//! empty assignment resets the previous ones (systemd.exec(5); `src/core/load-fragment.c`, `config_parse_environ`,
//! `config_parse_unit_env_file`). Patterns in file names are expanded as by glob(3) (`load_env_file`, `safe_glob`).
//! Specifiers (`%i`) are not expanded; a name with one is reported.

use super::file_names::file_names;
use crate::reading::RootReader;
use root::PathKind;
use std::collections::BTreeMap;

/// The unit search path for files of administrators and packages, highest precedence first.
const DIRECTORIES: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
const UNIT: &str = "irqbalance.service";

/// Files that hold its environment, by distribution.
pub(super) const FILES: [&str; 3] = [
    "/etc/default/irqbalance",
    "/etc/sysconfig/irqbalance",
    "/etc/irqbalance.env",
];

/// Maximum size of an environment file, in bytes.
const MAX_FILE: usize = 256 << 10;
/// Maximum number of drop-ins and environment files.
const MOST: usize = 64;

/// A variable, and the file that sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub path: String,
    pub name: String,
    pub value: String,
}

/// The contents of the unit and its drop-ins.
#[derive(Debug, Default)]
pub(super) struct IrqbalanceService {
    /// `Environment=`, in the order of assignment.
    pub variables: Vec<Variable>,
    /// `EnvironmentFile=`, in the order of reading.
    pub files: Vec<String>,
    /// The arguments of `ExecStart=`, and the file that sets them.
    pub arguments: Vec<(String, Vec<String>)>,
    /// Names of environment files with a specifier, and the file that has them.
    pub unread: Vec<(String, String)>,
}

impl IrqbalanceService {
    /// The unit and its drop-ins; `None` for a machine with neither. Drop-ins without a unit add to the usual files.
    pub fn read(reader: &RootReader) -> Option<IrqbalanceService> {
        let drop_ins = drop_ins(reader);
        let mut service = IrqbalanceService::default();
        let unit = match unit(reader) {
            UnitFile::Masked => return None,
            UnitFile::Absent if drop_ins.is_empty() => return None,
            UnitFile::Absent => {
                service.files = FILES.map(str::to_owned).to_vec();
                None
            }
            UnitFile::At(path) => Some(path),
        };
        for path in unit.iter().chain(drop_ins.values()) {
            service.add(reader, path, &text(reader, path).unwrap_or_default());
        }
        service.files.truncate(MOST);
        Some(service)
    }

    /// The value of a variable in the process's environment, and the file that sets it.
    pub fn value(&self, reader: &RootReader, name: &str) -> Option<Variable> {
        let own = self.variables.iter().rfind(|one| one.name == name).cloned();
        let of_file = |path: &String| {
            let text = text(reader, path)?;
            Some(Variable {
                path: path.clone(),
                name: name.to_owned(),
                value: assigned(&text, name)?.to_owned(),
            })
        };
        self.files.iter().rev().find_map(of_file).or(own)
    }

    /// Applies the assignments of one file.
    fn add(&mut self, reader: &RootReader, path: &str, text: &str) {
        for (key, value) in assignments(text) {
            match (key.as_str(), value.as_str()) {
                ("Environment", "") => self.variables.clear(),
                ("Environment", value) => {
                    let words = words(value);
                    let pairs = words.iter().filter_map(|word| word.split_once('='));
                    self.variables.extend(pairs.map(|(name, value)| Variable {
                        path: path.to_owned(),
                        name: name.to_owned(),
                        value: value.to_owned(),
                    }));
                }
                ("EnvironmentFile", "") => {
                    self.files.clear();
                    self.unread.clear();
                }
                ("EnvironmentFile", value) => {
                    let file = value.strip_prefix('-').unwrap_or(value);
                    if file.contains('%') {
                        self.unread.push((path.to_owned(), file.to_owned()));
                    } else if file.starts_with('/') {
                        self.files.extend(file_names(reader, file));
                    }
                }
                ("ExecStart", "") => self.arguments.clear(),
                ("ExecStart", value) => {
                    self.arguments
                        .push((path.to_owned(), words(value).into_iter().skip(1).collect()));
                }
                _ => {}
            }
        }
    }
}

/// Whether a path is the unit's or a drop-in's.
pub(super) fn is_unit(path: &str) -> bool {
    DIRECTORIES
        .iter()
        .filter_map(|dir| path.strip_prefix(dir)?.strip_prefix('/')?.strip_prefix(UNIT))
        .any(|rest| rest.is_empty() || rest.starts_with(".d/"))
}

/// Patterns to capture the unit and its drop-ins.
pub(crate) fn patterns() -> impl Iterator<Item = String> {
    DIRECTORIES
        .into_iter()
        .flat_map(|dir| [format!("{dir}/{UNIT}"), format!("{dir}/{UNIT}.d/*.conf")])
}

/// The file of the unit.
enum UnitFile {
    At(String),
    Absent,
    /// An empty file, or a link to `/dev/null`: systemd does not start irqbalance.
    Masked,
}

fn unit(reader: &RootReader) -> UnitFile {
    for path in DIRECTORIES.map(|dir| format!("{dir}/{UNIT}")) {
        if reader.link(&path).as_deref() == Some("/dev/null") {
            return UnitFile::Masked;
        }
        if let Some(text) = text(reader, &path) {
            return match text.trim().is_empty() {
                true => UnitFile::Masked,
                false => UnitFile::At(path),
            };
        }
    }
    UnitFile::Absent
}

/// The drop-ins by name.
fn drop_ins(reader: &RootReader) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for dir in DIRECTORIES {
        let dir = format!("{dir}/{UNIT}.d");
        for entry in reader.entries(&dir).unwrap_or_default() {
            if entry.name.ends_with(".conf") && !entry.name.starts_with('.') && all.len() < MOST {
                let path = format!("{dir}/{}", entry.name);
                all.entry(entry.name).or_insert(path);
            }
        }
    }
    all
}

/// The content of a regular file: a name may also belong to a device or a pipe.
fn text(reader: &RootReader, path: &str) -> Option<String> {
    match reader.kind(path)? {
        PathKind::File => reader.text_at_most(path, MAX_FILE),
        PathKind::Dir => None,
    }
}

/// Key and value of each assignment in `[Service]`. A backslash at the end of a line continues it on the next one, and
/// comments in between are skipped (systemd.syntax(7)).
fn assignments(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_service = false;
    let mut whole = String::new();
    for line in text.lines().chain([""]) {
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        if let Some(start) = line.strip_suffix('\\') {
            whole.push_str(start);
            whole.push(' ');
            continue;
        }
        whole.push_str(line);
        let line = std::mem::take(&mut whole);
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_service = section == "Service";
        } else if let (true, Some((key, value))) = (is_service, line.split_once('=')) {
            found.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    found
}

/// The words of a value: quotes of both kinds preserve blanks, and a backslash escapes the next letter.
pub(super) fn words(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => word.get_or_insert_default().extend(letters.next()),
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The last value of a variable in an environment file, without quotes.
pub(super) fn assigned<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let of_line = |line| {
        let line = str::trim(line);
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let value = line.strip_prefix(name)?.strip_prefix('=')?.trim();
        Some(value.trim_matches(['"', '\'']))
    };
    text.lines().filter_map(of_line).next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_into_words_as_systemd_does() {
        let check = |value: &str, expected: &[&str]| assert_eq!(words(value), expected, "of {value}");
        check("", &[]);
        check("A=1  B=2", &["A=1", "B=2"]);
        check(r#""A=1 2" B='3 "4'"#, &["A=1 2", "B=3 \"4"]);
        check(r#"A="1 2" "B=\"3""#, &["A=1 2", "B=\"3"]);
        check("A=1\\", &["A=1"]);
        check("\"A=1", &["A=1"]);
    }

    #[test]
    fn only_assignments_in_the_service_section_count() {
        let text = "Environment=A=0\n[Unit]\nEnvironment=A=1\n[Service]\n# Environment=A=2\n Environment = A=3 \\\n; B\n  B=4\n\
                    EnvironmentFile=-/etc/x\\";
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            assignments(text),
            [pair("Environment", "A=3    B=4"), pair("EnvironmentFile", "-/etc/x")]
        );
    }
}
