//! Checks that there is no cycle of modules: of the children of one module, each uses only children that do not use it
//! in turn.
//!
//! A module and its own children may use each other. Everything below a child counts as that child. Modules that use
//! each other can only be read, tested and changed together. Move what both need into a module below them, or what uses
//! both into one above.

use crate::module_paths::{ModulePath, Modules};
use crate::support::{none, sources, top};
use std::collections::{BTreeMap, BTreeSet};

/// Crates that still have cycles. The list is exact: a crate on it that has no cycles fails the test.
const WITH_CYCLES: &[&str] = &[];

/// Dependencies between the children of one module, each with the first place that causes it.
type Arrows = BTreeMap<(String, String), String>;

/// The dependencies in a crate, by the module whose children they connect.
fn arrows(modules: &Modules) -> BTreeMap<ModulePath, Arrows> {
    let mut found: BTreeMap<ModulePath, Arrows> = BTreeMap::new();
    for (from, module) in modules.iter() {
        for path in &module.paths {
            let Some(to) = modules.definition(from, path) else {
                continue;
            };
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            // One of the two contains the other, or they are the same.
            let (Some(user), Some(used)) = (from.get(shared), to.get(shared)) else {
                continue;
            };
            let place = format!("{} names {}", from.join("::"), path.join("::"));
            let arrows = found.entry(to[..shared].to_vec()).or_default();
            arrows.entry((user.clone(), used.clone())).or_insert(place);
        }
    }
    found
}

/// Everything that a module reaches over one or more dependencies.
fn reached<'a>(arrows: &'a Arrows, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for (_, used) in arrows.keys().filter(|(user, _)| user == at) {
            if found.insert(used.as_str()) {
                open.push(used);
            }
        }
    }
    found
}

/// The largest sets of children that all reach each other.
fn sets_in_cycles(arrows: &Arrows) -> BTreeSet<BTreeSet<&str>> {
    let users: BTreeSet<&str> = arrows.keys().map(|(user, _)| user.as_str()).collect();
    let reach: BTreeMap<&str, BTreeSet<&str>> = users.iter().map(|user| (*user, reached(arrows, user))).collect();
    let set_of = |user: &str| -> BTreeSet<&str> {
        let reaches = |from: &str, to: &str| reach.get(from).is_some_and(|found| found.contains(to));
        let members = users.iter().copied();
        members
            .filter(|other| reaches(user, other) && reaches(other, user))
            .collect()
    };
    users
        .iter()
        .map(|user| set_of(user))
        .filter(|set| !set.is_empty())
        .collect()
}

/// The cycles of one crate, from the paths of its files below `src` and their text.
fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    let modules = Modules::read(files.iter().copied());
    let mut found = Vec::new();
    for (parent, arrows) in arrows(&modules) {
        for set in sets_in_cycles(&arrows) {
            let members: Vec<&str> = set.iter().copied().collect();
            let parent = if parent.is_empty() {
                "the crate".to_owned()
            } else {
                parent.join("::")
            };
            let mut lines = vec![format!("below {parent}: {}", members.join(", "))];
            let inside = arrows
                .iter()
                .filter(|((user, used), _)| set.contains(user.as_str()) && set.contains(used.as_str()));
            lines.extend(inside.map(|((user, used), place)| format!("  {user} -> {used}: {place}")));
            found.push(lines.join("\n"));
        }
    }
    found
}

/// The cycles of every crate, by the crate's name.
fn cycles_of_crates() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(top().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let folder = format!("crates/{name}/src/");
        let files = sources(&folder);
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(file, text)| (file.strip_prefix(&folder).unwrap(), text.as_str()))
            .collect();
        found.insert(name, cycles(&files));
    }
    found
}

#[test]
fn no_sibling_modules_use_each_other() {
    let (mut broken, mut clean) = (Vec::new(), Vec::new());
    for (name, cycles) in cycles_of_crates() {
        match (WITH_CYCLES.contains(&name.as_str()), cycles.is_empty()) {
            (false, false) => broken.push(format!("crates/{name}, {}", cycles.join(&format!("\ncrates/{name}, ")))),
            (true, true) => clean.push(name),
            _ => {}
        }
    }
    none(&broken, "modules use each other in a cycle");
    none(
        &clean,
        "these crates have no cycle any more: remove them from WITH_CYCLES",
    );
}

#[test]
fn a_module_cycle_is_found_in_every_notation() {
    let b = ("b.rs", "use crate::a::A;\npub struct B;");
    let with = |a: &str| cycles(&[("lib.rs", "mod a; mod b; pub use b::B;"), ("a.rs", a), b]);
    let found = [
        "use crate::b::B;",
        "use super::b::{self, B as C};",
        "pub struct A(super::B);",
        "fn f() { g!(crate::b::h(1)) }",
        "use super::b;\n#[cfg(test)]\nmod tests {}",
        "mod inner { type X = crate::B; }",
    ];
    for a in found {
        assert_eq!(with(a).len(), 1, "{a}");
    }
    let clean = [
        "pub struct A;",
        "// use crate::b::B;\nconst TEXT: &str = \"crate::b::B\";",
        "#[cfg(test)]\nmod tests { use crate::b::B; }",
        "#[cfg(test)]\nuse crate::b::{B};",
        "use other::b::B;",
    ];
    for a in clean {
        assert_eq!(with(a), Vec::<String>::new(), "{a}");
    }
}

#[test]
fn parent_and_child_modules_may_use_each_other_and_cousins_may_not() {
    let family = [
        ("lib.rs", "mod a; struct Top;"),
        ("a.rs", "mod b; mod c; use b::B; struct A;"),
        ("a/b.rs", "use super::A; use crate::Top; struct B;"),
    ];
    assert!(cycles(&[&family[..], &[("a/c.rs", "use super::B;")]].concat()).is_empty());
    let cousins = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod x;"),
        ("a/x.rs", "use crate::b::y;"),
        ("b.rs", "mod y;"),
        ("b/y.rs", "use crate::a;"),
    ];
    let found = cycles(&cousins);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("below the crate: a, b\n"), "{}", found[0]);
    let three = [
        ("lib.rs", ""),
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::c;"),
        ("c.rs", "use crate::a;"),
    ];
    assert!(cycles(&three)[0].starts_with("below the crate: a, b, c\n"));
}
