//! Runs the two configurations of the article on `isolcpus` and cpusets, as systress and as `measure run`. The machine
//! has the eight CPUs that the files name. The article's own load programs run at the same time and are restarted when
//! they end. Only the lifetime of the timer thread is shortened.

use crate::kernels::K7;
use crate::packages::PING_AND_TAR;
use crate::records::GuestRecords;
use crate::scenario::{Scenario, ScenarioCell};
use crate::shape::{CgroupLayout, GuestShape, USUAL};
use crate::verdict::ScenarioVerdict;
use serde_json::Value;

/// One kernel is enough: what a configuration file requests does not depend on the kernel.
pub const SCENARIO: Scenario = Scenario {
    name: "article_runs",
    about: "host.cfg and host2.cfg of the article run unchanged, on eight CPUs, as systress and as measure run",
    cells: || vec![ScenarioCell::new(K7, CgroupLayout::V2).on(EIGHT).within(300)],
    script,
    check,
};

const EIGHT: GuestShape = GuestShape {
    name: "8-cpus",
    cores: 4,
    memory_mib: 512,
    packages: Some(&PING_AND_TAR),
    // If the guest calibrates the TSC while the host is loaded, the clock can run twenty times too fast. A second would
    // then be too short for eight CPUs to do anything.
    boot: "clocksource=hpet",
    ..USUAL
};

const HOST: &str = include_str!("../../../fixtures/systress/host.cfg");
const HOST2: &str = include_str!("../../../fixtures/systress/host2.cfg");

/// Replaces the article's minute. Long enough for two refreshes of 1.5 s and, under load, for one inspection of all
/// threads.
const SECONDS: u64 = 4;
const LOADED_SECONDS: u64 = 15;

fn shortened(file: &str, seconds: u64) -> String {
    file.replace("lifetime.duration 1 min", &format!("lifetime.duration {seconds} s"))
}

fn script(_: &ScenarioCell) -> String {
    format!(
        "mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
ln -s quietcore /bin/systress
ln -sf dash /bin/sh
ifconfig lo up
echo '127.0.0.1 localhost' >/etc/hosts
mkdir /tmp/runs
cd /tmp/runs
cat >host.cfg <<'END'
{}
END
cat >host2.cfg <<'END'
{}
END
sampling() {{ wait_for 10 sh -c 'grep -q sampler/7 /proc/[0-9]*/task/*/comm'; sleep 1; }}
gone() {{ [ -z \"$(pids_of systress; pids_of find; pids_of ping; pids_of tar; pids_of gzip)\" ]; }}
rec screen lab-guest terminal systress --cfg=./host.cfg
rec file cat timer_thread00.txt
rm timer_thread00.txt
(sampling; rec places lab-guest named sampler/7 systress find ping sh tar; killall -KILL find ping tar) &
rec loaded systress --cfg=./host2.cfg
note gone $(gone && echo all)
wait
rec loaded_file cat timer_thread00.txt
sed -i 's/{LOADED_SECONDS} s/{SECONDS} s/' host2.cfg
rec run quietcore measure run host2.cfg --json
",
        shortened(HOST, SECONDS),
        shortened(HOST2, LOADED_SECONDS)
    )
}

fn check(_: &ScenarioCell, seen: &GuestRecords, verdict: &mut ScenarioVerdict) {
    screen(&verdict.status(seen, "screen", 0).stdout, verdict);
    statistics(
        &seen.get("screen").stdout,
        &verdict.status(seen, "file", 0).stdout,
        SECONDS,
        verdict,
    );
    places(&verdict.status(seen, "places", 0).stdout, verdict);

    let loaded = verdict.status(seen, "loaded", 0);
    statistics(
        &loaded.stdout,
        &verdict.status(seen, "loaded_file", 0).stdout,
        LOADED_SECONDS,
        verdict,
    );
    for cpu in 0..8 {
        let load = load_of(&loaded.stdout, &format!("CPU#{cpu}"));
        verdict.that(load.is_some(), format!("no load of CPU {cpu}: {}", loaded.stdout));
    }
    let all = load_of(&loaded.stdout, "CPU");
    verdict.that(
        all.is_some_and(|all| all > 0.0),
        format!("three programs are a load of {all:?} %"),
    );
    for program in 0..3 {
        let times = started(&loaded.stdout, program);
        verdict.that(
            times.is_some_and(|times| times >= 2),
            format!("program[{program}] was started {times:?} times, though it was ended once"),
        );
    }
    verdict.equal("gone with the run", seen.get("gone").text(), "all");

    let run = verdict.status(seen, "run", 0).json();
    described(&run, verdict);
    verdict.note(format!("load {:.0} %", all.unwrap_or(0.0)));
}

/// The screen is drawn at the start, every 1.5 s and at the end, each time over the previous picture.
fn screen(drawn: &str, verdict: &mut ScenarioVerdict) {
    let heads = drawn
        .matches("Index     TID   Samples    L_min    L_max    L_cur    L_avg")
        .count();
    verdict.that(
        (3..=5).contains(&heads),
        format!("drawn {heads} times in {SECONDS} s: {drawn:?}"),
    );
    verdict.equal(
        "pictures that replace one",
        drawn.matches("\x1b[2F\x1b[J").count(),
        heads.saturating_sub(1),
    );
    for words in [
        "Statistics for timer_thread[0] in 'timer_thread00.txt'",
        "Total elapsed time: ",
    ] {
        verdict.that(drawn.contains(words), format!("no `{words}` on the screen"));
    }
}

/// The histogram has the requested size, and the summary has the numbers of the last picture on the screen.
fn statistics(drawn: &str, file: &str, seconds: u64, verdict: &mut ScenarioVerdict) {
    let numbers = |line: &str| -> Vec<u64> { line.split_whitespace().filter_map(|word| word.parse().ok()).collect() };
    let rows: Vec<Vec<u64>> = file
        .lines()
        .take_while(|line| !line.trim().is_empty())
        .map(numbers)
        .collect();
    let latencies: Vec<u64> = rows.iter().filter_map(|row| row.first().copied()).collect();
    verdict.equal("latencies of the histogram", latencies, (0..=20).collect());
    let inside: u64 = rows.iter().filter_map(|row| row.get(1)).sum();
    let row = drawn
        .lines()
        .rfind(|line| numbers(line).len() == 7)
        .map(numbers)
        .unwrap_or_default();
    let summary = file.lines().last().map(numbers).unwrap_or_default();
    verdict.equal("columns of the summary", summary.len(), 11);
    verdict.equal(
        "index, thread and samples of file and screen",
        summary.get(..3),
        row.get(..3),
    );
    verdict.equal("samples in the histogram", summary.get(6), Some(&inside));
    verdict.that(
        summary
            .get(2)
            .is_some_and(|samples| (1..=seconds * 1_000).contains(samples)),
        format!("samples of {seconds} s: {summary:?}"),
    );
}

/// Each line describes a thread of the run. Children of the commands inherit their placement.
fn places(lines: &str, verdict: &mut ScenarioVerdict) {
    let threads: Vec<Value> = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let of = |name: &str| -> Vec<[&str; 2]> {
        let named = threads.iter().filter(|thread| thread["comm"] == name);
        named
            .map(|thread| ["allowed", "policy"].map(|field| thread[field].as_str().unwrap_or_default()))
            .collect()
    };
    verdict.equal(
        "the timer thread",
        of("sampler/7"),
        vec![["7", "policy 1 rtprio 99 nice 0"]],
    );
    for name in ["systress", "find", "ping", "sh", "tar"] {
        let seen = of(name);
        verdict.that(
            !seen.is_empty() && seen.iter().all(|place| *place == ["0-6", "policy 0 rtprio 0 nice 0"]),
            format!("{name} beside the timer thread: {seen:?}"),
        );
    }
}

fn load_of(drawn: &str, cpu: &str) -> Option<f64> {
    let line = drawn
        .lines()
        .find(|line| line.split(':').next().is_some_and(|name| name.trim() == cpu))?;
    line.split(':').nth(1)?.trim().strip_suffix('%')?.parse().ok()
}

fn started(drawn: &str, program: u32) -> Option<u64> {
    let rest = drawn
        .lines()
        .find_map(|line| line.strip_prefix(&format!("program[{program}]: started ")))?;
    rest.split(' ').next()?.parse().ok()
}

fn described(run: &Value, verdict: &mut ScenarioVerdict) {
    let thread = &run["threads"][0];
    let who = (
        thread["kind"].as_str(),
        thread["cpu"].as_u64(),
        thread["policy"].as_str(),
        thread["priority"].as_u64(),
    );
    verdict.equal(
        "measure run: the sampler",
        who,
        (Some("latency"), Some(7), Some("fifo"), Some(99)),
    );
    let number = |field: &str| thread[field].as_u64();
    verdict.equal("measure run: due", number("expected"), Some(SECONDS * 1_000));
    let sum = number("recorded")
        .zip(number("missed"))
        .map(|(recorded, missed)| recorded + missed);
    verdict.equal("measure run: expected = recorded + missed", number("expected"), sum);
    let names: Vec<&str> = run["programs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|program| program["name"].as_str())
        .collect();
    verdict.equal(
        "measure run: programs",
        names,
        vec!["program[0]", "program[1]", "program[2]"],
    );
}
