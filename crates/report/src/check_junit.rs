//! Formats the findings of a check as JUnit, which build servers read.

use crate::CheckOutput;
use crate::style::safe;
use check::{CheckFinding, LAYERS, LayerName};
use maud::{Markup, html};
use plan::Level;

/// The findings as JUnit: each layer is a test case per partition, and fails if it has findings of at least `threshold`.
#[must_use]
pub fn check_junit(checked: &CheckOutput, threshold: Level) -> String {
    let findings = || checked.judged.findings.iter();
    let counts = |one: &&CheckFinding| one.finding.level >= threshold;
    let isolations = checked.intention.isolations.iter();
    let mut names: Vec<&str> = isolations.map(|isolation| isolation.intent.name.as_str()).collect();
    if names.is_empty() {
        names.push("machine");
    }
    let of = |name: &str, layer: LayerName| {
        let own = findings().filter(|one| one.layer == Some(layer) && one.partition == name);
        own.filter(counts).collect()
    };
    let mut cases: Vec<JunitCase> = Vec::new();
    for name in names {
        cases.extend(LAYERS.iter().map(|layer| JunitCase {
            class: format!("quietcore.{name}"),
            name: layer.name.as_str(),
            failed: of(name, layer.name),
            is_unseen: layer.name == LayerName::Effects && checked.window_ns.is_none(),
        }));
    }
    let general: Vec<&CheckFinding> = findings().filter(|one| one.layer.is_none()).filter(counts).collect();
    if !general.is_empty() {
        cases.push(JunitCase {
            class: "quietcore".to_owned(),
            name: "intention",
            failed: general,
            is_unseen: false,
        });
    }
    let failures = cases.iter().filter(|case| !case.failed.is_empty()).count();
    let skipped = cases.iter().filter(|case| case.is_skipped()).count();
    let suite = html! {
        testsuite name="quietcore check" tests=(cases.len()) failures=(failures) skipped=(skipped) { "\n"
            @for case in &cases { "  " (case.markup(&checked.judged.unseen)) "\n" }
        } "\n"
    };
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", suite.into_string())
}

/// A test case.
struct JunitCase<'a> {
    class: String,
    name: &'static str,
    failed: Vec<&'a CheckFinding>,
    /// Whether what it is about could not be observed.
    is_unseen: bool,
}

impl JunitCase<'_> {
    fn is_skipped(&self) -> bool {
        self.is_unseen && self.failed.is_empty()
    }

    fn markup(&self, unseen: &[String]) -> Markup {
        html! {
            testcase classname=(xml(&self.class)) name=(self.name) {
                @if self.is_skipped() { "\n    " skipped message=(xml(&unseen.join("; "))) {} "\n  " }
                @for one in &self.failed { "\n    " (failure(one)) }
                @if !self.failed.is_empty() { "\n  " }
            }
        }
    }
}

fn failure(one: &CheckFinding) -> Markup {
    let finding = &one.finding;
    let message = format!("{}: {}", finding.subject, finding.message);
    let text = format!("{}\nfix: {}", one.evidence.join("\n"), finding.fix);
    html! { failure type=(xml(finding.id.as_str())) message=(xml(&message)) { (xml(&text)) } }
}

/// Text inside XML: line ends stay, other control characters become visible, because XML 1.0 cannot represent them.
fn xml(text: &str) -> String {
    text.lines().map(safe).collect::<Vec<_>>().join("\n")
}
