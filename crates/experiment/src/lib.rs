//! Runs measurements that change the machine, or start loads and programs: studies, described runs, and `prove`.
//!
//! Studies run on this machine, across its restarts, in virtual machines, and on a remote host over ssh.
//!
//! The crate `study` derives cells and their order from a file. This one isolates, loads, measures and undoes for each run,
//! saves the results in a directory, and continues an interrupted study.

mod cell_prediction;
mod child_output;
mod cooling;
mod described_run;
mod directory;
mod forecast;
mod guest_side;
mod guest_task;
mod local;
mod measurement;
mod outcome;
mod outcome_document;
pub mod prove;
pub mod reboots;
mod remote;
mod result_file;
mod runs;
mod study_file;
mod study_plan;
mod venue;
mod vm;
mod which_knob;

pub use described_run::{DescribedEnd, DescribedResult, DescribedRun, RunDisplay};
pub use directory::{AbandonedBoot, Directory};
pub use forecast::Forecast;
pub use guest_side::{is_init_of_a_guest, run as run_in_guest, run_as_init};
pub use local::resume;
pub use outcome::{ComparedPair, StudyOutcome, result_set};
pub use outcome_document::{CellJson, StudyOutcomeJson, outcome_cells, outcome_document, outcome_json, outcome_rows};
pub use reboots::Consent;
pub use remote::{BoardFiles, BoardOptions, BoardRole, on_board};
pub use result_file::ResultFile;
pub use study_file::StudyFile;
pub use study_plan::{StudyPlan, StudyRun, repetition_text};
pub use venue::{Venue, plan, run};
pub use vm::VmOptions;
pub use which_knob::{WhichKnobOptions, plan_which_knob, run_which_knob};

/// Shows the results of a study. It is called as soon as they exist, which may be before the machine is rebooted.
pub type OutcomePresenter<'a> = dyn FnMut(&StudyOutcome) + 'a;
