//! Level 3: the boot line, with a power cut at every step of setting, changing and removing it. Also on FAT, where a
//! cut can truncate or lose a file. The machine is bootable after each cut, and the next call restores one of the
//! requested states to the byte.

use crate::newer_records::in_every_place;
use crate::support::rehearsal;
use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::{Death, RecordPart, Rules, SimDisk, SimKernel};
use apply::ApplyError;
use apply::boot_line::{BootChange, BootMachine, BootNotes, backup_path, carry_out, finish, note_state};
use apply::installed::InstallTarget;
use boot::{EveryBoot, FallbackRequirement, LineLimit, Loader, RecordedWords, ToolRun, clear, find, set};
use machine::cmdline::BootWordStage;
use root::{Live, PathState, RenameAtomicity, Root, RootError};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

/// What a power cut leaves of a file on FAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TornWrite {
    Half,
    Gone,
}

/// A boot tree that counts its steps on the simulated kernel, which may cut the power.
struct SimBootTree<'a> {
    kernel: &'a SimKernel,
    live: Live,
    root: Root,
    dir: tempfile::TempDir,
    renames: RenameAtomicity,
    torn: TornWrite,
    /// Set if the loader's tool fails.
    broken: Cell<Option<()>>,
}

impl<'a> SimBootTree<'a> {
    fn new(kernel: &'a SimKernel, tree: &str, renames: RenameAtomicity, torn: TornWrite) -> SimBootTree<'a> {
        let dir = rehearsal::directory();
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/boot")
            .join(tree);
        copy(&from, dir.path());
        let live = Live::rehearsal(dir.path());
        let machine = SimBootTree {
            kernel,
            root: Root::of(&live),
            live,
            dir,
            renames,
            torn,
            broken: Cell::new(None),
        };
        if machine.loader().name == "grub-debian" {
            machine.generate();
        }
        machine
    }

    fn loader(&self) -> &'static Loader {
        find(&boot::MachineTree::of(&self.root))[0].loader
    }

    /// Does what matters of `update-grub`: its output shows whether it ran with the right variables.
    fn generate(&self) {
        let files = boot::MachineTree::of(&self.root);
        let line = (self.loader().lines)(&files).unwrap()[0].text(&files).unwrap();
        let text = format!(
            "menuentry 'A' {{\n\tlinux /vmlinuz root=/dev/x ro {line}\n}}\n\
             menuentry 'A (recovery mode)' {{\n\tlinux /vmlinuz root=/dev/x ro single\n}}\n"
        );
        std::fs::write(self.dir.path().join("boot/grub/grub.cfg"), text).unwrap();
    }

    fn dump(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        let mut open = vec![self.dir.path().to_owned()];
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(self.dir.path()).unwrap().display().to_string();
                if path.is_dir() {
                    all.insert(format!("{name}/"), Vec::new());
                    open.push(path);
                } else if !name.ends_with(".quietcore-before") {
                    all.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
        all
    }

    fn change(&self, disk: &SimDisk, words: Option<&str>) -> Result<(), ApplyError> {
        let kept = BootNotes::read(disk)?.own_words();
        let files = boot::MachineTree::of(&self.root);
        let loader = self.loader();
        let limit = LineLimit {
            most: 2047,
            source_name: "x".to_owned(),
        };
        let work = match (words, &kept.line) {
            (Some(words), ours) => {
                let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
                let wanted = EveryBoot::new(&words, FallbackRequirement::Nothing);
                set(&files, loader, ours.as_ref(), wanted, &limit).unwrap()
            }
            (None, Some(ours)) => clear(&files, loader, ours).unwrap(),
            (None, None) => return Ok(()),
        };
        let change = BootChange {
            after: RecordedWords {
                line: work.own_changes,
                trial: None,
            },
            before: kept,
            edits: work.edits,
            runs: work.runs,
            once: None,
        };
        let good = || match (loader.entries)(&boot::MachineTree::of(&self.root)).is_empty() {
            true => Err(ApplyError::Unable {
                why: "no entry is left".to_owned(),
                next: "nothing more".to_owned(),
            }),
            false => Ok(()),
        };
        carry_out(self, disk, Some("boot"), &change, &good)
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

impl InstallTarget for SimBootTree<'_> {
    fn path_state(&self, path: &str) -> Result<PathState, RootError> {
        self.live.path_state(path)
    }

    fn set_path_state(&self, path: &str, wanted: &PathState) -> Result<(), RootError> {
        self.kernel.step(|part| match (part, self.renames, wanted) {
            // FAT accepts any permissions and reports those of its mount.
            (RecordPart::Whole, RenameAtomicity::InSteps, PathState::File { content, .. }) => {
                let kept = PathState::File {
                    content: content.clone(),
                    mode: 0o700,
                };
                self.live.set_path_state(path, &kept)
            }
            (RecordPart::Whole, ..) => self.live.set_path_state(path, wanted),
            (RecordPart::Half, RenameAtomicity::InSteps, PathState::File { content, mode }) => {
                let mut half = content.bytes()[..content.bytes().len() / 2].to_vec();
                half.resize(content.bytes().len(), 0);
                let torn = match self.torn {
                    TornWrite::Gone => PathState::Nothing,
                    TornWrite::Half => PathState::File {
                        content: half.into(),
                        mode: *mode,
                    },
                };
                self.live.set_path_state(path, &torn)
            }
            // After a power cut before an atomic rename, the old file exists.
            (RecordPart::Half, ..) => Ok(()),
        })
    }
}

impl BootMachine for SimBootTree<'_> {
    fn renames(&self, _path: &str) -> Result<RenameAtomicity, RootError> {
        Ok(self.renames)
    }

    fn run(&self, run: &ToolRun) -> Result<(), ApplyError> {
        if self.broken.get().is_some() {
            return Err(ApplyError::Tool {
                command: run.text(),
                why: "exit status: 1: no space left".to_owned(),
                next: "make room".to_owned(),
            });
        }
        let step = self.kernel.step(|part| {
            // The tool writes a new file and renames it, so half of it has no effect.
            if matches!(part, RecordPart::Whole) {
                self.generate();
            }
            Ok(())
        });
        Ok(step?)
    }

    fn start_once(&self, _entry: &str) -> Result<(), ApplyError> {
        Ok(())
    }
}

const FIRST: &str = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3";
const SECOND: &str = "isolcpus=3 rcu_nocbs=3";

/// The requested lines, one after the other.
const STORY: [Option<&str>; 3] = [Some(FIRST), Some(SECOND), None];

const TREES: &[(&str, RenameAtomicity)] = &[
    ("debian-12-grub", RenameAtomicity::Atomic),
    ("ubuntu-24.04-cloud-grub", RenameAtomicity::Atomic),
    ("yocto-corei7-systemd-boot", RenameAtomicity::InSteps),
    ("arch-systemd-boot", RenameAtomicity::InSteps),
    ("raspberry-pi-os-12", RenameAtomicity::InSteps),
    ("raspberry-pi-os-10", RenameAtomicity::InSteps),
];

/// Runs `act` on a machine whose boot line was set twice, with the files from before.
fn set_twice(act: impl FnOnce(&SimBootTree, &SimDisk, &BTreeMap<String, Vec<u8>>)) {
    let kernel = SimKernel::boot(Rules::V2);
    let (tree, renames) = TREES[0];
    let machine = SimBootTree::new(&kernel, tree, renames, TornWrite::Half);
    let (disk, before) = (SimDisk::new(&kernel), machine.dump());
    for words in [FIRST, SECOND] {
        machine.change(&disk, Some(words)).unwrap();
    }
    act(&machine, &disk, &before);
}

/// Writes the notes of this version about a boot line.
pub fn write_released(to: &Path) {
    set_twice(|_, disk, _| {
        std::fs::copy(disk.dir.path().join("boot-line"), to.join("boot-line")).unwrap();
    });
}

/// Clears a boot line whose notes a released version wrote.
pub fn undo_released(from: &Path) {
    set_twice(|machine, disk, before| {
        std::fs::copy(from.join("boot-line"), disk.dir.path().join("boot-line")).unwrap();
        machine.change(disk, None).unwrap();
        assert_eq!(&machine.dump(), before, "{}", from.display());
    });
}

/// Runs every operation that uses the notes while one of them is from a newer version. Nothing may change.
pub fn with_newer_notes(is_refused: impl Fn(&str, Result<(), ApplyError>)) {
    set_twice(|machine, disk, _| {
        let set = machine.dump();
        in_every_place(&disk.dir.path().join("boot-line"), |what| {
            is_refused(what, machine.change(disk, None));
            is_refused(what, machine.change(disk, Some(FIRST)));
            is_refused(what, finish(machine, disk).map(drop));
            is_refused(what, note_state(disk, Some("other"), BootWordStage::Live).map(drop));
            assert_eq!(machine.dump(), set, "{what}");
        });
    });
}

/// Returns the states of the story and the number of its steps.
fn states(tree: &str, renames: RenameAtomicity) -> (Vec<BTreeMap<String, Vec<u8>>>, usize) {
    let kernel = SimKernel::boot(Rules::V2);
    let (machine, disk) = (
        SimBootTree::new(&kernel, tree, renames, TornWrite::Half),
        SimDisk::new(&kernel),
    );
    let mut states = vec![machine.dump()];
    for words in STORY {
        machine.change(&disk, words).unwrap();
        states.push(machine.dump());
    }
    assert!(states[0] != states[1] && states[1] != states[2], "{tree}");
    assert_eq!(states[0], states[3], "{tree}: what was there is there again");
    let left: Vec<_> = std::fs::read_dir(disk.dir.path()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{tree}: no journal where nothing is ours: {left:?}");
    (states, kernel.steps.get())
}

/// Checks that every file of the tree matches one of the states, or that its backup does.
fn is_bootable(machine: &SimBootTree, states: &[BTreeMap<String, Vec<u8>>]) -> Result<(), String> {
    let now = machine.dump();
    for path in states[0].keys().filter(|path| !path.ends_with('/')) {
        let whole = |bytes: Option<&Vec<u8>>| states.iter().any(|state| state.get(path) == bytes);
        let backup = std::fs::read(machine.dir.path().join(backup_path(path))).ok();
        let kept = backup.is_some() && whole(backup.as_ref());
        if !(kept || whole(now.get(path))) {
            return Err(path.clone());
        }
    }
    Ok(())
}

#[test]
fn a_power_cut_at_any_step_leaves_a_bootable_system_and_is_repaired() {
    for &(tree, renames) in TREES {
        let (states, steps) = states(tree, renames);
        let mut tried = 0;
        let cuts = (1..=steps).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)]);
        for cut in cuts {
            for torn in [TornWrite::Half, TornWrite::Gone] {
                let kernel = SimKernel::boot(Rules::V2);
                let (machine, disk) = (SimBootTree::new(&kernel, tree, renames, torn), SimDisk::new(&kernel));
                kernel.death.set(cut);
                let died = dies(|| {
                    for words in STORY {
                        machine.change(&disk, words).unwrap();
                    }
                });
                assert!(died, "{tree} {cut:?} {torn:?}: no cut");
                kernel.death.set(Death::Never);
                is_bootable(&machine, &states).unwrap_or_else(|path| panic!("{tree} {cut:?} {torn:?}: {path}"));
                let done = finish(&machine, &disk).unwrap().unwrap_or_default();
                assert!(done.left.is_empty(), "{tree} {cut:?} {torn:?}: {:?}", done.left);
                let kept = BootNotes::read(&disk).unwrap().own_words();
                let wanted = kept.line.map(|ours| ours.words.join(" "));
                let state = match wanted.as_deref() {
                    None => 0,
                    Some(FIRST) => 1,
                    Some(_) => 2,
                };
                assert_eq!(machine.dump(), states[state], "{tree} {cut:?} {torn:?}: state {state}");
                // From here on everything works as if the power had not been cut.
                machine.change(&disk, Some(SECOND)).unwrap();
                assert_eq!(machine.dump(), states[2], "{tree} {cut:?} {torn:?}");
                machine.change(&disk, None).unwrap();
                assert_eq!(machine.dump(), states[0], "{tree} {cut:?} {torn:?}");
                let backups = walk(machine.dir.path())
                    .into_iter()
                    .filter(|path| path.ends_with(".quietcore-before"));
                assert_eq!(
                    backups.count(),
                    0,
                    "{tree} {cut:?} {torn:?}: no backup where nothing is ours"
                );
                tried += 1;
            }
        }
        println!("{tree}: {tried} of {tried} cuts put right ({steps} steps)");
    }
}

fn walk(dir: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(walk(&path)),
            path => all.push(path.display().to_string()),
        }
    }
    all
}

#[test]
fn a_failed_tool_rolls_everything_back_and_its_output_is_reported() {
    let kernel = SimKernel::boot(Rules::V2);
    let machine = SimBootTree::new(
        &kernel,
        "ubuntu-24.04-cloud-grub",
        RenameAtomicity::Atomic,
        TornWrite::Half,
    );
    let disk = SimDisk::new(&kernel);
    let before = machine.dump();
    machine.broken.set(Some(()));
    let error = machine.change(&disk, Some(FIRST)).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("update-grub failed: exit status: 1: no space left"),
        "{message}"
    );
    assert_eq!(machine.dump(), before);
    assert!(BootNotes::read(&disk).unwrap().own_words() == RecordedWords::default());
}

#[test]
fn a_full_journal_disk_stops_the_change_before_it_starts() {
    let kernel = SimKernel::boot(Rules::V2);
    let machine = SimBootTree::new(&kernel, "arch-systemd-boot", RenameAtomicity::InSteps, TornWrite::Half);
    let disk = SimDisk::new(&kernel);
    disk.room.set(100);
    let before = machine.dump();
    let error = machine.change(&disk, Some(FIRST)).unwrap_err();
    assert!(
        matches!(&error, ApplyError::Root(error) if error.errno() == Some(libc::ENOSPC)),
        "{error}"
    );
    assert_eq!(machine.dump(), before);
}

#[test]
fn a_manual_edit_after_a_power_cut_is_reported_and_left_alone() {
    let kernel = SimKernel::boot(Rules::V2);
    let machine = SimBootTree::new(&kernel, "arch-systemd-boot", RenameAtomicity::InSteps, TornWrite::Half);
    let disk = SimDisk::new(&kernel);
    let steps = kernel.steps.get();
    // The steps are: note, copy of the entry, backup, entry. After the fourth step one entry has our words.
    kernel.death.set(Death::After(steps + 4));
    assert!(dies(|| machine.change(&disk, Some(FIRST)).unwrap()));
    kernel.death.set(Death::Never);
    let path = "/efi/loader/entries/arch-rt.conf";
    machine
        .live
        .set_path_state(path, &PathState::text("title mine\n", 0o644))
        .unwrap();
    let done = finish(&machine, &disk).unwrap().unwrap();
    assert_eq!(done.left, [format!("{path}: another program changed it")]);
    assert_eq!(
        machine.path_state(path).unwrap(),
        PathState::text("title mine\n", 0o644)
    );
}
