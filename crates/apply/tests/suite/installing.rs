//! Level 3: files that survive a reboot, with a kill at every step of installing and removing them.

use crate::newer_records::in_every_place;
use crate::support::rehearsal;
use crate::support::rehearsal::acting::dies;
use crate::support::rehearsal::{Death, Rules, SimDisk, SimKernel};
use apply::installed::{InstallTarget, RemovalResult, install, remove, remove_some, rename_to_backup};
use apply::{ApplyError, Force};
use root::{Live, PathState, RootError};
use std::collections::BTreeMap;
use std::path::Path;

const UNIT: &str = "/etc/systemd/system/quietcore.service";
const LINK: &str = "/etc/systemd/system/multi-user.target.wants/quietcore.service";
const CONFIG: &str = "/etc/quietcore.toml";

/// A simulated `/etc` that counts its steps on the simulated kernel.
struct SimEtc<'a> {
    kernel: &'a SimKernel,
    live: Live,
    dir: tempfile::TempDir,
}

impl<'a> SimEtc<'a> {
    /// Creates it with a foreign unit and a configuration.
    fn new(kernel: &'a SimKernel) -> SimEtc<'a> {
        let dir = rehearsal::directory();
        let etc = SimEtc {
            kernel,
            live: Live::rehearsal(dir.path()),
            dir,
        };
        for path in ["/etc", "/etc/systemd", "/etc/systemd/system"] {
            etc.live.set_path_state(path, &PathState::Dir).unwrap();
        }
        let unit = PathState::File {
            content: b"[Unit]\n# somebody's \xff\n".to_vec().into(),
            mode: 0o600,
        };
        etc.live.set_path_state(UNIT, &unit).unwrap();
        etc
    }

    fn dump(&self) -> BTreeMap<String, PathState> {
        fn walk(live: &Live, top: &Path, dir: &Path, all: &mut BTreeMap<String, PathState>) {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                let path = entry.path();
                let name = format!("/{}", path.strip_prefix(top).unwrap().display());
                let standing = live.path_state(&name).unwrap();
                if standing == PathState::Dir {
                    walk(live, top, &path, all);
                }
                all.insert(name, standing);
            }
        }
        let mut all = BTreeMap::new();
        walk(&self.live, self.dir.path(), self.dir.path(), &mut all);
        all
    }
}

impl InstallTarget for SimEtc<'_> {
    fn path_state(&self, path: &str) -> Result<PathState, RootError> {
        self.live.path_state(path)
    }

    fn set_path_state(&self, path: &str, wanted: &PathState) -> Result<(), RootError> {
        self.kernel.step(|_| self.live.set_path_state(path, wanted))
    }
}

fn intended_files() -> Vec<(String, PathState)> {
    vec![
        (UNIT.to_owned(), PathState::text("[Unit]\n# ours\n", 0o644)),
        (LINK.to_owned(), PathState::Link("../quietcore.service".to_owned())),
        (CONFIG.to_owned(), PathState::text("[[partition]]\n", 0o644)),
        (
            CONFIG.to_owned(),
            PathState::text("[[partition]]\n[[partition]]\n", 0o644),
        ),
    ]
}

fn remove_config(etc: &SimEtc, disk: &SimDisk) -> RemovalResult {
    remove(etc, disk, Force::No, &[CONFIG]).unwrap()
}

fn deaths(from: usize, to: usize) -> impl Iterator<Item = Death> {
    (from..=to).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)])
}

/// Writes the notes of this version about its installed files.
pub fn write_released(to: &Path) {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    install(&etc, &disk, &intended_files()).unwrap();
    std::fs::copy(disk.dir.path().join("installed"), to.join("installed")).unwrap();
}

/// Removes what a version installed, according to its notes.
pub fn undo_released(from: &Path) {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    let before = etc.dump();
    install(&etc, &disk, &intended_files()).unwrap();
    std::fs::copy(from.join("installed"), disk.dir.path().join("installed")).unwrap();
    let removed = remove_config(&etc, &disk);
    assert!(removed.drift.is_empty() && removed.failed.is_empty(), "{removed:?}");
    assert_eq!(etc.dump(), before, "{}", from.display());
}

/// Runs every operation that uses the notes while one of them is from a newer version. Nothing may change.
pub fn with_newer_notes(is_refused: impl Fn(&str, Result<(), ApplyError>)) {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    install(&etc, &disk, &intended_files()).unwrap();
    let installed = etc.dump();
    in_every_place(&disk.dir.path().join("installed"), |what| {
        is_refused(what, remove(&etc, &disk, Force::No, &[CONFIG]).map(drop));
        is_refused(what, remove(&etc, &disk, Force::Restore, &[]).map(drop));
        is_refused(what, install(&etc, &disk, &intended_files()).map(drop));
        assert_eq!(etc.dump(), installed, "{what}");
    });
}

#[test]
fn a_kill_at_any_step_leaves_records_that_undo_everything() {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    let before = etc.dump();
    install(&etc, &disk, &intended_files()).unwrap();
    let installed = kernel.steps.get();
    assert!(etc.dump().contains_key(LINK));
    let removed = remove_config(&etc, &disk);
    let total = kernel.steps.get();
    assert!(removed.drift.is_empty() && removed.failed.is_empty(), "{removed:?}");
    assert_eq!(etc.dump(), before);
    let mut tried = 0;
    for death in deaths(1, total) {
        let kernel = SimKernel::boot(Rules::V2);
        let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
        kernel.death.set(death);
        let died = dies(|| {
            install(&etc, &disk, &intended_files()).unwrap();
            remove_config(&etc, &disk);
        });
        assert!(died, "{death:?} did not die");
        kernel.death.set(Death::Never);
        let removed = remove_config(&etc, &disk);
        assert!(
            removed.drift.is_empty() && removed.failed.is_empty(),
            "{death:?}: {removed:?}"
        );
        assert_eq!(etc.dump(), before, "{death:?}");
        assert!(!disk.dir.path().join("installed").exists(), "{death:?}");
        tried += 1;
    }
    println!("{tried} of {tried} deaths taken back ({installed} steps to install, {total} in all)");
}

#[test]
fn a_second_installation_writes_nothing() {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    let unit_and_link = &intended_files()[..2];
    install(&etc, &disk, unit_and_link).unwrap();
    let steps = kernel.steps.get();
    let again = install(&etc, &disk, unit_and_link).unwrap();
    assert!(again.iter().all(|placed| placed.outcome == "already"), "{again:?}");
    assert_eq!(kernel.steps.get(), steps);
}

#[test]
fn files_changed_since_are_reported_and_kept_unless_forced() {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    let before = etc.dump();
    install(&etc, &disk, &intended_files()).unwrap();
    let edited = PathState::text("[Unit]\n# edited\n", 0o644);
    etc.live.set_path_state(UNIT, &edited).unwrap();
    let removed = remove_config(&etc, &disk);
    assert_eq!(removed.drift.len(), 1, "{removed:?}");
    assert!(removed.drift[0].starts_with(UNIT));
    assert_eq!(etc.live.path_state(UNIT).unwrap(), edited);
    assert_eq!(
        etc.live.path_state(LINK).unwrap(),
        PathState::Nothing,
        "it is no longer started"
    );
    let forced = remove(&etc, &disk, Force::Restore, &[CONFIG]).unwrap();
    assert!(forced.drift.is_empty() && forced.failed.is_empty(), "{forced:?}");
    assert_eq!(etc.dump(), before);
}

#[test]
fn an_edited_configuration_is_kept_under_another_name() {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    let mut before = etc.dump();
    install(&etc, &disk, &intended_files()).unwrap();
    let edited = PathState::text("# my own words\n", 0o640);
    etc.live.set_path_state(CONFIG, &edited).unwrap();
    let removed = remove_config(&etc, &disk);
    assert!(removed.drift.is_empty() && removed.failed.is_empty(), "{removed:?}");
    before.insert(format!("{CONFIG}.bak"), edited);
    assert_eq!(etc.dump(), before);
}

#[test]
fn renaming_to_a_backup_never_overwrites_and_survives_a_kill() {
    let kernel = SimKernel::boot(Rules::V2);
    let etc = SimEtc::new(&kernel);
    assert_eq!(rename_to_backup(&etc, CONFIG).unwrap(), None);
    let (old, new) = (PathState::text("old", 0o644), PathState::text("new", 0o644));
    etc.live.set_path_state(&format!("{CONFIG}.bak"), &old).unwrap();
    for death in [Death::Before(1), Death::After(1), Death::Before(2), Death::After(2)] {
        etc.live.set_path_state(CONFIG, &new).unwrap();
        etc.live
            .set_path_state(&format!("{CONFIG}.bak.1"), &PathState::Nothing)
            .unwrap();
        kernel.steps.set(0);
        kernel.death.set(death);
        assert!(dies(|| drop(rename_to_backup(&etc, CONFIG))), "{death:?}");
        kernel.death.set(Death::Never);
        rename_to_backup(&etc, CONFIG).unwrap();
        let aside = |name: &str| etc.live.path_state(&format!("{CONFIG}{name}")).unwrap();
        assert_eq!(
            (aside(""), aside(".bak"), aside(".bak.1")),
            (PathState::Nothing, old.clone(), new.clone())
        );
        assert_eq!(aside(".bak.2"), PathState::Nothing, "{death:?}: kept once");
    }
}

#[test]
fn a_directory_that_other_files_use_is_not_removed() {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    install(&etc, &disk, &intended_files()).unwrap();
    let other = "/etc/systemd/system/multi-user.target.wants/other.service";
    etc.live
        .set_path_state(other, &PathState::Link("../other.service".to_owned()))
        .unwrap();
    let removed = remove_config(&etc, &disk);
    assert!(removed.drift.is_empty() && removed.failed.is_empty(), "{removed:?}");
    assert!(etc.dump().contains_key(other) && !etc.dump().contains_key(LINK));
}

/// Two units share a directory that was created for the first. Removing the last one removes it.
#[test]
fn a_directory_is_removed_with_the_last_file_it_was_created_for() {
    let other = "/etc/systemd/system/multi-user.target.wants/quietcore-watch.service";
    for last in [LINK, other] {
        let kernel = SimKernel::boot(Rules::V2);
        let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
        let before = etc.dump();
        let link = |path: &str| (path.to_owned(), PathState::Link("../a.service".to_owned()));
        install(&etc, &disk, &[link(LINK)]).unwrap();
        install(&etc, &disk, &[link(other)]).unwrap();
        let first = if last == LINK { other } else { LINK };
        remove_some(&etc, &disk, Force::No, &[], &|path| path == first).unwrap();
        let there = etc.dump();
        assert!(there.contains_key(last) && !there.contains_key(first), "{there:?}");
        let removed = remove_some(&etc, &disk, Force::No, &[], &|path| path == last).unwrap();
        assert!(removed.drift.is_empty() && removed.failed.is_empty(), "{removed:?}");
        assert_eq!(etc.dump(), before);
        assert!(!disk.dir.path().join("installed").exists(), "no note is left");
    }
}

#[test]
fn damaged_records_are_an_error_and_change_nothing() {
    let kernel = SimKernel::boot(Rules::V2);
    let (etc, disk) = (SimEtc::new(&kernel), SimDisk::new(&kernel));
    install(&etc, &disk, &intended_files()).unwrap();
    let path = disk.dir.path().join("installed");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let there = etc.dump();
    assert!(remove(&etc, &disk, Force::No, &[]).is_err());
    assert!(install(&etc, &disk, &intended_files()).is_err());
    assert_eq!(etc.dump(), there);
}
