//! Reads TuneD's profiles as TuneD does, as far as `isolated_cores` needs it: which files count, and their contents.
//!
//! A profile is `tuned.conf` in a directory with its name. `include=` in `[main]` names profiles that come before it.
//! The keys of `[variables]` of all profiles form one table, in which a later profile replaces a value but not its
//! position. `include=` among them is a file of variables (`tuned/profiles/{locator,loader,merger,variables}.py`).

use crate::reading::RootReader;
use std::collections::BTreeMap;

/// The search path of profiles: an administrator's files come before those of packages. Without `profiles/` up to TuneD 2.22.
const DIRECTORIES: [&str; 4] = [
    "/etc/tuned/profiles",
    "/etc/tuned",
    "/usr/lib/tuned/profiles",
    "/usr/lib/tuned",
];

/// Maximum number of profiles; TuneD's own chains have four.
const MOST: usize = 16;

/// The contents of the active profiles.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    /// Every file that was read.
    pub files: Vec<String>,
    /// The file that sets `isolated_cores`, and the value; known variables in it are expanded.
    pub isolated_cores: Option<(String, String)>,
}

/// One `tuned.conf`.
struct TunedProfile {
    path: String,
    /// Values of `[variables]` in order, `include` among them.
    variables: Vec<(String, String)>,
}

/// Reads the profiles named in `active_profile`, and those that they include.
pub(super) fn read(reader: &RootReader, names: &str) -> Profiles {
    let mut profiles = Vec::new();
    let mut files = Vec::new();
    for name in names.split_whitespace() {
        load(reader, name, &mut profiles, &mut files);
    }
    let isolated_cores = isolated_cores(reader, &merged(profiles), &mut files);
    Profiles { files, isolated_cores }
}

/// Loads a profile after those that it includes. A file counts once, so one in `/etc` may include the one of the same
/// name in `/usr`.
fn load(reader: &RootReader, name: &str, profiles: &mut Vec<TunedProfile>, files: &mut Vec<String>) {
    // The name becomes part of a path.
    let is_plain = !name.is_empty() && name.len() < 100 && !name.contains('/') && !name.starts_with('.');
    if !is_plain || files.len() >= MOST {
        return;
    }
    let mut places = DIRECTORIES.iter().map(|dir| format!("{dir}/{name}"));
    let found = places.find_map(|dir| {
        let path = format!("{dir}/tuned.conf");
        let text = reader.text(&path).filter(|_| !files.contains(&path))?;
        Some((dir, path, text))
    });
    let Some((dir, path, text)) = found else { return };
    files.push(path.clone());
    let keys: Vec<(String, String, String)> = keys(&text)
        .map(|(section, key, value)| (section, key, value.replace("${i:PROFILE_DIR}", &dir)))
        .collect();
    let of = |section_name: &str| -> Vec<(String, String)> {
        let own = keys.iter().filter(|(section, ..)| section == section_name);
        own.map(|(_, key, value)| (key.clone(), value.clone())).collect()
    };
    let main = of("main");
    if let Some((_, names)) = main.iter().rfind(|(key, _)| key == "include") {
        for name in names.split([',', ';']) {
            load(reader, name.trim(), profiles, files);
        }
    }
    profiles.push(TunedProfile {
        path,
        variables: of("variables"),
    });
}

/// The one table of all profiles: key, value, and the profile that gave the value.
fn merged(profiles: Vec<TunedProfile>) -> Vec<(String, String, String)> {
    let mut all: Vec<(String, String, String)> = Vec::new();
    for profile in profiles {
        let is_set = |name: &str| {
            let mut own = profile.variables.iter();
            own.any(|(key, value)| key == name && matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on"))
        };
        if is_set("replace") {
            all.clear();
        }
        let mut new = Vec::new();
        for (key, value) in &profile.variables {
            match all.iter_mut().find(|(known, ..)| known == key) {
                Some(known) => (known.1, known.2) = (value.clone(), profile.path.clone()),
                None => new.push((key.clone(), value.clone(), profile.path.clone())),
            }
        }
        if is_set("prepend") {
            new.append(&mut all);
            all = new;
        } else {
            all.append(&mut new);
        }
    }
    all
}

/// Evaluates the table from its start, as TuneD does: a value may use the variables before it.
fn isolated_cores(
    reader: &RootReader,
    table: &[(String, String, String)],
    files: &mut Vec<String>,
) -> Option<(String, String)> {
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut set = |key: &str, value: &str, path: &str| {
        // `isolated_cores = ${isolated_cores}` of cpu-partitioning reserves the position for the value of a child profile.
        if value == format!("${{{key}}}") {
            return;
        }
        let value = known.iter().fold(value.to_owned(), |value, (name, (_, text))| {
            value.replace(&format!("${{{name}}}"), text)
        });
        known.insert(key.to_owned(), (path.to_owned(), value));
    };
    for (key, value, path) in table {
        if key != "include" {
            set(key, value, path);
            continue;
        }
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let file = match value.starts_with('/') {
            true => value.clone(),
            false => format!("{dir}/{value}"),
        };
        let is_plain = !file.split('/').any(|part| part == "..") && !file.contains("${");
        let Some(text) = is_plain.then(|| reader.text(&file)).flatten() else {
            continue;
        };
        for (_, key, value) in keys(&text) {
            set(&key, &value, &file);
        }
        files.push(file);
    }
    known.remove("isolated_cores")
}

/// Section, key and value of each line that has one; the section is empty before the first header.
fn keys(text: &str) -> impl Iterator<Item = (String, String, String)> + '_ {
    let mut section = String::new();
    text.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_owned();
            return None;
        }
        if line.starts_with(['#', ';']) {
            return None;
        }
        let (key, value) = line.split_once('=')?;
        let value = value.split(" #").next().unwrap_or_default();
        Some((section.clone(), key.trim().to_owned(), value.trim().to_owned()))
    })
}
