//! Level 2: every boot tree of `fixtures/boot` with every command. The edits of `set` are golden diffs, a second `set`
//! changes nothing, and `clear` restores every byte. `QUIETCORE_BLESS=1` rewrites the diffs; review them.

use boot::{
    BootError, DetectedLoader, EditedTree, EveryBoot, FallbackRequirement, FileEdit, FileTree, LOADERS, LineAuthor,
    LineLimit, MachineTree, OneShotEntry, OneShotSelection, OwnChanges, ToolRun, choose, clear, diff, find, has_words,
    limit, set, trial,
};
use root::Root;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The names of the trees.
fn trees() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(top().join("boot"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 20, "{names:?}");
    names
}

#[test]
fn every_loader_has_a_tree() {
    let folders = ["boot", "boot-shown"].map(|folder| top().join(folder));
    let trees = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let found: Vec<&str> = trees
        .flat_map(|tree| find(&MachineTree::of(&Root::open(&tree.unwrap().path()).unwrap())))
        .map(|found| found.loader.name)
        .collect();
    for loader in LOADERS {
        assert!(
            found.contains(&loader.name),
            "no tree of fixtures/boot has {}",
            loader.name
        );
    }
}

fn words() -> Vec<String> {
    ["isolcpus=managed_irq,domain,2-3", "nohz_full=2-3", "irqaffinity=0-1"]
        .map(str::to_owned)
        .to_vec()
}

fn open(name: &str) -> Root {
    Root::open(&top().join("boot").join(name)).unwrap()
}

fn limit_of(root: &Root) -> LineLimit {
    limit(root.value("/proc/sys/kernel/arch").unwrap().as_deref())
}

/// Runs `set` on a tree. Returns its edits and the record of our own changes.
fn with_set(
    tree: &dyn FileTree,
    found: &DetectedLoader,
    ours: Option<&OwnChanges>,
    words: &[String],
    limit: &LineLimit,
) -> (Vec<FileEdit>, Option<OwnChanges>, Vec<ToolRun>) {
    let wanted = EveryBoot::new(words, FallbackRequirement::Nothing);
    let work = set(tree, found.loader, ours, wanted, limit).unwrap();
    (work.edits, work.own_changes, work.runs)
}

/// Compares a text with a golden file, or writes it.
fn golden(name: &str, text: &str) {
    let path = top().join("boot-golden").join(name);
    if std::env::var_os("QUIETCORE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; now it is\n{text}");
}

#[test]
fn set_matches_its_golden_file_and_clear_restores_every_byte() {
    for name in trees() {
        let root = open(&name);
        let (files, limit) = (MachineTree::of(&root), limit_of(&root));
        let found = choose(&files, None, &[]).unwrap();
        let (edits, ours, runs) = with_set(&files, &found, None, &words(), &limit);
        let ours = ours.unwrap();
        let mut text = format!("loader {} ({})\n{}", found.loader.name, found.evidence, diff(&edits));
        runs.iter()
            .for_each(|run| text.push_str(&format!("run {}\n", run.text())));
        golden(&format!("{name}.set"), &text);
        if found.loader.line_writer == LineAuthor::Tool {
            continue;
        }
        let after = EditedTree::new(&files, &edits);
        // The kernel gets each parameter once.
        for line in (found.loader.lines)(&after).unwrap() {
            let text = line.text(&after).unwrap();
            for word in words() {
                assert_eq!(
                    text.split(' ').filter(|other| **other == word).count(),
                    1,
                    "{name}: {text}"
                );
            }
            assert_eq!(text.matches("isolcpus=").count(), 1, "{name}: {text}");
        }
        let again = set(
            &after,
            found.loader,
            Some(&ours),
            EveryBoot::new(&words(), FallbackRequirement::Nothing),
            &limit,
        )
        .unwrap();
        assert_eq!((again.edits.len(), again.runs.len()), (0, 0), "{name}: a second time");
        assert_eq!(again.own_changes.as_ref(), Some(&ours), "{name}");
        // A second `set` replaces the parameters, and the first state is still known.
        let other = vec!["isolcpus=1".to_owned()];
        let (more, ours_then, _) = with_set(&after, &found, Some(&ours), &other, &limit);
        let then = EditedTree::new(&after, &more);
        for (ours, tree) in [(&ours, &after), (&ours_then.unwrap(), &then)] {
            let work = clear(tree, found.loader, ours).unwrap();
            assert!(work.left.is_empty(), "{name}: {:?}", work.left);
            let bare = EditedTree::new(tree, &work.edits);
            for file in &ours.files {
                assert_eq!(bare.bytes(&file.path), files.bytes(&file.path), "{name}: {}", file.path);
            }
        }
    }
}

#[test]
fn clear_keeps_later_manual_edits_and_removes_own_words() {
    for name in trees() {
        let root = open(&name);
        let (files, limit) = (MachineTree::of(&root), limit_of(&root));
        let found = choose(&files, None, &[]).unwrap();
        let (edits, ours, _) = with_set(&files, &found, None, &words(), &limit);
        let ours = ours.unwrap();
        let after = EditedTree::new(&files, &edits);
        // A user adds a parameter before one of ours.
        let by_hand: Vec<FileEdit> = edits
            .iter()
            .filter_map(|edit| {
                let now = edit.after.clone()?;
                let mut changed = now.replacen("isolcpus=managed_irq", "by_hand=1 isolcpus=managed_irq", 1);
                // An environment block keeps its size.
                if now.starts_with("# GRUB Environment Block") {
                    changed.truncate(now.len());
                }
                (changed != now && !edit.path.contains("grub.d/4"))
                    .then(|| FileEdit::new(&edit.path, Some(now), Some(changed)))
            })
            .collect();
        let changed = EditedTree::new(&after, &by_hand);
        let work = clear(&changed, found.loader, &ours).unwrap();
        let bare = EditedTree::new(&changed, &work.edits);
        for edit in &by_hand {
            let text = String::from_utf8(bare.bytes(&edit.path).unwrap()).unwrap();
            assert!(text.contains("by_hand=1"), "{name}: {text}");
            for word in words() {
                let before = String::from_utf8(files.bytes(&edit.path).unwrap_or_default()).unwrap();
                assert!(
                    !text.contains(&word) || before.contains(&word),
                    "{name}: {word} in {text}"
                );
            }
            let count = |text: &str| text.matches("isolcpus=").count();
            let before = String::from_utf8(files.bytes(&edit.path).unwrap_or_default()).unwrap();
            assert_eq!(count(&text), count(&before), "{name}: {text}");
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_before_writing() {
    for name in trees() {
        let root = open(&name);
        let (files, limit) = (MachineTree::of(&root), limit_of(&root));
        let found = choose(&files, None, &[]).unwrap();
        let long = vec![format!("isolcpus={}", "1,".repeat(limit.most / 2))];
        let wanted = EveryBoot::new(&long, FallbackRequirement::Nothing);
        let error = set(&files, found.loader, None, wanted, &limit).unwrap_err();
        assert!(matches!(error, BootError::TooLong { .. }), "{name}: {error}");
    }
}

#[test]
fn a_trial_is_a_separate_entry_with_a_panic_timeout() {
    let mut tried = 0;
    let wanted = OneShotEntry {
        words: words(),
        kernel: None,
    };
    for name in trees() {
        let root = open(&name);
        let (files, limit) = (MachineTree::of(&root), limit_of(&root));
        let found = choose(&files, None, &[]).unwrap();
        let (work, chosen) = match trial(&files, found.loader, &wanted, &limit) {
            Ok(made) => made,
            Err(error) => {
                golden(&format!("{name}.trial"), &format!("{error}\n"));
                continue;
            }
        };
        tried += 1;
        let chosen = match chosen {
            OneShotSelection::By(run) => run.text(),
            OneShotSelection::OneShot(entry) => format!("LoaderEntryOneShot={entry}"),
            OneShotSelection::Reboot(argument) => format!("reboot '{argument}'"),
        };
        golden(
            &format!("{name}.trial"),
            &format!("{}chosen by {chosen}\n", diff(&work.edits)),
        );
        assert!(
            work.edits.iter().all(|edit| edit.before.is_none()),
            "{name}: nothing that is there changes"
        );
        let text: String = work.edits.iter().filter_map(|edit| edit.after.clone()).collect();
        assert!(
            text.contains("panic=30") && text.contains("nohz_full=2-3"),
            "{name}: {text}"
        );
        let after = EditedTree::new(&files, &work.edits);
        let gone = clear(&after, found.loader, &work.own_changes.unwrap()).unwrap();
        assert!(gone.edits.iter().all(|edit| edit.after.is_none()), "{name}");
        assert_eq!(gone.edits.len(), work.edits.len(), "{name}");
    }
    assert!(tried >= 4, "{tried}");
}

#[test]
fn all_entries_of_every_tree_are_found_with_a_single_loader() {
    for name in trees() {
        let root = open(&name);
        let files = MachineTree::of(&root);
        assert_eq!(find(&files).len(), 1, "{name}: {:?}", find(&files));
        let found = choose(&files, None, &[]).unwrap();
        let entries = (found.loader.entries)(&files);
        let mut text = String::new();
        for entry in &entries {
            text.push_str(&format!("{} | {} | {}\n", entry.id, entry.title, entry.line));
            assert!(!has_words(entry, &words()), "{name}");
        }
        golden(&format!("{name}.entries"), &text);
    }
}

/// What `rpm-ostree kargs` does to the newest entry.
fn rpm_ostree(text: &str, run: &ToolRun) -> String {
    let mut text = text.to_owned();
    for argument in &run.arguments {
        if let Some(word) = argument.strip_prefix("--delete-if-present=") {
            text = text.replace(&format!(" {word}"), "");
        }
        if let Some(word) = argument.strip_prefix("--append-if-missing=") {
            text = text.replace("\nlinux ", &format!(" {word}\nlinux "));
        }
    }
    text
}

#[test]
fn a_tool_that_owns_the_line_is_called_to_set_and_remove_words() {
    let name = "fedora-coreos-ostree";
    let root = open(name);
    let (files, limit) = (MachineTree::of(&root), limit_of(&root));
    let found = choose(&files, None, &[]).unwrap();
    assert_eq!(
        (found.loader.name, found.loader.line_writer),
        ("ostree", LineAuthor::Tool)
    );
    let (edits, ours, runs) = with_set(&files, &found, None, &words(), &limit);
    assert!(edits.is_empty() && runs.len() == 1, "{edits:?} {runs:?}");
    let first = String::from_utf8(files.bytes("/boot/loader/entries/ostree-1-fedora-coreos.conf").unwrap()).unwrap();
    // The tool creates a new deployment, which is the first from then on.
    let newer = "/boot/loader/entries/ostree-2-fedora-coreos.conf";
    let deployed = |text: &str| vec![FileEdit::new(newer, None, Some(text.to_owned()))];
    let then = rpm_ostree(&first, &runs[0]);
    assert!(
        then.contains("nohz_full=2-3") && !then.contains("isolcpus=1 ") && then.matches("isolcpus=").count() == 1,
        "{then}"
    );
    let edits = deployed(&then);
    let after = EditedTree::new(&files, &edits);
    let again = set(
        &after,
        found.loader,
        ours.as_ref(),
        EveryBoot::new(&words(), FallbackRequirement::Fallback),
        &limit,
    )
    .unwrap();
    assert!(again.is_nothing(), "{again:?}");
    let work = clear(&after, found.loader, ours.as_ref().unwrap()).unwrap();
    assert!(work.edits.is_empty() && work.left.is_empty(), "{work:?}");
    let back = rpm_ostree(&then, &work.runs[0]);
    let sorted = |text: &str| {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(sorted(&back), sorted(&first));
}

#[test]
fn clear_removes_own_words_from_later_kernels_too() {
    let root = open("fedora-41-bls");
    let (files, limit) = (MachineTree::of(&root), limit_of(&root));
    let found = choose(&files, None, &[]).unwrap();
    let (edits, ours, _) = with_set(&files, &found, None, &words(), &limit);
    let after = EditedTree::new(&files, &edits);
    let text = "title new\nlinux /vmlinuz-new\noptions root=UUID=5d2f rhgb isolcpus=managed_irq,domain,2-3 nohz_full=2-3 \
                irqaffinity=0-1\n";
    let newer = "/boot/loader/entries/new.conf";
    let installed = [FileEdit::new(newer, None, Some(text.to_owned()))];
    let grown = EditedTree::new(&after, &installed);
    let work = clear(&grown, found.loader, &ours.unwrap()).unwrap();
    let bare = EditedTree::new(&grown, &work.edits);
    let expected = "title new\nlinux /vmlinuz-new\noptions root=UUID=5d2f rhgb\n";
    assert_eq!(String::from_utf8(bare.bytes(newer).unwrap()).unwrap(), expected);
}

#[test]
fn words_are_cleared_from_files_that_cannot_be_computed_any_more() {
    let root = open("debian-12-grub");
    let (files, limit) = (MachineTree::of(&root), limit_of(&root));
    let found = choose(&files, None, &[]).unwrap();
    let (edits, ours, _) = with_set(&files, &found, None, &words(), &limit);
    let after = EditedTree::new(&files, &edits);
    let path = "/etc/default/grub";
    let before = String::from_utf8(files.bytes(path).unwrap()).unwrap();
    let by_hand = format!("{before}GRUB_CMDLINE_LINUX_DEFAULT+=\" by_hand\"\n");
    let changed = [FileEdit::new(path, Some(before), Some(by_hand.clone()))];
    let tree = EditedTree::new(&after, &changed);
    let error = set(
        &tree,
        found.loader,
        ours.as_ref(),
        EveryBoot::new(&words(), FallbackRequirement::Fallback),
        &limit,
    )
    .unwrap_err();
    assert!(matches!(error, BootError::NotComputed { .. }), "{error}");
    let work = clear(&tree, found.loader, &ours.unwrap()).unwrap();
    assert!(work.left.is_empty() && work.runs.len() == 1, "{work:?}");
    let bare = EditedTree::new(&tree, &work.edits);
    assert_eq!(bare.bytes("/etc/default/grub.d/zz-quietcore.cfg"), None);
    assert_eq!(bare.bytes(path).unwrap(), by_hand.into_bytes());
}

#[test]
fn a_permanent_entry_contains_the_expanded_line() {
    let root = open("ubuntu-24.04-cloud-grub");
    let files = MachineTree::of(&root);
    let path = "/etc/default/grub.d/50-cloudimg-settings.cfg";
    let text = "SERIAL=ttyS0\nGRUB_CMDLINE_LINUX_DEFAULT=\"console=tty1 console=$SERIAL\"\n";
    let changed = [FileEdit::new(path, None, Some(text.to_owned()))];
    let tree = EditedTree::new(&files, &changed);
    let found = choose(&tree, None, &[]).unwrap();
    let wanted = ["nohz_full=2-3".to_owned()];
    let wanted = EveryBoot::new(&wanted, FallbackRequirement::Fallback);
    let work = set(&tree, found.loader, None, wanted, &limit_of(&root)).unwrap();
    let made = work
        .edits
        .iter()
        .find(|edit| edit.path.ends_with("42_quietcore_before"))
        .unwrap();
    let script = made.after.clone().unwrap();
    let line = "GRUB_CMDLINE_LINUX_DEFAULT='console=tty1 console=ttyS0 crashkernel=2G-4G:320M,4G-32G:512M'\n";
    assert!(script.contains(line), "{script}");
}

#[test]
fn unchanged_files_are_restored_even_if_others_cannot_be_parsed() {
    let root = open("raspberry-pi-os-12");
    let (files, limit) = (MachineTree::of(&root), limit_of(&root));
    let found = choose(&files, None, &[]).unwrap();
    let (edits, ours, _) = with_set(&files, &found, None, &words(), &limit);
    let ours = ours.unwrap();
    let after = EditedTree::new(&files, &edits);
    // The firmware's configuration now names a file of two lines.
    let (config, other) = ("/boot/firmware/config.txt", "/boot/firmware/two.txt");
    let text = String::from_utf8(files.bytes(config).unwrap()).unwrap();
    let changed = [
        FileEdit::new(
            config,
            Some(text.clone()),
            Some(format!("{text}\n[all]\ncmdline=two.txt\n")),
        ),
        FileEdit::new(other, None, Some("a\nb\n".to_owned())),
    ];
    let tree = EditedTree::new(&after, &changed);
    assert!((found.loader.lines)(&tree).is_err());
    let work = clear(&tree, found.loader, &ours).unwrap();
    let bare = EditedTree::new(&tree, &work.edits);
    for file in &ours.files {
        assert_eq!(bare.bytes(&file.path), files.bytes(&file.path), "{}", file.path);
    }
}
