//! Finds the crates that are linked into the program, from `cargo metadata`.

use super::PackageArch;
use crate::error::{TaskResult, XtaskError, output};
use serde_json::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The program's crate and all that it links, by their IDs.
pub(super) struct LinkedCrates {
    /// Packages of `cargo metadata`.
    pub(super) packages: BTreeMap<String, Value>,
    /// IDs of the crates that each of them links itself.
    pub(super) uses: BTreeMap<String, BTreeSet<String>>,
    /// ID of the program's crate.
    pub(super) program: String,
}

impl LinkedCrates {
    /// Asks cargo for the crates of the program for a processor.
    ///
    /// # Errors
    /// [`XtaskError::Program`] when cargo fails or its answer is incomplete.
    pub(super) fn of_arch(arch: PackageArch) -> TaskResult<LinkedCrates> {
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--format-version", "1", "--locked"]);
        let metadata = output(cargo.args(["--filter-platform", arch.target]))?;
        LinkedCrates::parse(&metadata).ok_or_else(|| XtaskError::Program {
            program: "cargo metadata".to_owned(),
            why: "its output lacks a package or its dependencies".to_owned(),
        })
    }

    /// The crates that the package `quietcore` links: what only its build or its tests use is left out. `None` if the
    /// metadata is incomplete.
    pub(super) fn parse(metadata: &str) -> Option<LinkedCrates> {
        let metadata: Value = serde_json::from_str(metadata).ok()?;
        let by_id = |list: &Value| -> Option<BTreeMap<String, Value>> {
            let entries = list.as_array()?.iter();
            entries
                .map(|one| Some((one["id"].as_str()?.to_owned(), one.clone())))
                .collect()
        };
        let mut packages = by_id(&metadata["packages"])?;
        let nodes = by_id(&metadata["resolve"]["nodes"])?;
        let (program, _) = packages.iter().find(|(_, package)| package["name"] == "quietcore")?;
        let program = program.clone();
        let mut uses = BTreeMap::new();
        let mut open = vec![program.clone()];
        while let Some(id) = open.pop() {
            let node = nodes.get(&id)?;
            if let Entry::Vacant(place) = uses.entry(id) {
                open.extend(place.insert(linked_from(node)?).iter().cloned());
            }
        }
        packages.retain(|id, _| uses.contains_key(id));
        (packages.len() == uses.len()).then_some(LinkedCrates {
            packages,
            uses,
            program,
        })
    }
}

/// The crates that a crate of `resolve` links. The kind of a normal dependency is `null`.
fn linked_from(node: &Value) -> Option<BTreeSet<String>> {
    let is_linked = |one: &&Value| {
        let kinds = one["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let linked = node["deps"].as_array()?.iter().filter(is_linked);
    linked.map(|one| one["pkg"].as_str().map(str::to_owned)).collect()
}

/// Name and version of a package.
pub(super) fn name_and_version(package: &Value) -> (&str, &str) {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    (text("name"), text("version"))
}
