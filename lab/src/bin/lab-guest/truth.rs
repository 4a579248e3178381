//! `lab-guest truth`: disturbs a CPU in every way in [`crate::disturb`] while `blame` watches it, and compares the
//! report with the disturbances.

mod watched;

use crate::disturb::{ALL, Disturbance, InjectionSite, ProbePolicy, place_thread};
use lab::clock::raw_ns;
use lab::random::Random;
use lab::truth::{
    DisturbanceResult, Injection, Intervals, ReportedGap, ScoreCounts, ScoredGaps, TruthRow, TruthTable, later, score,
    score_own, span,
};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use watched::{BlameOutput, BlameRun};

/// Number of disturbances in a mixture.
const MIXED: usize = 3;
/// The injector's own priority: it acts in time even on a CPU that other threads use.
const POLICY: &str = "fifo:50";

/// Options.
struct TruthSettings {
    quietcore: PathBuf,
    measured: u32,
    other: u32,
    only: Vec<String>,
    /// Runs one of this many parts of the list, counted from 1, for machines on which the whole list takes too long.
    part: (usize, usize),
    seed: u64,
    /// Number of acts of each disturbance.
    count: usize,
    mixtures: usize,
    apart_ms: u64,
    slack_us: u64,
    alone: bool,
    /// Whether the probe continues after the acts of each run, for the same time without disturbances.
    control: bool,
    /// The buffer size that `blame` requests from the kernel, if not the default.
    buffer_kib: Option<u32>,
    out: Option<PathBuf>,
    /// Directory for the disturbances of each run and the gaps of the same time, for analysis.
    record_dir: Option<PathBuf>,
}

const USAGE: &str = "truth takes --quietcore PATH --cpus N --other N --only NAME,NAME --part N/N --seed N --count N --mixtures N --apart-ms N --slack-us N --alone yes|no --control yes|no --buffer KIB --out FILE --keep DIR";

/// Runs all requested disturbances.
pub fn run(words: &[&str]) -> Result<(), String> {
    let settings = settings(words)?;
    let _alone = watched::alone()?;
    lab::tracefs::reach()?;
    let place = InjectionSite {
        measured: settings.measured,
        other: settings.other,
        online: watched::online()?,
        alone: settings.alone,
        blame: None,
        apart_ns: settings.apart_ms * 1_000_000,
        random: Random::new(settings.seed),
    };
    for cpu in [place.measured, place.other] {
        if !place.online.contains(&cpu) {
            return Err(format!("CPU {cpu} is not online"));
        }
    }
    eprintln!(
        "CPU {} is measured, CPU {} disturbs; settings of the whole machine {}",
        place.measured,
        place.other,
        if place.alone {
            "may be changed"
        } else {
            "stay as they are"
        }
    );
    let mut bench = TruthBench {
        table: TruthTable {
            kernel: watched::release()?,
            seed: settings.seed,
            slack_ns: settings.slack_us * 1_000,
            absent: Vec::new(),
            kprobes: Vec::new(),
            lost_events: 0,
            rows: Vec::new(),
        },
        settings,
        place,
    };
    bench.each();
    bench.mixed();
    let table = &bench.table;
    println!("{}", table.text());
    if let Some(out) = &bench.settings.out {
        let json = serde_json::to_string(table).map_err(|error| error.to_string())?;
        std::fs::write(out, json).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    let missed: Vec<String> = table.missed().into_iter().chain(table.unexplained()).collect();
    if missed.is_empty() {
        Ok(())
    } else {
        Err(missed.join("; "))
    }
}

struct TruthBench {
    settings: TruthSettings,
    place: InjectionSite,
    table: TruthTable,
}

impl TruthBench {
    /// Runs the disturbances one at a time.
    fn each(&mut self) {
        for disturbance in chosen(&self.settings) {
            let cell = match (disturbance.possible)(&self.place) {
                Err(why) => DisturbanceResult::Impossible(why),
                Ok(()) => match self.disturbed(&[disturbance], self.settings.count) {
                    Ok(mut counts) => counts.pop().map_or_else(
                        || DisturbanceResult::Failed("it did not run".to_owned()),
                        DisturbanceResult::Ran,
                    ),
                    Err(why) => DisturbanceResult::Failed(why),
                },
            };
            self.push(disturbance.name.to_owned(), disturbance.about, cell);
        }
    }

    /// Runs several at a time, randomly chosen among those that worked alone.
    fn mixed(&mut self) {
        let ran = |name: &str| {
            let row = self.table.rows.iter().find(|row| row.name == name);
            row.is_some_and(|row| matches!(row.cell, DisturbanceResult::Ran(_)))
        };
        // The others have too few acts to be mixed.
        let mut able: Vec<&Disturbance> = ALL
            .iter()
            .copied()
            .filter(|one| one.probe == ProbePolicy::Other && ran(one.name))
            .collect();
        if able.len() < 2 {
            return;
        }
        for _ in 0..self.settings.mixtures {
            self.place.random.shuffle(&mut able);
            let chosen: Vec<&Disturbance> = able.iter().copied().take(MIXED).collect();
            let names: Vec<&str> = chosen.iter().map(|one| one.name).collect();
            let name = names.join(" + ");
            let cell = match self.disturbed(&chosen, self.settings.count.div_ceil(MIXED)) {
                Ok(each) => {
                    let mut sum = ScoreCounts::default();
                    each.iter().for_each(|counts| sum.add(counts));
                    DisturbanceResult::Ran(sum)
                }
                Err(why) => DisturbanceResult::Failed(why),
            };
            self.push(name, "", cell);
        }
    }

    fn push(&mut self, name: String, about: &str, cell: DisturbanceResult) {
        match &cell {
            DisturbanceResult::Ran(counts) => eprintln!(
                "{name}: {} injected, {} right class, {} right culprit, {} of {} ns explained",
                counts.injected, counts.class, counts.culprit, counts.explained_ns, counts.stolen_ns
            ),
            DisturbanceResult::Impossible(why) => eprintln!("{name}: not possible here: {why}"),
            DisturbanceResult::Failed(why) => eprintln!("{name}: FAILED: {why}"),
        }
        self.table.rows.push(TruthRow {
            name,
            about: about.to_owned(),
            cell,
        });
    }

    /// Runs these disturbances together while `blame` watches, and scores each of them.
    fn disturbed(&mut self, chosen: &[&Disturbance], count: usize) -> Result<Vec<ScoreCounts>, String> {
        let probe = chosen.first().map_or(ProbePolicy::Other, |one| one.probe);
        let watched = BlameRun::start(
            &self.settings.quietcore,
            self.settings.measured,
            self.settings.buffer_kib,
            probe,
        )?;
        self.place.blame = Some(watched.pid());
        let injected = injected(chosen, &mut self.place, count);
        self.place.blame = None;
        // The effects of the last act may still be in progress.
        std::thread::sleep(Duration::from_nanos(2 * self.table.slack_ns));
        let quiet = match &injected {
            Ok(injected) if self.settings.control && probe != ProbePolicy::Program => {
                quiet(injected, self.table.slack_ns)?
            }
            _ => Vec::new(),
        };
        let BlameOutput {
            gaps,
            absent,
            kprobes,
            lost_events,
            own,
        } = watched.end(|gap| {
            let of = |acts: &[Vec<Injection>]| is_near(gap, acts, self.table.slack_ns);
            of(injected.as_deref().unwrap_or_default()) || of(&quiet)
        })?;
        self.table.absent = absent;
        self.table.kprobes = kprobes;
        let unreported = self.table.unreported_events();
        self.table.lost_events += lost_events;
        let seen = ScoredGaps {
            gaps: &gaps,
            cpu: self.settings.measured,
            slack_ns: self.table.slack_ns,
            absent: &unreported,
        };
        let injected = injected?;
        if let Some(dir) = &self.settings.record_dir {
            save_run(dir, chosen, [&injected, &quiet], &gaps)?;
        }
        let each = chosen.iter().zip(&injected);
        let judged = each.map(|(disturbance, injected)| match disturbance.probe {
            ProbePolicy::Program => score_own(&disturbance.expected, injected, &own),
            ProbePolicy::Other | ProbePolicy::Fifo => score(&disturbance.expected, injected, &seen),
        });
        let mut judged: Vec<ScoreCounts> = judged.collect();
        for (counts, quiet) in judged.iter_mut().zip(&quiet) {
            counts.control = Intervals::of(quiet, &seen);
        }
        Ok(judged)
    }
}

/// Waits as long as all these acts took, and returns the same intervals shifted into that time.
fn quiet(injected: &[Vec<Injection>], slack_ns: u64) -> Result<Vec<Vec<Injection>>, String> {
    let (first_ns, last_ns) = span(injected).ok_or("nothing was injected")?;
    let by_ns = raw_ns().saturating_sub(first_ns);
    let end_ns = last_ns + by_ns + 2 * slack_ns;
    std::thread::sleep(Duration::from_nanos(end_ns.saturating_sub(raw_ns())));
    Ok(injected.iter().map(|acts| later(acts, by_ns)).collect())
}

/// The requested disturbances.
fn chosen(settings: &TruthSettings) -> Vec<&'static Disturbance> {
    let (part, parts) = settings.part;
    let named = |one: &Disturbance| settings.only.is_empty() || settings.only.iter().any(|name| name == one.name);
    ALL.iter()
        .enumerate()
        .filter(|(at, one)| at % parts == part - 1 && named(one))
        .map(|(_, one)| *one)
        .collect()
}

/// Whether a gap is used to score an act.
fn is_near(gap: &ReportedGap, injected: &[Vec<Injection>], slack_ns: u64) -> bool {
    let meets = |act: &Injection| gap.start_ns < act.end_raw_ns + slack_ns && gap.end_ns > act.begin_raw_ns;
    injected.iter().flatten().any(meets)
}

fn save_run(
    dir: &Path,
    chosen: &[&Disturbance],
    [injected, control]: [&[Vec<Injection>]; 2],
    gaps: &[ReportedGap],
) -> Result<(), String> {
    let names: Vec<&str> = chosen.iter().map(|one| one.name).collect();
    let path = dir.join(format!("{}.json", names.join("+")));
    let text = json!({ "names": names, "injected": injected, "control": control, "gaps": gaps }).to_string();
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs each disturbance in its own thread, under its name, on the other CPU.
fn injected(chosen: &[&Disturbance], place: &mut InjectionSite, count: usize) -> Result<Vec<Vec<Injection>>, String> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = chosen
            .iter()
            .map(|disturbance| {
                let mut place = InjectionSite {
                    random: Random::new(place.random.draw()),
                    ..place.clone()
                };
                scope.spawn(move || {
                    place_thread(disturbance.name, place.other, POLICY)?;
                    let done = (disturbance.inject)(&mut place, count)?;
                    match done.len() {
                        0 => Err("nothing was injected".to_owned()),
                        _ => Ok(done),
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(done) => done,
                Err(_) => Err("the thread that disturbs ended early".to_owned()),
            })
            .collect()
    })
}

fn settings(words: &[&str]) -> Result<TruthSettings, String> {
    let mut settings = TruthSettings {
        quietcore: PathBuf::from("quietcore"),
        measured: 1,
        other: 0,
        only: Vec::new(),
        part: (1, 1),
        seed: 1,
        count: 30,
        mixtures: 10,
        apart_ms: 5,
        slack_us: 200,
        alone: false,
        control: true,
        buffer_kib: None,
        out: None,
        record_dir: None,
    };
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            return Err(USAGE.to_owned());
        };
        let value = *value;
        match *name {
            "--quietcore" => settings.quietcore = PathBuf::from(value),
            "--cpus" => settings.measured = crate::number(value),
            "--other" => settings.other = crate::number(value),
            "--only" => settings.only = value.split(',').map(str::to_owned).collect(),
            "--part" => {
                let (part, parts) = value.split_once('/').ok_or(USAGE)?;
                settings.part = (crate::number(part), crate::number(parts));
            }
            "--seed" => settings.seed = crate::number(value),
            "--count" => settings.count = crate::number(value),
            "--mixtures" => settings.mixtures = crate::number(value),
            "--apart-ms" => settings.apart_ms = crate::number(value),
            "--slack-us" => settings.slack_us = crate::number(value),
            "--alone" => settings.alone = value == "yes",
            "--control" => settings.control = value == "yes",
            "--buffer" => settings.buffer_kib = Some(crate::number(value)),
            "--keep" => settings.record_dir = Some(PathBuf::from(value)),
            "--out" => settings.out = Some(PathBuf::from(value)),
            _ => return Err(format!("{name} is unknown; {USAGE}")),
        }
    }
    if settings.measured == settings.other || settings.count == 0 || settings.apart_ms == 0 {
        return Err(format!(
            "two different CPUs, at least one act and one millisecond; {USAGE}"
        ));
    }
    if settings.part.0 == 0 || settings.part.0 > settings.part.1 {
        return Err(format!("parts are counted from 1; {USAGE}"));
    }
    let unknown = |name: &&String| !ALL.iter().any(|known| known.name == name.as_str());
    if let Some(name) = settings.only.iter().find(unknown) {
        let names: Vec<&str> = ALL.iter().map(|one| one.name).collect();
        return Err(format!("no disturbance {name}; there are {}", names.join(", ")));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn disturbance_names_are_unique_and_fit_a_thread_name() {
        let names: BTreeSet<&str> = ALL.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(ALL.len() >= 24, "the benchmark promises 24");
        for one in ALL {
            assert!((1..=15).contains(&one.name.len()), "{}", one.name);
            assert!(
                !one.about.is_empty() && !one.expected.classes.is_empty(),
                "{}",
                one.name
            );
        }
    }

    #[test]
    fn all_parts_together_cover_the_list() {
        let of = |part: &str| -> Vec<&str> {
            let settings = settings(&["--part", part]).unwrap();
            chosen(&settings).iter().map(|one| one.name).collect()
        };
        let mut all: Vec<&str> = ["1/3", "2/3", "3/3"].into_iter().flat_map(of).collect();
        let mut known: Vec<&str> = ALL.iter().map(|one| one.name).collect();
        all.sort_unstable();
        known.sort_unstable();
        assert_eq!(all, known);
        let only = settings(&["--only", "fifo"]).unwrap();
        assert_eq!(chosen(&only).len(), 1);
    }

    #[test]
    fn wrong_arguments_are_errors() {
        for wrong in [
            &["--count"] as &[&str],
            &["--what", "1"],
            &["--cpus", "0"],
            &["--only", "fifo,x"],
            &["--part", "0/3"],
            &["--part", "4/3"],
            &["--part", "3"],
        ] {
            assert!(settings(wrong).is_err(), "{wrong:?}");
        }
        let given = settings(&["--only", "fifo", "--cpus", "3", "--alone", "yes"]).unwrap();
        assert_eq!((given.measured, given.other, given.alone), (3, 0, true));
    }
}
