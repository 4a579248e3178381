//! Trees with the `grub.cfg` that the real `grub-mkconfig` generated from them (`fixtures/grub-mkconfig`, written by
//! `scripts/grub-trees`). The computed line equals the one in `grub.cfg`, or no line is computed.

use boot::{BootEntry, BootError, LOADERS, Loader, MachineTree};
use machine::cmdline::words;
use root::Root;
use std::path::{Path, PathBuf};

/// The minimum percentage of random trees with a `grub.cfg` whose line must be computed.
const FLOOR: usize = 70;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/grub-mkconfig")
}

fn trees() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(top())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 90, "{}", names.len());
    names
}

fn loader() -> &'static Loader {
    LOADERS.iter().find(|one| one.name == "grub-debian").unwrap()
}

fn computed(files: &MachineTree) -> Result<String, BootError> {
    let lines = (loader().lines)(files)?;
    lines[0].text(files)
}

/// Returns the parameters of an entry after those that `10_linux` adds.
fn after_root(entry: &BootEntry) -> Vec<String> {
    let all: Vec<&str> = words(&entry.line).collect();
    assert!(all[0].starts_with("root=UUID=") && all[1] == "ro", "{all:?}");
    all[2..].iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn the_computed_line_equals_the_one_of_grub_mkconfig() {
    let (mut random, mut exact) = (0, 0);
    let mut wrong = Vec::new();
    for name in trees() {
        let root = Root::open(&top().join(&name)).unwrap();
        let files = MachineTree::of(&root);
        let line = computed(&files);
        let entries = (loader().entries)(&files);
        let normal: Vec<&BootEntry> = entries
            .iter()
            .filter(|entry| !entry.title.contains("recovery mode"))
            .collect();
        if normal.is_empty() {
            // `grub-mkconfig` failed.
            if let Ok(line) = line {
                wrong.push(format!("{name}: it fails, and `{line}` is computed"));
            }
            continue;
        }
        random += usize::from(name.contains("random"));
        match line {
            Ok(line) => {
                let line: Vec<&str> = words(&line).collect();
                exact += usize::from(name.contains("random"));
                for entry in normal {
                    let there = after_root(entry);
                    if there != line {
                        wrong.push(format!("{name}: {there:?} is generated, and {line:?} is computed"));
                    }
                }
                if name.starts_with("refused-") {
                    wrong.push(format!("{name}: it is computed"));
                }
            }
            Err(BootError::NotComputed { .. }) if name.starts_with("refused-") || name.contains("random") => {}
            Err(BootError::NotComputed { why, .. }) if name == "windows-line-ends" => {
                assert!(why.contains("Windows line ends"), "{why}");
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{exact} of {random} random trees are computed");
    assert!(exact * 100 >= random * FLOOR, "{exact} of {random}");
}

#[test]
fn generated_trees_have_only_remarks_about_dropped_words() {
    for name in trees() {
        let root = Root::open(&top().join(&name)).unwrap();
        let files = MachineTree::of(&root);
        if computed(&files).is_err() || (loader().entries)(&files).is_empty() {
            continue;
        }
        let remarks = loader().all_remarks(&files, &[]);
        let others: Vec<&String> = remarks
            .iter()
            .filter(|one| !one.contains(" do not reach the kernel: "))
            .collect();
        assert!(others.is_empty(), "{name}: {others:?}");
        assert!(loader().refusal(&files, &[]).is_none(), "{name}");
    }
}
