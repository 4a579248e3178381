//! The screen and the document about a boot line.

use crate::findings_text;
use crate::style::{COLUMNS, Role, Style, counted, safe, wrap};
use plan::lint::Verdict;
use plan::{Finding, Level};
use serde::Serialize;
use std::fmt::Write as _;

/// The document `quietcore.explain/1` of a boot line.
#[derive(Clone, Debug, Serialize)]
pub struct LintReport<'a> {
    /// The schema.
    pub schema: &'static str,
    /// The line that was judged.
    pub cmdline: &'a str,
    /// The kernel that it was judged for; `null` is unknown.
    pub kernel: Option<&'a str>,
    /// Whether that kernel is only assumed: the line was given without one, so the kernel of this machine was taken.
    pub kernel_assumed: bool,
    /// What is to be said.
    pub findings: &'a [Finding],
    /// The line with everything repaired that has one clear repair.
    pub suggested: &'a str,
}

impl<'a> LintReport<'a> {
    /// The report on a boot line and its verdict.
    #[must_use]
    pub fn new(cmdline: &'a str, kernel: Option<&'a str>, verdict: &'a Verdict) -> LintReport<'a> {
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

/// The screen: the line, what is wrong with it, worst first, and the line as it should be.
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
    let count = |level| {
        report
            .findings
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    };
    let head = format!(
        "Boot line for {kernel}: {}, {}, {}",
        counted(count(Level::Error), "error"),
        counted(count(Level::Warning), "warning"),
        counted(count(Level::Info), "remark")
    );
    let _ = writeln!(text, "{}", style.paint(Role::Head, &wrap(&head, 0, COLUMNS)));
    let _ = writeln!(text, "  {}", wrap(&safe(report.cmdline), 2, COLUMNS));
    text.push_str(&findings_text(report.findings, style));
    if report.suggested != report.cmdline.trim() {
        let _ = writeln!(text, "\n{}", style.paint(Role::Head, "Suggested"));
        // In one piece, to be copied.
        let _ = writeln!(text, "{}", safe(report.suggested));
    }
    text
}
