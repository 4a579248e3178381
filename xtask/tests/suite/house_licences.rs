//! Checks the licences of all dependencies.

use crate::support::{none, top};

/// Licences that are compatible with MIT OR Apache-2.0 in one binary.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "0BSD",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "BSL-1.0",
    "bzip2-1.0.6",
];

/// Whether a licence expression (SPDX, or the older form with slashes) leaves a choice that is allowed.
fn allowed(expression: &str) -> bool {
    let alternative = |text: &str| {
        let all_of: Vec<&str> = text
            .split(" AND ")
            .map(|part| part.trim_matches(['(', ')', ' ']))
            .collect();
        all_of
            .iter()
            .all(|one| one.split(" OR ").any(|choice| LICENCES.contains(&choice.trim())))
    };
    let normal = expression.replace('/', " OR ");
    if normal.contains(" AND ") {
        alternative(&normal)
    } else {
        normal
            .split(" OR ")
            .any(|one| alternative(one.trim_matches(['(', ')'])))
    }
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(top())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 20);
    let wrong = packages
        .iter()
        .filter(|package| !allowed(package["license"].as_str().unwrap_or("none")));
    let wrong: Vec<String> = wrong
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    none(&wrong, "licences");
    assert!(allowed("MIT OR GPL-2.0") && allowed("(MIT OR Apache-2.0) AND Unicode-3.0") && allowed("MIT/Apache-2.0"));
    assert!(!allowed("GPL-2.0-only") && !allowed("MIT AND GPL-3.0") && !allowed("none"));
}
