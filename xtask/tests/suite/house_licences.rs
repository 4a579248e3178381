//! Checks the licences of all dependencies against `deny.toml`, also where cargo-deny is missing.

use crate::support::{none, top};

/// The licences that `deny.toml` allows.
fn allowed_licences() -> Vec<String> {
    let rules: toml::Table = std::fs::read_to_string(top().join("deny.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let allowed = rules["licenses"]["allow"].as_array().unwrap().iter();
    allowed.map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// Whether a licence expression (SPDX, or the older form with slashes) leaves a choice that is allowed.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let alternative = |text: &str| {
        let all_of: Vec<&str> = text
            .split(" AND ")
            .map(|part| part.trim_matches(['(', ')', ' ']))
            .collect();
        all_of.iter().all(|one| {
            one.split(" OR ")
                .any(|choice| allowed.iter().any(|licence| licence == choice.trim()))
        })
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
    let allowed = allowed_licences();
    let is_allowed = |expression: &str| is_allowed(expression, &allowed);
    let wrong = packages
        .iter()
        .filter(|package| !is_allowed(package["license"].as_str().unwrap_or("none")));
    let wrong: Vec<String> = wrong
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    none(&wrong, "licences that deny.toml does not allow");
    for expression in [
        "MIT OR GPL-2.0",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "MIT/Apache-2.0",
    ] {
        assert!(is_allowed(expression), "{expression}");
    }
    for expression in ["GPL-2.0-only", "MIT AND GPL-3.0", "none"] {
        assert!(!is_allowed(expression), "{expression}");
    }
}
