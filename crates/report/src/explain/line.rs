//! Formats the report on a boot line, as text and as JSON.

use crate::report_text::{GOOD_TO_KNOW, ReportText, counted_levels};
use crate::style::{Style, TextRole, safe};
use plan::lint::LintResult;
use plan::{Finding, Level};
use serde::Serialize;

/// The document `quietcore.explain/1` of a boot line.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LintReport<'a> {
    /// The schema.
    pub schema: &'static str,
    /// The line that was checked.
    pub cmdline: &'a str,
    /// The kernel that it was checked for; `null` if unknown.
    pub kernel: Option<&'a str>,
    /// Whether that kernel is assumed: the line was given without one, so this machine's kernel was used.
    pub kernel_assumed: bool,
    /// The findings.
    pub findings: &'a [Finding],
    /// The line after all repairs that are unambiguous.
    pub suggested: &'a str,
}

impl<'a> LintReport<'a> {
    /// Creates the report on a boot line and its verdict.
    #[must_use]
    pub fn new(cmdline: &'a str, kernel: Option<&'a str>, verdict: &'a LintResult) -> LintReport<'a> {
        LintReport {
            schema: super::EXPLAIN_SCHEMA,
            cmdline,
            kernel,
            kernel_assumed: false,
            findings: &verdict.findings,
            suggested: &verdict.suggested,
        }
    }

    /// The same, with the kernel marked as an assumption.
    #[must_use]
    pub fn assumed(self) -> LintReport<'a> {
        LintReport {
            kernel_assumed: true,
            ..self
        }
    }

    /// Whether any finding is an error.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Error)
    }
}

/// The screen: the line, its findings, worst first, and the corrected line.
#[must_use]
pub fn lint_text(report: &LintReport, style: Style) -> String {
    let mut text = ReportText::new(style);
    text.wrapped_as(TextRole::Head, 0, 0, lint_verdict(report).trim_end());
    text.wrapped(2, 2, &safe(report.cmdline));
    text.findings(GOOD_TO_KNOW, report.findings);
    if !report.suggested.is_empty() && report.suggested != report.cmdline.trim() {
        text.heading("Suggested");
        // On one line, for copying.
        writeln!(text, "{}", safe(report.suggested));
    }
    text.into_string()
}

/// The kernel and the number of findings, in one line.
#[must_use]
pub fn lint_verdict(report: &LintReport) -> String {
    let kernel = report.kernel.map_or_else(
        || "any kernel (select one with --kernel RELEASE)".to_owned(),
        |kernel| match report.kernel_assumed {
            true => format!(
                "kernel {}, which this machine runs (assumed; select another with --kernel RELEASE)",
                safe(kernel)
            ),
            false => format!("kernel {}", safe(kernel)),
        },
    );
    let counts = counted_levels(report.findings.iter().map(|finding| finding.level), "remark");
    format!("Boot line for {kernel}: {counts}\n")
}
