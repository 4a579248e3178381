//! Level 3 for the guard at its deadline: it undoes what was not confirmed and retries until that succeeds.

use crate::support::rehearsal::acting::{isolate_by, same};
use crate::support::rehearsal::{Rules, SimDisk, SimKernel};
use apply::guard::{confirm, undo_watched};
use apply::{ApplyError, ApplyOutcome, ApplyRequest, Storage, System, apply};
use machine::CpuSet;
use plan::{Intent, PartitionName, Profile};

const TOKEN: &str = "token of this guard";
const ETH0: &str = "/proc/irq/25/smp_affinity_list";

fn with_guard(system: &dyn System, storage: &dyn Storage, request: &ApplyRequest) -> Result<ApplyOutcome, ApplyError> {
    let request = ApplyRequest {
        guard: Some(TOKEN.to_owned()),
        ..*request
    };
    apply(system, storage, &request)
}

fn isolate(kernel: &SimKernel, disk: &SimDisk) {
    let cpus = CpuSet::parse_list("2-3").unwrap();
    let intent = Intent::new(PartitionName::new("rt").unwrap(), cpus, Profile::Balanced);
    isolate_by(kernel, disk, &intent, || {}, with_guard).unwrap();
}

#[test]
fn a_failed_undo_is_retried_until_it_succeeds() {
    for rules in [Rules::V1KeepsPins, Rules::V2] {
        let kernel = SimKernel::boot(rules);
        let before = kernel.dump();
        let disk = SimDisk::new(&kernel);
        isolate(&kernel, &disk);
        kernel.refuse(ETH0, libc::EBUSY);
        let mut tries = 0;
        let mut lock = || {
            tries += 1;
            match tries {
                1 => Err(ApplyError::Busy {
                    holder: "another quietcore".to_owned(),
                }),
                4 => {
                    kernel.allow(ETH0);
                    Ok(())
                }
                _ => Ok(()),
            }
        };
        undo_watched(&kernel, &disk, TOKEN, "test", &mut lock).unwrap();
        assert_eq!(tries, 4, "{rules:?}: once without the lock, twice refused, then done");
        same(&kernel, &before, &format!("{rules:?}"));
    }
}

#[test]
fn a_confirmed_apply_stays() {
    let kernel = SimKernel::boot(Rules::V2);
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk);
    confirm(&disk).unwrap();
    let isolated = kernel.dump();
    undo_watched(&kernel, &disk, TOKEN, "test", &mut || Ok(())).unwrap();
    same(&kernel, &isolated, "confirmed");
}

#[test]
fn an_unreadable_journal_ends_the_guard() {
    let kernel = SimKernel::boot(Rules::V2);
    let disk = SimDisk::new(&kernel);
    isolate(&kernel, &disk);
    let mut bytes = disk.read("journal").unwrap().unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    disk.replace("journal", &bytes).unwrap();
    let error = undo_watched(&kernel, &disk, TOKEN, "test", &mut || Ok(())).unwrap_err();
    assert!(matches!(error, ApplyError::Journal { .. }), "{error}");
}
