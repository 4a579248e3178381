//! Formats all results as sections of one table, with the claims that they support.

mod accounting;
mod cost;
mod duration;
mod recall;

use super::running::{ToolDisturbance, ToolResult};
use super::statistics::ConfidenceInterval;
use super::tools::{BenchTool, TOOLS, ToolQuestion};
use crate::inject::event::InjectedDisturbance;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// All accepted runs.
pub(crate) struct Results {
    /// Tools that could run on this machine.
    pub(crate) tools: Vec<&'static BenchTool>,
    /// Accepted blocks: every run by the tool's name and the disturbance.
    pub(crate) blocks: Vec<BTreeMap<(&'static str, ToolDisturbance), ToolResult>>,
    /// Preemptions of a bare loop in all accepted blocks.
    pub(crate) bare: Vec<InjectedDisturbance>,
    /// System calls per wake-up, or the reason why they are unknown.
    pub(crate) system_calls: Vec<(&'static str, Result<f64, String>)>,
}

impl Results {
    /// Tools for this question, ours first.
    fn tools_for(&self, question: ToolQuestion) -> impl Iterator<Item = &'static BenchTool> {
        self.tools.iter().copied().filter(move |tool| tool.question == question)
    }

    /// One value per block; `None` where the tool has no such run or the value is unknown.
    fn per_block<T>(
        &self,
        tool: &str,
        what: ToolDisturbance,
        value: impl Fn(&ToolResult, &ToolResult) -> Option<T>,
    ) -> Vec<Option<T>> {
        let one = |block: &BTreeMap<(&'static str, ToolDisturbance), ToolResult>| {
            let of = |what| block.iter().find(|((name, kind), _)| *name == tool && *kind == what);
            value(of(what)?.1, of(ToolDisturbance::Nothing)?.1)
        };
        self.blocks.iter().map(one).collect()
    }
}

/// One part of the table.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Whether a claim about our tool held in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BenchVerdict {
    Holds,
    Lost,
    /// Not checked (an absolute time), or nothing to compare with.
    Open,
}

/// A claim about our tool, with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BenchClaim {
    pub(crate) text: String,
    pub(crate) verdict: BenchVerdict,
}

/// All sections and claims.
pub(crate) struct BenchReport {
    pub(crate) sections: Vec<Section>,
    pub(crate) claims: Vec<BenchClaim>,
}

/// Scores all results.
pub(crate) fn of(results: &Results) -> BenchReport {
    let mut report = BenchReport {
        sections: Vec::new(),
        claims: Vec::new(),
    };
    for part in [
        recall::preempts,
        duration::preempts,
        recall::stops,
        recall::interrupts,
        accounting::wake_ups,
        cost::iterations,
        cost::wake_ups,
    ] {
        let (section, claims) = part(results);
        report.sections.push(section);
        report.claims.extend(claims);
    }
    report
}

impl BenchReport {
    /// Prints all sections and all claims.
    pub(crate) fn print(&self) {
        for section in &self.sections {
            println!("\n{}", section.title);
            let header = section.columns.clone();
            let lines: Vec<&Vec<String>> = std::iter::once(&header).chain(&section.rows).collect();
            let widths: Vec<usize> = (0..header.len())
                .map(|column| {
                    lines
                        .iter()
                        .filter_map(|line| line.get(column))
                        .map(String::len)
                        .max()
                        .unwrap_or(0)
                })
                .collect();
            for line in lines {
                let cells: Vec<String> = line
                    .iter()
                    .zip(&widths)
                    .map(|(cell, width)| format!("{cell:>width$}"))
                    .collect();
                println!("  {}", cells.join("  "));
            }
        }
        println!();
        for claim in &self.claims {
            let word = word(claim.verdict);
            println!("{word:<5} {}", claim.text);
        }
    }

    /// Whether any claim was lost.
    pub(crate) fn lost(&self) -> bool {
        self.claims.iter().any(|claim| claim.verdict == BenchVerdict::Lost)
    }

    /// The report as JSON.
    pub(crate) fn json(&self) -> Value {
        let sections: Vec<Value> = self
            .sections
            .iter()
            .map(|section| json!({"title": section.title, "columns": section.columns, "rows": section.rows}))
            .collect();
        let claims: Vec<Value> = self
            .claims
            .iter()
            .map(|claim| json!({"says": claim.text, "verdict": word(claim.verdict)}))
            .collect();
        json!({"sections": sections, "claims": claims})
    }
}

fn word(verdict: BenchVerdict) -> &'static str {
    match verdict {
        BenchVerdict::Holds => "held",
        BenchVerdict::Lost => "LOST",
        BenchVerdict::Open => "open",
    }
}

/// Our tool for a question.
fn own_tool(question: ToolQuestion) -> &'static str {
    TOOLS
        .iter()
        .find(|tool| tool.question == question)
        .map_or("", |tool| tool.name)
}

/// Differences between two tools, in the blocks where both have a value.
fn paired(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Vec<f64> {
    ours.iter()
        .zip(theirs)
        .filter_map(|(a, b)| Some((*a)? - (*b)?))
        .collect()
}

/// An interval as a table cell.
fn interval_cell(interval: Option<ConfidenceInterval>, scale: f64) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |one| {
            format!(
                "{:+.2} [{:+.2}, {:+.2}]",
                one.mean * scale,
                one.low * scale,
                one.high * scale
            )
        },
    )
}

/// A number as a table cell.
fn cell(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

fn length(ns: u64) -> String {
    if ns >= 1_000_000 {
        format!("{} ms", ns / 1_000_000)
    } else {
        format!("{} us", ns / 1_000)
    }
}

fn known(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().flatten().copied().collect()
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
