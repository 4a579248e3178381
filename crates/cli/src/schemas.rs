//! Lists the documents of the program for the JSON Schemas of the manual (feature `schema`).

use crate::plans::PlansJson;
use crate::verbs::apply::{ApplyJson, boot::SkippedApplyJson, install::InstalledUnitJson, many::DeclaredApplyJson};
use crate::verbs::explain::{Contents, ExplainJson};
use crate::verbs::r#move::MoveJson;
use crate::verbs::study::{PlanReport, outcome_view::knob_answer::KnobAnswerJson};
use crate::verbs::trace::{longest_run::LongestRunsJson, max_latency::LongestWaitsJson, span::SpanReport};
use crate::verbs::watch::unit::WatchUnitJson;
use crate::verbs::{confirm::ConfirmJson, snapshot::SnapshotJson, undo::UndoJson};
use daemon::StateDocument;
use experiment::StudyOutcomeJson;
use investigate::{BlameReport, TraceRecording};
use machine::OrderBy;
use machine::capture::SnapshotManifest;
use measure::Measurement;
use report::explain::EXPLAIN_SCHEMA;
use report::schemas::DocumentForm;
use report::{BLAME_SCHEMA, PLAN_SCHEMA};
use schemars::SchemaGenerator;
use study::{RECORD_SCHEMA, StudyRecord};
use watch::{Header, Moment};

/// The documents of commands and files, except those of `report`. A document with several forms has several rows.
const DOCUMENT_FORMS: &[DocumentForm] = &[
    ("quietcore.apply/1", SchemaGenerator::subschema_for::<ApplyJson>),
    ("quietcore.apply/1", SchemaGenerator::subschema_for::<DeclaredApplyJson>),
    ("quietcore.apply/1", SchemaGenerator::subschema_for::<InstalledUnitJson>),
    ("quietcore.apply/1", SchemaGenerator::subschema_for::<SkippedApplyJson>),
    (BLAME_SCHEMA, SchemaGenerator::subschema_for::<BlameReport>),
    ("quietcore.confirm/1", SchemaGenerator::subschema_for::<ConfirmJson>),
    (EXPLAIN_SCHEMA, SchemaGenerator::subschema_for::<ExplainJson>),
    (EXPLAIN_SCHEMA, SchemaGenerator::subschema_for::<Contents>),
    (measure::SCHEMA, SchemaGenerator::subschema_for::<Measurement>),
    ("quietcore.move/1", SchemaGenerator::subschema_for::<MoveJson>),
    (PLAN_SCHEMA, SchemaGenerator::subschema_for::<PlansJson>),
    ("quietcore.snapshot/1", SchemaGenerator::subschema_for::<SnapshotJson>),
    (
        "quietcore.snapshot/1",
        SchemaGenerator::subschema_for::<SnapshotManifest>,
    ),
    ("quietcore.study/1", SchemaGenerator::subschema_for::<StudyOutcomeJson>),
    ("quietcore.study-plan/1", SchemaGenerator::subschema_for::<PlanReport>),
    (RECORD_SCHEMA, SchemaGenerator::subschema_for::<StudyRecord>),
    (
        "quietcore.trace.longest_run/1",
        SchemaGenerator::subschema_for::<SpanReport<LongestRunsJson>>,
    ),
    (
        "quietcore.trace.max_latency/1",
        SchemaGenerator::subschema_for::<SpanReport<LongestWaitsJson>>,
    ),
    (
        "quietcore.trace.record/1",
        SchemaGenerator::subschema_for::<TraceRecording>,
    ),
    ("quietcore.undo/1", SchemaGenerator::subschema_for::<UndoJson>),
    (watch::SCHEMA, SchemaGenerator::subschema_for::<Header>),
    (watch::SCHEMA, SchemaGenerator::subschema_for::<Moment>),
    (
        "quietcore.watch-state/1",
        SchemaGenerator::subschema_for::<StateDocument>,
    ),
    (
        "quietcore.watch-unit/1",
        SchemaGenerator::subschema_for::<WatchUnitJson>,
    ),
    (
        "quietcore.which-knob/1",
        SchemaGenerator::subschema_for::<KnobAnswerJson>,
    ),
];

/// Every document of the product: its name, and one of its forms.
#[must_use]
pub fn document_forms() -> Vec<DocumentForm> {
    let mut forms = [DOCUMENT_FORMS, report::schemas::DOCUMENT_FORMS].concat();
    forms.order_by_key(|(name, _)| *name);
    forms
}
