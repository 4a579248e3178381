//! `study.json`: identifies the study and the machine of a results directory, so that results of another study are never
//! mixed in.

use crate::{Boot, Study};
use machine::{CpuSet, MapEntries};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of the record.
pub const RECORD_SCHEMA: &str = "quietcore.study-record/1";

/// Identifies the study and the machine of a results directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyRecord {
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// The version of the measuring tool.
    pub tool_version: String,
    /// The kernel's release; `None` also where the study measures several.
    pub kernel: Option<String>,
    /// The processor's name.
    pub model_name: Option<String>,
    /// CPUs that were online.
    pub online: CpuSet,
    /// CPUs that are measured.
    pub cpus: CpuSet,
    /// The seed of the random order.
    pub seed: u64,
    /// The level of each axis, by cell name.
    pub cells: BTreeMap<String, BTreeMap<String, String>>,
    /// Names of the cells in the order in which they run, one list per repetition.
    pub order: Vec<Vec<String>>,
    /// The boots that the cells need; absent in a study that needs none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boots: Vec<BootRecord>,
}

/// A boot, and the cells that are measured in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootRecord {
    /// Words that it adds to the boot line of the machine.
    pub words: Vec<String>,
    /// Its kernel; `None` is that of the machine.
    pub kernel: Option<String>,
    /// Names of its cells.
    pub cells: Vec<String>,
}

/// The directory belongs to another study or machine: the first difference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} was {there} there, but is {here} now")]
pub struct RecordMismatch {
    /// What differs.
    pub what: &'static str,
    /// The value in the directory.
    pub there: String,
    /// The current value.
    pub here: String,
}

impl StudyRecord {
    /// The record of a study on this machine.
    #[must_use]
    pub fn new(study: &Study, machine: &machine::Machine, cpus: &CpuSet, tool_version: &str) -> StudyRecord {
        let name = |cell: &usize| study.cells.get(*cell).map(|cell| cell.name.clone()).unwrap_or_default();
        let boots = |(place, boot): (usize, &Boot)| BootRecord {
            words: boot.words_for(cpus),
            kernel: boot.kernel.clone(),
            cells: study.cells_of(place).map(|cell| name(&cell)).collect(),
        };
        let kernel = machine.kernel.release.clone();
        StudyRecord {
            schema: RECORD_SCHEMA.to_owned(),
            tool_version: tool_version.to_owned(),
            kernel: kernel.filter(|_| !study.names_kernels()),
            model_name: machine.topology.model_name.clone(),
            online: machine.topology.online.clone(),
            cpus: cpus.clone(),
            seed: study.seed,
            cells: study
                .cells
                .iter()
                .map(|cell| (cell.name.clone(), study.levels_of(cell)))
                .into_map(),
            order: study
                .blocks()
                .iter()
                .map(|block| block.iter().map(name).collect())
                .collect(),
            boots: match study.needs_boots() {
                true => study.boots.iter().enumerate().map(boots).collect(),
                false => Vec::new(),
            },
        }
    }

    /// Checks that new results may be added to those of this record.
    ///
    /// # Errors
    /// The first difference.
    pub fn same(&self, now: &StudyRecord) -> Result<(), RecordMismatch> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        let facts = [
            ("the schema", self.schema.clone(), now.schema.clone()),
            (
                "the version of quietcore",
                self.tool_version.clone(),
                now.tool_version.clone(),
            ),
            ("the kernel", text(&self.kernel), text(&now.kernel)),
            ("the processor", text(&self.model_name), text(&now.model_name)),
            (
                "the list of CPUs online",
                self.online.to_string(),
                now.online.to_string(),
            ),
            ("the list of CPUs measured", self.cpus.to_string(), now.cpus.to_string()),
            ("the seed", self.seed.to_string(), now.seed.to_string()),
        ];
        for (what, there, here) in facts {
            if there != here {
                return Err(RecordMismatch { what, there, here });
            }
        }
        if self.boots != now.boots {
            let text = |record: &StudyRecord| {
                let words = |boot: &BootRecord| boot.words.join(" ");
                record.boots.iter().map(words).collect::<Vec<_>>().join(", ")
            };
            return Err(RecordMismatch {
                what: "the list of boots",
                there: text(self),
                here: text(now),
            });
        }
        if (&self.cells, &self.order) != (&now.cells, &now.order) {
            let count = |record: &StudyRecord| format!("{} runs", record.order.iter().map(Vec::len).sum::<usize>());
            return Err(RecordMismatch {
                what: "the order of the runs",
                there: count(self),
                here: format!("another, {}", count(now)),
            });
        }
        Ok(())
    }
}
