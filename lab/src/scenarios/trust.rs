//! Promises that others could break: an unconfirmed partition is undone although another quietcore has the lock, and no number makes
//! `run --user` keep root.

use crate::kernels::{K6_1, K7};
use crate::records::Records;
use crate::scenario::{Cell, Scenario};
use crate::shape::Layout;
use crate::verdict::Verdict;

/// On v1 and on v2.
pub const SCENARIO: Scenario = Scenario {
    name: "trust",
    about: "guards wait for the lock until the unconfirmed partitions are undone; --user never keeps root",
    cells: || vec![Cell::new(K6_1, Layout::V1), Cell::new(K7, Layout::V2)],
    script,
    check,
};

/// The lock is held for longer than any command waits for it, from before the deadlines until long after them.
fn script(_: &Cell) -> String {
    "state before
rec first quietcore apply --cpus 3 --partition one --confirm-within 6s
rec second quietcore apply --cpus 2 --partition two --confirm-within 6s
lab-guest lock /run/quietcore/.lock 25 & holder=$!
sleep 1
rec refused quietcore undo
wait $holder
wait_for 30 sh -c '! test -e /run/quietcore/journal'
rec journal ls /run/quietcore/journal
state after
same same before after
rec confirmed quietcore apply --cpus 3 --confirm-within 4s
rec confirm quietcore confirm
sleep 6
rec stays ls /run/quietcore/journal
for user in 4294967295 ana; do
    rec user_$user quietcore run --user $user --group 4294967295 -- id -u
done
rec user_only quietcore run --user 4294967295 --group 0 -- id -u
rec undo quietcore undo
state end
same same_end before end
"
    .to_owned()
}

fn check(_: &Cell, seen: &Records, verdict: &mut Verdict) {
    for name in ["first", "second", "confirmed", "confirm", "stays", "undo"] {
        verdict.status(seen, name, 0);
    }
    verdict.status(seen, "refused", 5);
    verdict.that(
        seen.get("journal").status != 0,
        "both unconfirmed partitions are undone once the lock is free",
    );
    for name in ["same", "same_end"] {
        let same = verdict.status(seen, name, 0);
        verdict.equal(&format!("{name}: state"), same.text(), "");
    }
    for name in ["user_4294967295", "user_ana", "user_only"] {
        let ran = seen.get(name);
        verdict.that(
            ran.status != 0 && ran.stdout.is_empty(),
            format!(
                "{name}: refused, not run as {:?} with status {}",
                ran.text(),
                ran.status
            ),
        );
    }
}
