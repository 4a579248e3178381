//! Determines whether a parameter reached the kernel, and where it was lost if not.

use super::case::ParameterCase;
use super::{CheckAnswer, ParameterOutcome};
use machine::cmdline::BootWordStage;
use machine::{Parameter, same_name};

/// Options with which a kernel uses its built-in line and ignores the loader's (x86; arm and arm64).
const OWN_LINE: &[&str] = &["CONFIG_CMDLINE_OVERRIDE", "CONFIG_CMDLINE_FORCE"];

/// The answer; with a separate outcome for words of ours that are still pending or were lost at a boot.
pub(super) fn reached(case: &ParameterCase, stage: Option<BootWordStage>) -> (CheckAnswer, Option<ParameterOutcome>) {
    let line = case.line;
    if case.evidence.machine.kernel.cmdline.is_none() {
        return (CheckAnswer::unknown("/proc/cmdline could not be read"), None);
    }
    if line.kernel().any(|(_, word)| word.raw == case.raw) {
        return (CheckAnswer::yes("it is in /proc/cmdline"), None);
    }
    if line.words.iter().any(|word| word.raw == case.raw) {
        let why = "it comes after ` -- `, which ends the kernel's part of the line, so init got it";
        return (CheckAnswer::no(why), None);
    }
    let own = OWN_LINE
        .iter()
        .find(|option| case.evidence.facts.has(option) == Some(true));
    if let Some(option) = own {
        let why = format!("this kernel is built with {option}: it has its own boot line and ignores the loader's");
        return (CheckAnswer::no(why), None);
    }
    let most = case.evidence.most;
    if line.text.len() >= most && stage != Some(BootWordStage::Pending) {
        let why = format!(
            "the line has {} bytes, and this kernel keeps {most}: the rest was cut off",
            line.text.len()
        );
        return (CheckAnswer::no(why), None);
    }
    let instead = line
        .kernel()
        .filter(|(_, word)| same_name(word.name(), &Parameter::parse(case.raw).name))
        .last()
        .map(|(_, word)| format!(" (the line has `{}`)", word.raw))
        .unwrap_or_default();
    match stage {
        Some(BootWordStage::Pending) => (
            CheckAnswer::no(format!(
                "it is written, and the machine has not been restarted since then{instead}"
            )),
            Some(ParameterOutcome::Pending),
        ),
        _ => (
            CheckAnswer::no(format!(
                "the machine was restarted after it was written, and this boot does not have it{instead}: another \
                 entry was started, or the loader's files were generated again; `quietcore boot show` shows every \
                 entry"
            )),
            Some(ParameterOutcome::Reverted),
        ),
    }
}
