//! Lists the documents of this crate for the JSON Schemas of the manual (feature `schema`).

use crate::check::CheckDocument;
use crate::explain::{EXPLAIN_SCHEMA, LintReport};
use crate::export::{EXPORT_SCHEMA, ExportDocument};
use crate::inspect::InspectDocumentForm;
use crate::plan::SchemaDocument;
use crate::prove::{PROVE_SCHEMA, ProveRecord};
use crate::recording::{Comparison, RecordingReport};
use crate::status::StatusDocument;
use crate::{
    BOOT_SCHEMA, BootChangeJson, BootCheckJson, BootShowJson, CHECK_SCHEMA, COMPARE_SCHEMA, CpusReport, DIFF_SCHEMA,
    HistoryReport, INSPECT_SCHEMA, LeaseReport, LeasesReport, PLAN_SCHEMA, PREDICT_SCHEMA, PredictionDocument,
    REPORT_SCHEMA, ReleaseReport, STATUS_SCHEMA,
};
use plan::diff::Diff;
use schemars::{Schema, SchemaGenerator};

/// The name of a document (`quietcore.check/1`), and one of the forms that it can have.
pub type DocumentForm = (&'static str, fn(&mut SchemaGenerator) -> Schema);

/// The document `quietcore.plan/1` of one plan.
pub use crate::plan::PlanDocument;

/// The documents of this crate.
pub const DOCUMENT_FORMS: &[DocumentForm] = &[
    (CHECK_SCHEMA, SchemaGenerator::subschema_for::<CheckDocument>),
    (COMPARE_SCHEMA, SchemaGenerator::subschema_for::<Comparison>),
    (BOOT_SCHEMA, SchemaGenerator::subschema_for::<BootChangeJson>),
    (BOOT_SCHEMA, SchemaGenerator::subschema_for::<BootCheckJson>),
    (BOOT_SCHEMA, SchemaGenerator::subschema_for::<BootShowJson>),
    ("quietcore.cpus/1", SchemaGenerator::subschema_for::<CpusReport>),
    (DIFF_SCHEMA, SchemaGenerator::subschema_for::<SchemaDocument<Diff>>),
    (EXPLAIN_SCHEMA, SchemaGenerator::subschema_for::<LintReport>),
    (EXPORT_SCHEMA, SchemaGenerator::subschema_for::<ExportDocument>),
    ("quietcore.history/1", SchemaGenerator::subschema_for::<HistoryReport>),
    (INSPECT_SCHEMA, SchemaGenerator::subschema_for::<InspectDocumentForm>),
    ("quietcore.lease/1", SchemaGenerator::subschema_for::<LeaseReport>),
    ("quietcore.leases/1", SchemaGenerator::subschema_for::<LeasesReport>),
    (PLAN_SCHEMA, SchemaGenerator::subschema_for::<PlanDocument>),
    (PREDICT_SCHEMA, SchemaGenerator::subschema_for::<PredictionDocument>),
    (PROVE_SCHEMA, SchemaGenerator::subschema_for::<ProveRecord>),
    ("quietcore.release/1", SchemaGenerator::subschema_for::<ReleaseReport>),
    (REPORT_SCHEMA, SchemaGenerator::subschema_for::<RecordingReport>),
    (STATUS_SCHEMA, SchemaGenerator::subschema_for::<StatusDocument>),
];
