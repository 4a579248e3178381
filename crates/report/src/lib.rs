//! Formats all output for people and programs: model in, text, JSON or HTML bytes out. Pure: no files, no printing.

mod bins;
mod blame;
mod blame_gaps;
mod blame_page;
mod blame_picture;
mod blame_tracers;
mod boot;
mod bound;
mod check;
mod check_junit;
mod compare_page;
mod cpus;
mod culprit;
mod diff;
pub mod explain;
pub mod export;
mod finding_blocks;
mod history;
mod inspect;
mod kernel_threads;
mod leases;
mod measurement;
mod page;
mod plan;
mod prediction;
pub mod prove;
mod recording;
mod report_text;
mod residue;
#[cfg(feature = "schema")]
pub mod schemas;
mod statistics;
mod status;
pub mod study;
mod study_forms;
mod study_page;
mod study_samples;
mod style;
mod systress;
mod undo;
mod units;
pub mod which_knob;

pub use blame::{BLAME_SCHEMA, RowLimit, blame_conclusion, blame_text};
pub use blame_gaps::{GapRecording, GapRecordingError, blame_gaps, read_blame_gaps};
pub use blame_page::{BlamePage, blame_html};
pub use blame_tracers::{Tracers, functions_note, tracers_text};
pub use boot::{
    BOOT_SCHEMA, BootChangeJson, BootCheckJson, BootEntryJson, BootShowJson, ChangeMode, ChangeView, LineJson,
    LoaderJson, OwnWordsJson, boot_check_text, boot_check_verdict, boot_outcome, boot_show_text, boot_show_verdict,
};
pub use check::{CHECK_SCHEMA, CheckOutput, check_json, check_text, check_verdict};
pub use check_junit::check_junit;
pub use compare_page::{ComparePage, comparison_html};
pub use cpus::CpusReport;
pub use diff::{DIFF_SCHEMA, diff_json, diff_text, diff_verdict};
pub use history::{HistoryReport, JournalSummary};
pub use inspect::{INSPECT_SCHEMA, InspectView, PartDetail, inspect_json, inspect_text, isolated_cpus};
pub use kernel_threads::{KERNEL_THREADS, KernelThread, Movability, kernel_thread};
pub use leases::{
    LeaseOrigin, LeaseReport, LeaseSummary, LeasesReport, OwnerState, PoolSummary, ReleaseReport, ReleasedLease,
    WaitingSummary, lease_next, lease_verdict, partition_environment,
};
pub use measurement::{Histograms, measurement_html, measurement_text};
pub use plan::{PLAN_SCHEMA, findings_text, plan_json, plan_text, plan_verdict, promise, shared_owners};
pub use prediction::{PREDICT_SCHEMA, PredictionDocument, change_remarks, prediction_text, prediction_verdict};
pub use recording::{
    COMPARE_SCHEMA, ComparedFile, REPORT_SCHEMA, RequirementResult, comparison_json, comparison_text,
    comparison_verdict, recording_json, recording_text, sets_text,
};
pub use report_text::KnobDetail;
pub use status::{MachineStatus, STATUS_SCHEMA, StatusRow, status_json, status_text, status_verdict};
pub use study_forms::{STUDY_FORMS, StudyForm};
pub use study_page::StudyPage;
pub use study_samples::StudyCell;
pub use style::{Style, for_terminal, safe, safe_lines, safe_path};
pub use systress::{TimerRow, systress_elapsed, systress_screen, systress_statistics};
pub use undo::{UndoRemainder, undo_text, undo_verdict};
