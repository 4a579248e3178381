//! Level 3: files that outlive a restart, with death at every step of putting them there and of taking them away.

use crate::newer_records::in_every_place;
use crate::support::rehearsal;
use crate::support::rehearsal::{Death, Disk, Kernel, Rules};
use apply::installed::{Files, Removed, install, put_aside, remove, remove_some};
use apply::{ApplyError, Force};
use root::{Live, RootError, Standing};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const UNIT: &str = "/etc/systemd/system/quietcore.service";
const LINK: &str = "/etc/systemd/system/multi-user.target.wants/quietcore.service";
const CONFIG: &str = "/etc/quietcore.toml";

/// `/etc` on the clock of deaths.
struct Etc<'a> {
    kernel: &'a Kernel,
    live: Live,
    dir: tempfile::TempDir,
}

impl<'a> Etc<'a> {
    /// With a unit of somebody else and a configuration.
    fn new(kernel: &'a Kernel) -> Etc<'a> {
        let dir = rehearsal::directory();
        let etc = Etc {
            kernel,
            live: Live::rehearsal(dir.path()),
            dir,
        };
        for path in ["/etc", "/etc/systemd", "/etc/systemd/system"] {
            etc.live.set_standing(path, &Standing::Dir).unwrap();
        }
        let unit = Standing::File {
            content: b"[Unit]\n# somebody's \xff\n".to_vec().into(),
            mode: 0o600,
        };
        etc.live.set_standing(UNIT, &unit).unwrap();
        etc
    }

    fn dump(&self) -> BTreeMap<String, Standing> {
        fn walk(live: &Live, top: &Path, dir: &Path, all: &mut BTreeMap<String, Standing>) {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                let path = entry.path();
                let name = format!("/{}", path.strip_prefix(top).unwrap().display());
                let standing = live.standing(&name).unwrap();
                if standing == Standing::Dir {
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

impl Files for Etc<'_> {
    fn standing(&self, path: &str) -> Result<Standing, RootError> {
        self.live.standing(path)
    }

    fn set_standing(&self, path: &str, wanted: &Standing) -> Result<(), RootError> {
        self.kernel.step(|_| self.live.set_standing(path, wanted))
    }
}

fn wanted() -> Vec<(String, Standing)> {
    vec![
        (UNIT.to_owned(), Standing::text("[Unit]\n# ours\n", 0o644)),
        (LINK.to_owned(), Standing::Link("../quietcore.service".to_owned())),
        (CONFIG.to_owned(), Standing::text("[[partition]]\n", 0o644)),
        (
            CONFIG.to_owned(),
            Standing::text("[[partition]]\n[[partition]]\n", 0o644),
        ),
    ]
}

fn take_away(etc: &Etc, disk: &Disk) -> Removed {
    remove(etc, disk, Force::No, &[CONFIG]).unwrap()
}

fn until_death(act: impl FnOnce()) -> bool {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let died = catch_unwind(AssertUnwindSafe(act)).is_err();
    std::panic::set_hook(hook);
    died
}

fn deaths(from: usize, to: usize) -> impl Iterator<Item = Death> {
    (from..=to).flat_map(|step| [Death::Before(step), Death::Torn(step), Death::After(step)])
}

/// The notes of what this version installs.
pub fn write_released(to: &Path) {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    install(&etc, &disk, &wanted()).unwrap();
    std::fs::copy(disk.dir.path().join("installed"), to.join("installed")).unwrap();
}

/// Takes away what a version installed whose notes are there.
pub fn undo_released(from: &Path) {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    let before = etc.dump();
    install(&etc, &disk, &wanted()).unwrap();
    std::fs::copy(from.join("installed"), disk.dir.path().join("installed")).unwrap();
    let removed = take_away(&etc, &disk);
    assert!(
        removed.drift.is_empty() && removed.failed.is_empty(),
        "{removed:?}"
    );
    assert_eq!(etc.dump(), before, "{}", from.display());
}

/// Asks everything that acts on the notes while a newer version has written one of them; nothing is touched.
pub fn with_newer_notes(is_refused: impl Fn(&str, Result<(), ApplyError>)) {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    install(&etc, &disk, &wanted()).unwrap();
    let installed = etc.dump();
    in_every_place(&disk.dir.path().join("installed"), |what| {
        is_refused(what, remove(&etc, &disk, Force::No, &[CONFIG]).map(drop));
        is_refused(what, remove(&etc, &disk, Force::Restore, &[]).map(drop));
        is_refused(what, install(&etc, &disk, &wanted()).map(drop));
        assert_eq!(etc.dump(), installed, "{what}");
    });
}

#[test]
fn death_at_every_step_leaves_notes_from_which_everything_is_taken_back() {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    let before = etc.dump();
    install(&etc, &disk, &wanted()).unwrap();
    let installed = kernel.steps.get();
    assert!(etc.dump().contains_key(LINK));
    let removed = take_away(&etc, &disk);
    let total = kernel.steps.get();
    assert!(
        removed.drift.is_empty() && removed.failed.is_empty(),
        "{removed:?}"
    );
    assert_eq!(etc.dump(), before);
    let mut tried = 0;
    for death in deaths(1, total) {
        let kernel = Kernel::boot(Rules::V2);
        let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
        kernel.death.set(death);
        let died = until_death(|| {
            install(&etc, &disk, &wanted()).unwrap();
            take_away(&etc, &disk);
        });
        assert!(died, "{death:?} did not die");
        kernel.death.set(Death::Never);
        let removed = take_away(&etc, &disk);
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
fn a_second_time_writes_nothing() {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    let unit_and_link = &wanted()[..2];
    install(&etc, &disk, unit_and_link).unwrap();
    let steps = kernel.steps.get();
    let again = install(&etc, &disk, unit_and_link).unwrap();
    assert!(
        again.iter().all(|placed| placed.outcome == "already"),
        "{again:?}"
    );
    assert_eq!(kernel.steps.get(), steps);
}

#[test]
fn what_somebody_changed_since_is_named_and_left_alone_unless_forced() {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    let before = etc.dump();
    install(&etc, &disk, &wanted()).unwrap();
    let edited = Standing::text("[Unit]\n# edited\n", 0o644);
    etc.live.set_standing(UNIT, &edited).unwrap();
    let removed = take_away(&etc, &disk);
    assert_eq!(removed.drift.len(), 1, "{removed:?}");
    assert!(removed.drift[0].starts_with(UNIT));
    assert_eq!(etc.live.standing(UNIT).unwrap(), edited);
    assert_eq!(
        etc.live.standing(LINK).unwrap(),
        Standing::Nothing,
        "it is no longer started"
    );
    let forced = remove(&etc, &disk, Force::Restore, &[CONFIG]).unwrap();
    assert!(forced.drift.is_empty() && forced.failed.is_empty(), "{forced:?}");
    assert_eq!(etc.dump(), before);
}

#[test]
fn a_configuration_that_somebody_edited_is_kept_under_another_name() {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    let mut before = etc.dump();
    install(&etc, &disk, &wanted()).unwrap();
    let edited = Standing::text("# my own words\n", 0o640);
    etc.live.set_standing(CONFIG, &edited).unwrap();
    let removed = take_away(&etc, &disk);
    assert!(
        removed.drift.is_empty() && removed.failed.is_empty(),
        "{removed:?}"
    );
    before.insert(format!("{CONFIG}.bak"), edited);
    assert_eq!(etc.dump(), before);
}

#[test]
fn putting_aside_never_overwrites_and_survives_death() {
    let kernel = Kernel::boot(Rules::V2);
    let etc = Etc::new(&kernel);
    assert_eq!(put_aside(&etc, CONFIG).unwrap(), None);
    let (old, new) = (Standing::text("old", 0o644), Standing::text("new", 0o644));
    etc.live.set_standing(&format!("{CONFIG}.bak"), &old).unwrap();
    for death in [
        Death::Before(1),
        Death::After(1),
        Death::Before(2),
        Death::After(2),
    ] {
        etc.live.set_standing(CONFIG, &new).unwrap();
        etc.live
            .set_standing(&format!("{CONFIG}.bak.1"), &Standing::Nothing)
            .unwrap();
        kernel.steps.set(0);
        kernel.death.set(death);
        assert!(until_death(|| drop(put_aside(&etc, CONFIG))), "{death:?}");
        kernel.death.set(Death::Never);
        put_aside(&etc, CONFIG).unwrap();
        let aside = |name: &str| etc.live.standing(&format!("{CONFIG}{name}")).unwrap();
        assert_eq!(
            (aside(""), aside(".bak"), aside(".bak.1")),
            (Standing::Nothing, old.clone(), new.clone())
        );
        assert_eq!(aside(".bak.2"), Standing::Nothing, "{death:?}: kept once");
    }
}

#[test]
fn a_directory_that_others_use_by_now_stays() {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    install(&etc, &disk, &wanted()).unwrap();
    let other = "/etc/systemd/system/multi-user.target.wants/other.service";
    etc.live
        .set_standing(other, &Standing::Link("../other.service".to_owned()))
        .unwrap();
    let removed = take_away(&etc, &disk);
    assert!(
        removed.drift.is_empty() && removed.failed.is_empty(),
        "{removed:?}"
    );
    assert!(etc.dump().contains_key(other) && !etc.dump().contains_key(LINK));
}

/// Two units in one directory that was made for the first: whoever goes last takes it away.
#[test]
fn a_directory_goes_with_the_last_of_what_it_was_made_for() {
    let other = "/etc/systemd/system/multi-user.target.wants/quietcore-watch.service";
    for last in [LINK, other] {
        let kernel = Kernel::boot(Rules::V2);
        let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
        let before = etc.dump();
        let link = |path: &str| (path.to_owned(), Standing::Link("../a.service".to_owned()));
        install(&etc, &disk, &[link(LINK)]).unwrap();
        install(&etc, &disk, &[link(other)]).unwrap();
        let first = if last == LINK { other } else { LINK };
        remove_some(&etc, &disk, Force::No, &[], &|path| path == first).unwrap();
        let there = etc.dump();
        assert!(
            there.contains_key(last) && !there.contains_key(first),
            "{there:?}"
        );
        let removed = remove_some(&etc, &disk, Force::No, &[], &|path| path == last).unwrap();
        assert!(
            removed.drift.is_empty() && removed.failed.is_empty(),
            "{removed:?}"
        );
        assert_eq!(etc.dump(), before);
        assert!(!disk.dir.path().join("installed").exists(), "no note is left");
    }
}

#[test]
fn damaged_notes_are_an_error_and_change_nothing() {
    let kernel = Kernel::boot(Rules::V2);
    let (etc, disk) = (Etc::new(&kernel), Disk::new(&kernel));
    install(&etc, &disk, &wanted()).unwrap();
    let path = disk.dir.path().join("installed");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let there = etc.dump();
    assert!(remove(&etc, &disk, Force::No, &[]).is_err());
    assert!(install(&etc, &disk, &wanted()).is_err());
    assert_eq!(etc.dump(), there);
}
