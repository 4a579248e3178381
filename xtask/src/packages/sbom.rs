//! Writes the inventory (SBOM) of a binary as CycloneDX 1.5: each crate that is linked, with version, licence, checksum and
//! what it uses.
//!
//! `cargo metadata` and `Cargo.lock` have all of that. `cargo-cyclonedx` reads the same, but has to be compiled for each
//! release machine, writes a file beside each `Cargo.toml`, and also lists what only tests use.

use super::linked::{LinkedCrates, name_and_version};
use super::{PackageArch, PackageVersion};
use crate::error::{TaskResult, XtaskError, top};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Writes the inventory of the program for a processor.
///
/// # Errors
/// [`XtaskError`] when `cargo metadata` fails or the file cannot be written.
pub fn write_inventory(arch: PackageArch, version: &PackageVersion, out: &Path) -> TaskResult<PathBuf> {
    let lock = top().join("Cargo.lock");
    let lock_text = std::fs::read_to_string(&lock).map_err(XtaskError::file(&lock))?;
    let time = version.date("+%Y-%m-%dT%H:%M:%SZ")?;
    let found = inventory(&LinkedCrates::of_arch(arch)?, &lock_text, &time).ok_or_else(|| XtaskError::Program {
        program: "SBOM".to_owned(),
        why: format!("{} is no list of packages", lock.display()),
    })?;
    let to = out.join(format!("quietcore-{}-{}.cdx.json", version.version, arch.name));
    std::fs::write(&to, format!("{found:#}\n")).map_err(XtaskError::file(&to))?;
    Ok(to)
}

/// The inventory of the linked crates, with the checksums of the text of `Cargo.lock`. `time` is in RFC 3339. `None` if
/// that text cannot be read.
fn inventory(linked: &LinkedCrates, lock: &str, time: &str) -> Option<Value> {
    let checksums = checksums(lock)?;
    let reference_of = |id: &String| linked.packages.get(id).map(reference);
    let (mut components, mut dependencies) = (BTreeMap::new(), BTreeMap::new());
    for (id, package) in &linked.packages {
        let uses: Option<BTreeSet<String>> = linked.uses.get(id)?.iter().map(reference_of).collect();
        let reference = reference(package);
        dependencies.insert(reference.clone(), json!({ "ref": reference, "dependsOn": uses? }));
        if *id != linked.program {
            components.insert(reference, component(package, "library", &checksums));
        }
    }
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": component(linked.packages.get(&linked.program)?, "application", &checksums),
        },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

/// SHA-256 of each published crate, by name and version.
fn checksums(lock: &str) -> Option<BTreeMap<String, String>> {
    let lock: toml::Table = lock.parse().ok()?;
    let of_one = |package: &toml::Value| {
        let text = |key: &str| package.get(key)?.as_str();
        Some((
            format!("{} {}", text("name")?, text("version")?),
            text("checksum")?.to_owned(),
        ))
    };
    Some(lock.get("package")?.as_array()?.iter().filter_map(of_one).collect())
}

/// The package URL of a published crate, or the path of one of this project.
fn reference(package: &Value) -> String {
    let (name, version) = name_and_version(package);
    match package["source"].is_null() {
        true => format!("quietcore/{name}@{version}"),
        false => format!("pkg:cargo/{name}@{version}"),
    }
}

fn component(package: &Value, kind: &str, checksums: &BTreeMap<String, String>) -> Value {
    let (name, version) = name_and_version(package);
    let reference = reference(package);
    let mut found = json!({ "type": kind, "bom-ref": reference, "name": name, "version": version });
    if let Some(licence) = package["license"].as_str() {
        // The form with slashes is older than SPDX expressions.
        found["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if reference.starts_with("pkg:") {
        found["purl"] = json!(reference);
    }
    if let Some(sum) = checksums.get(&format!("{name} {version}")) {
        found["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_what_only_tests_use_is_not() {
        let package = |name: &str, source: Value| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source });
        let needs = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("quietcore", Value::Null),
                package("linked", json!("registry")),
                package("tester", json!("registry")),
            ],
            "resolve": { "nodes": [
                { "id": "quietcore", "deps": [needs("linked", Value::Null), needs("tester", json!("dev"))] },
                { "id": "linked", "deps": [needs("tester", json!("build"))] },
                { "id": "tester", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let linked = LinkedCrates::parse(&metadata.to_string()).unwrap();
        let found = inventory(&linked, lock, "2026-01-01T00:00:00Z").unwrap();
        assert_eq!(found["metadata"]["component"]["bom-ref"], "quietcore/quietcore@1.0.0");
        let components = json!([{
            "type": "library",
            "bom-ref": "pkg:cargo/linked@1.0.0",
            "name": "linked",
            "version": "1.0.0",
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            "purl": "pkg:cargo/linked@1.0.0",
            "hashes": [{ "alg": "SHA-256", "content": "ab" }],
        }]);
        assert_eq!(found["components"], components);
        assert_eq!(
            found["dependencies"],
            json!([
                { "ref": "pkg:cargo/linked@1.0.0", "dependsOn": [] },
                { "ref": "quietcore/quietcore@1.0.0", "dependsOn": ["pkg:cargo/linked@1.0.0"] },
            ])
        );
    }
}
