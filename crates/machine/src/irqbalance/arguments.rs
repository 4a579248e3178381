//! Finds the interrupts that the running irqbalance leaves alone, by its command line (`--banirq`, `--banmod`).
//!
//! `irqbalance.c: parse_command_line` uses `getopt_long`, so options may be joined, shortened and anywhere.
//! `classify.c: check_for_irq_ban` bans an interrupt by its number, or if the driver name of its PCI device contains a
//! banned name. Bans by a policy script are not known, nor bans by another program over the socket.

use root::Root;
use std::collections::BTreeSet;

const DEVICES: &str = "/sys/bus/pci/devices";

/// Options with a value: the long name and the letter. The last two are from older versions.
const WITH_VALUE: [(&str, char); 10] = [
    ("banirq", 'i'),
    ("banmod", 'm'),
    ("policyscript", 'l'),
    ("powerthresh", 'p'),
    ("pid", 's'),
    ("deepestcache", 'c'),
    ("interval", 't'),
    ("migrateval", 'e'),
    ("hintpolicy", 'h'),
    ("banscript", 'b'),
];

/// What the command line bans.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bans {
    irqs: BTreeSet<u32>,
    modules: Vec<String>,
}

/// The interrupts that this process never places; empty if its command line cannot be read.
pub(super) fn left_alone(root: &Root, pid: u32) -> BTreeSet<u32> {
    let text = root.readable_text(&super::command_line(pid));
    let Bans { mut irqs, modules } = parse(&text.unwrap_or_default());
    let devices = match modules.is_empty() {
        true => None,
        false => root.readable_names(DEVICES),
    };
    for device in devices.unwrap_or_default() {
        let dir = format!("{DEVICES}/{device}");
        let link = root.link(&format!("{dir}/driver")).ok().flatten();
        let Some(driver) = link.as_deref().and_then(|path| path.rsplit('/').next()) else {
            continue;
        };
        if modules.iter().any(|module| driver.contains(module.as_str())) {
            irqs.extend(interrupts(root, &dir));
        }
    }
    irqs
}

/// The interrupts of a PCI device: those of MSI, or else the one of its pin.
fn interrupts(root: &Root, dir: &str) -> Vec<u32> {
    let numbers = |names: Vec<String>| names.iter().filter_map(|name| name.parse().ok()).collect();
    match root.readable_names(&format!("{dir}/msi_irqs")) {
        Some(names) => numbers(names),
        None => numbers(root.readable_value(&format!("{dir}/irq")).into_iter().collect()),
    }
}

/// The options among these arguments that make placement depend on something not read here: a script, or driver hints
/// (`--policyscript`, `--banscript`, `--hintpolicy` with another value than `ignore`).
pub(super) fn unjudged<'a>(words: impl Iterator<Item = &'a str>) -> Vec<(&'static str, String)> {
    let named = |(letter, value): (char, &str)| {
        let (name, _) = WITH_VALUE.iter().find(|(_, known)| *known == letter)?;
        let counts = match *name {
            "policyscript" | "banscript" => true,
            "hintpolicy" => value != "ignore",
            _ => false,
        };
        counts.then(|| (*name, value.to_owned()))
    };
    options(words).into_iter().filter_map(named).collect()
}

/// Parses `/proc/PID/cmdline`.
fn parse(text: &str) -> Bans {
    let mut bans = Bans::default();
    for (letter, value) in options(text.split('\0').skip(1)) {
        match letter {
            'i' => bans.irqs.extend(number(value)),
            'm' if !value.is_empty() => bans.modules.push(value.to_owned()),
            _ => {}
        }
    }
    bans
}

/// The options with a value, by their letters.
fn options<'a>(mut words: impl Iterator<Item = &'a str>) -> Vec<(char, &'a str)> {
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        let option = match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(""), _) => break,
            (Some(long), _) => of_long(long),
            (None, Some(letters)) => of_letters(letters),
            (None, None) => None,
        };
        let Some((letter, value)) = option else { continue };
        let Some(value) = value.or_else(|| words.next()) else {
            break;
        };
        found.push((letter, value));
    }
    found
}

/// A long option with a value, which may be in the next word.
fn of_long(option: &str) -> Option<(char, Option<&str>)> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    };
    let found = WITH_VALUE.iter().find(|(long, _)| long.starts_with(name));
    found.map(|(_, letter)| (*letter, value))
}

/// The letter with a value in a word of joined options: the value is the rest of the word, or the next word.
fn of_letters(letters: &str) -> Option<(char, Option<&str>)> {
    let mut rest = letters.chars();
    let letter = rest.find(|letter| WITH_VALUE.iter().any(|(_, known)| known == letter))?;
    let value = rest.as_str();
    Some((letter, (!value.is_empty()).then_some(value)))
}

/// As `strtoull`: text after the digits is ignored.
fn number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed_as_getopt_long_parses_them() {
        let check = |line: &str, irqs: &[u32], modules: &[&str]| {
            let text: String = line.split(' ').map(|word| format!("{word}\0")).collect();
            let bans = parse(&format!("/usr/sbin/irqbalance\0{text}"));
            assert_eq!(bans.irqs.into_iter().collect::<Vec<_>>(), irqs, "{line}");
            assert_eq!(bans.modules, modules, "{line}");
        };
        check("--foreground", &[], &[]);
        check("--banirq=24 --banirq 25 -i 26 -i27", &[24, 25, 26, 27], &[]);
        check(
            "-fi 24 -fdi25 -m nvme --banmod=mlx5_core",
            &[24, 25],
            &["nvme", "mlx5_core"],
        );
        check("--bani 24 --banm=nvme", &[24], &["nvme"]);
        check("--pid -i24 -s --banirq=25 -l -i26", &[], &[]);
        check("--banirq=24,25 --banirq=x --banirq=99999999999 --banirq", &[24], &[]);
        check("x -i 24 -- -i 25", &[24], &[]);
        check("--hintpolicy exact -h subset -j", &[], &[]);
        assert_eq!(parse(""), Bans::default());
    }

    #[test]
    fn policy_scripts_and_affinity_hints_are_reported_as_unknown() {
        let check = |line: &str, expected: &[(&str, &str)]| {
            let found = unjudged(line.split(' '));
            let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (*name, value.as_str())).collect();
            assert_eq!(found, expected, "{line}");
        };
        check("--foreground --banirq=24 -j", &[]);
        check("--policyscript=/etc/p.sh", &[("policyscript", "/etc/p.sh")]);
        check(
            "-l /etc/p.sh -h exact",
            &[("policyscript", "/etc/p.sh"), ("hintpolicy", "exact")],
        );
        check("--hintpolicy=ignore --banscript /b", &[("banscript", "/b")]);
    }
}
