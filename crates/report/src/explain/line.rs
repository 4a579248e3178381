//! Formats the report on a boot line, as text and as JSON.

use crate::findings_text;
use crate::style::{COLUMNS, Style, TextRole, counted, safe, wrap};
use plan::lint::LintResult;
use plan::{Finding, Level};
use serde::Serialize;
use std::fmt::Write as _;

/// The document `quietcore.explain/1` of a boot line.
#[derive(Clone, Debug, Serialize)]
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
    let mut text = String::new();
    let kernel = report.kernel.map_or_else(
        || "any kernel (--kernel RELEASE names one)".to_owned(),
        |kernel| match report.kernel_assumed {
            true => format!(
                "kernel {}, which this machine runs (assumed; --kernel RELEASE names another)",
                safe(kernel)
            ),
            false => format!("kernel {}", safe(kernel)),
        },
    );
    let count = |level| report.findings.iter().filter(|finding| finding.level == level).count();
    let head = format!(
        "Boot line for {kernel}: {}, {}, {}",
        counted(count(Level::Error), "error"),
        counted(count(Level::Warning), "warning"),
        counted(count(Level::Info), "remark")
    );
    let _ = writeln!(text, "{}", style.paint(TextRole::Head, &wrap(&head, 0, COLUMNS)));
    let _ = writeln!(text, "  {}", wrap(&safe(report.cmdline), 2, COLUMNS));
    text.push_str(&findings_text(report.findings, style));
    if report.suggested != report.cmdline.trim() {
        let _ = writeln!(text, "\n{}", style.paint(TextRole::Head, "Suggested"));
        // On one line, for copying.
        let _ = writeln!(text, "{}", safe(report.suggested));
    }
    text
}
