//! Tests `prove`, which isolates, measures and restores in one command, also when it is killed in the middle.

use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::verdict::ScenarioVerdict;

/// Runs with cgroup v1 and v2. The measured values are not checked: time in an emulator is meaningless.
pub const SCENARIO: Scenario = Scenario {
    name: "prove",
    about: "prove ends, writes its report, restores everything, and so does its guard after SIGKILL",
    cells,
    script,
    check,
};

fn cells() -> Vec<ScenarioCell> {
    ScenarioCell::of_each_kind().map(|cell| cell.within(420)).to_vec()
}

fn script(_: &ScenarioCell) -> String {
    "populate
cd /tmp
state before
rec prove quietcore prove --cpus 3 --for 2s --page --json
state after
same same before after
rec json cat /tmp/prove.json
rec page sh -c 'wc -c </tmp/prove.html'
rec outside grep -c -E 'src=.http|href=.http' /tmp/prove.html
quietcore prove --cpus 3 --for 6s >/tmp/killed 2>&1 &
victim=$!
rec in_force wait_in_force
kill -KILL $victim
rec guard lab wait_for 20 test ! -e /run/quietcore/journal
sleep 1
state killed
same same_killed before killed
quietcore prove --cpus 3 --for 6s >/tmp/stopped 2>&1 &
victim=$!
rec in_force_2 wait_in_force
kill -TERM $victim
wait $victim
note stopped $?
state stopped
same same_stopped before stopped
"
    .replace(
        "wait_in_force",
        "sh -c '. /bin/lab.sh; wait_for 60 test -e /run/quietcore/journal && sleep 1'",
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    let prove = seen.get("prove");
    verdict.that(
        matches!(prove.status, 0 | 1),
        format!("prove: exit status {}: {}", prove.status, prove.stderr.trim()),
    );
    let file = verdict.status(seen, "json", 0).json();
    let schema = file["schema"].as_str().unwrap_or_default().to_owned();
    verdict.that(
        schema.starts_with("quietcore.prove/"),
        format!("schema of prove.json: {schema:?}"),
    );
    let predicted = file["prediction"]["changes"].as_array().map_or(0, Vec::len);
    let watch = file["steps"].as_array().into_iter().flatten();
    let watch = watch.filter(|step| step["name"] == "watch and predict");
    let outcomes: Vec<_> = watch.map(|step| step["outcome"].as_str().unwrap_or_default()).collect();
    verdict.equal("the watch", outcomes.as_slice(), &["done"]);
    verdict.that(predicted > 3, format!("{predicted} changes are predicted"));
    let size = seen.get("page").text().parse::<u32>().unwrap_or(0);
    verdict.that(size > 5000, format!("prove.html has {size} bytes"));
    verdict.equal("links to elsewhere in the page", seen.get("outside").text(), "0");
    for name in ["in_force", "guard", "in_force_2"] {
        verdict.status(seen, name, 0);
    }
    for name in ["same", "same_killed", "same_stopped"] {
        let same = verdict.status(seen, name, 0);
        verdict.equal(name, same.text(), "");
    }
    verdict.note(format!(
        "status {} after {:.1} s",
        prove.status,
        prove.ms as f64 / 1000.0
    ));
}
