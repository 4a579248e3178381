//! Prints the results of a study.

pub(crate) mod knob_answer;

use experiment::{StudyOutcome, outcome_json, outcome_rows};
use terminal::Screen;

/// Prints the results.
pub fn show(outcome: &StudyOutcome, screen: &mut Screen) {
    if !outcome.study().which_knob.is_empty() {
        knob_answer::answer(outcome, screen);
        return;
    }
    screen.json(&outcome_json(outcome));
    let (done, runs) = (outcome.runs_done(), outcome.runs());
    screen.text(&format!("{done} of {runs} runs in {}\n", outcome.directory.name()));
    for one in &outcome.given_up {
        let (boot, why) = (report::safe(&one.boot), report::safe(&one.why));
        screen.text(&format!("not possible: boot {boot}: {why}\n"));
    }
    screen.text(&report::study::study_text(&outcome_rows(outcome), screen.style()));
}
