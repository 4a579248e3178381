//! Command lines of public machines and guides (`fixtures/boot-lines/lines.toml`), with the exact findings of each.

use super::{KernelBuild, facts};
use machine::CpuSet;
use plan::Level;
use plan::lint::{KernelFacts, lint, lint_assuming};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicLineTable {
    line: Vec<PublicLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicLine {
    kind: String,
    source: String,
    #[serde(default)]
    kernel: String,
    #[serde(default)]
    cpus: String,
    #[serde(default)]
    config: String,
    line: String,
    findings: Vec<String>,
    #[serde(default)]
    remark: String,
}

fn table() -> Vec<PublicLine> {
    let text = include_str!("../../../../../fixtures/boot-lines/lines.toml");
    toml::from_str::<PublicLineTable>(text).unwrap().line
}

impl PublicLine {
    fn facts(&self) -> KernelFacts {
        let built = match self.config.as_str() {
            "" => KernelBuild::Unknown,
            "full" => KernelBuild::Full,
            "rt" => KernelBuild::Realtime,
            "plain" => KernelBuild::Plain,
            other => panic!("{}: no configuration {other}", self.source),
        };
        if !self.kernel.is_empty() {
            return facts(&self.kernel, built, &self.cpus);
        }
        let mut known = KernelFacts {
            release: None,
            version: None,
            realtime: None,
            ..facts("6.12", built, &self.cpus)
        };
        known.possible = (!self.cpus.is_empty()).then(|| CpuSet::parse_list(&self.cpus).unwrap());
        known
    }
}

/// Returns the ids of all findings of all lines.
pub fn ids() -> BTreeSet<String> {
    let of = |entry: &PublicLine| lint(&entry.line, &entry.facts()).findings;
    let findings = table().into_iter().flat_map(|entry| of(&entry));
    findings.map(|finding| finding.id.to_string()).collect()
}

/// Returns every finding once, as `LEVEL ID`.
fn found(entry: &PublicLine) -> BTreeSet<String> {
    let findings = lint(&entry.line, &entry.facts()).findings.into_iter();
    findings
        .map(|finding| {
            let level = match finding.level {
                Level::Info => "info",
                Level::Warning => "warning",
                Level::Error => "error",
            };
            format!("{level} {}", finding.id)
        })
        .collect()
}

#[test]
fn every_public_line_gets_exactly_the_expected_findings() {
    let mut wrong = String::new();
    for entry in table() {
        let wanted: BTreeSet<String> = entry.findings.iter().cloned().collect();
        let found = found(&entry);
        if found != wanted {
            let missing: Vec<_> = wanted.difference(&found).collect();
            let extra: Vec<_> = found.difference(&wanted).collect();
            wrong.push_str(&format!(
                "\n{} ({}): {}\n  missing {missing:?}\n  extra {extra:?}\n",
                entry.source, entry.remark, entry.line
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the errors of a line that do not occur with its own kernel.
fn undue_errors(entry: &PublicLine, findings: &[plan::Finding]) -> Vec<String> {
    let errors = findings.iter().filter(|finding| finding.level == Level::Error);
    let names = errors.map(|finding| format!("error {}", finding.id));
    names.filter(|name| !entry.findings.contains(name)).collect()
}

/// Checked without a known kernel, and with the kernel of this machine as an assumption.
#[test]
fn a_valid_public_line_has_no_error_when_the_kernel_is_unknown() {
    let mut wrong = String::new();
    for entry in table() {
        let unknown = entry.facts().of_any_kernel();
        let mut check = |kernel: &str, findings: &[plan::Finding]| {
            let undue = undue_errors(&entry, findings);
            if !undue.is_empty() {
                wrong.push_str(&format!("{kernel}: {undue:?}: {}\n", entry.line));
            }
        };
        check("any kernel", &lint(&entry.line, &unknown).findings);
        for (kernel, built) in [
            ("4.14", KernelBuild::Plain),
            ("5.10", KernelBuild::Plain),
            ("6.1", KernelBuild::Full),
            ("7.2", KernelBuild::Plain),
        ] {
            let facts = KernelFacts {
                possible: unknown.possible.clone(),
                ..facts(kernel, built, "")
            };
            check(kernel, &lint_assuming(&entry.line, &facts).findings);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_repaired_public_line_has_no_error() {
    for entry in table() {
        let facts = entry.facts();
        let suggested = lint(&entry.line, &facts).suggested;
        let again = lint(&suggested, &facts).findings;
        let errors: Vec<&str> = again
            .iter()
            .filter(|finding| finding.level == Level::Error)
            .map(|finding| finding.id.as_str())
            .collect();
        assert!(errors.is_empty(), "{}: {suggested}: {errors:?}", entry.source);
    }
}

#[test]
fn each_kind_of_user_has_ten_public_lines() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for entry in table() {
        *kinds.entry(entry.kind).or_default() += 1;
    }
    assert!(kinds.len() >= 6, "{kinds:?}");
    assert!(kinds.values().all(|count| *count >= 10), "{kinds:?}");
}
