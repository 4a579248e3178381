//! `make bench-predict`: predicts the cells of `study which-knob` under disturbances of known kinds, and compares with what
//! they measure.

mod loads;

use self::loads::{DISTURBANCES, Disturbance, LoadPlace};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use xtask::error::{TaskResult, XtaskError, product, target_dir};

/// The knobs that are tested alone and left out of the plan.
const KNOBS: &str = "irq_affinity,workqueue_cpumask,rq_affinity,watchdog_cpumask";

/// The share of measurements that should lie in the 90 % ranges.
const INSIDE: std::ops::RangeInclusive<f64> = 0.85..=0.97;

/// The share of loads whose first choice should be right.
const RIGHT: f64 = 0.9;

/// The options of the benchmark.
struct PredictionBench<'a> {
    cpu: usize,
    time: &'a str,
    repetitions: &'a str,
    loads: Vec<&'static Disturbance>,
}

/// Runs the benchmark.
///
/// # Errors
/// [`XtaskError::Failed`] when a bound was missed; other errors when a study could not run.
pub(crate) fn run(words: &[&str]) -> TaskResult {
    // SAFETY: a plain call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        println!("SKIP: bench-predict: needs root to isolate CPUs and to trace");
        return Ok(());
    }
    let bench = options(words)?;
    let binary = product()?;
    let folder = target_dir().join("bench/predict");
    // Results of an earlier run would be taken for those of this one.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    println!("| load | stolen/s now | inside | rank correlation | first choice | largest gain measured |");
    println!("|---|--:|--:|--:|---|---|");
    let (mut answers, mut failed) = (Vec::new(), 0);
    for load in &bench.loads {
        let name = load.name;
        match disturbed_study(&binary, &folder, &bench, load) {
            Ok(answer) => {
                println!("{}", row(name, &answer["prediction"]));
                answers.push(json!({ "load": name, "prediction": answer["prediction"] }));
            }
            // The other loads still have an answer.
            Err(error) => {
                println!("| {name} | FAILED | | | | |\n{error}");
                failed += 1;
            }
        }
    }
    println!();
    for answer in &answers {
        print_misses(answer);
    }
    let out = folder.join("answer.json");
    std::fs::write(&out, Value::from(answers.clone()).to_string()).map_err(XtaskError::file(&out))?;
    println!("written: {}", out.display());
    match failed {
        0 => conclude(&answers),
        _ => conclude(&answers).and(Err(XtaskError::Failed)),
    }
}

fn options<'a>(words: &[&'a str]) -> TaskResult<PredictionBench<'a>> {
    let mut bench = PredictionBench {
        cpu: 1,
        time: "2s",
        repetitions: "3",
        loads: DISTURBANCES.iter().collect(),
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| usage(word))?;
        match word {
            "--cpu" => bench.cpu = value.parse().map_err(|_| usage(word))?,
            "--for" => bench.time = value,
            "--repetitions" => bench.repetitions = value,
            "--only" => {
                let known = |name| DISTURBANCES.iter().find(|load| load.name == name);
                let named: Option<_> = value.split(',').map(known).collect();
                bench.loads = named.ok_or_else(|| usage(value))?;
            }
            _ => return Err(usage(word)),
        }
    }
    Ok(bench)
}

fn usage(word: &str) -> XtaskError {
    XtaskError::Program {
        program: "bench predict".into(),
        why: format!("{word}: options are --cpu N --for TIME --repetitions N --only LOAD,LOAD"),
    }
}

/// Runs the study while the load runs.
fn disturbed_study(
    binary: &Path,
    folder: &Path,
    bench: &PredictionBench,
    load: &'static Disturbance,
) -> TaskResult<Value> {
    let place = LoadPlace { cpu: bench.cpu, folder };
    let failed = |error: std::io::Error| XtaskError::Program {
        program: format!("the load {}", load.name),
        why: error.to_string(),
    };
    let running = load.start(&place).map_err(failed)?;
    let answer = study(binary, &folder.join(load.name), bench);
    running.end().map_err(failed)?;
    answer
}

fn study(binary: &Path, out: &Path, bench: &PredictionBench) -> TaskResult<Value> {
    let output = Command::new(binary)
        .args(["study", "which-knob", "--measure", "noise", "--predict", "--json"])
        .args(["--cool-down", "200ms", "--knobs", KNOBS, "--load", "idle"])
        .args(["--cpus", &bench.cpu.to_string()])
        .args(["--for", bench.time, "--repetitions", bench.repetitions])
        .arg("--out")
        .arg(out)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(XtaskError::file(binary))?;
    let failed = |why: String| XtaskError::Program {
        program: "quietcore study which-knob".into(),
        why,
    };
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

fn row(load: &str, prediction: &Value) -> String {
    let now = numbers(prediction).find(|number| number["cell"].as_str().is_some_and(|cell| cell.starts_with("none")));
    let now_ms = now.map_or(0.0, |number| number["mean"].as_f64().unwrap_or(f64::NAN) / 1e6);
    let (inside, measured) = counts(prediction);
    let rank_correlation = match prediction["rank_correlation"].as_f64() {
        Some(value) => format!("{value:.2}"),
        None => "-".to_owned(),
    };
    let (first, best) = match &prediction["first_choice"] {
        Value::Null => ("none", "-"),
        first => (text(&first["knob"]), text(&first["measured_best"])),
    };
    format!("| {load} | {now_ms:.1} ms | {inside} of {measured} | {rank_correlation} | {first} | {best} |")
}

fn print_misses(answer: &Value) {
    let missed = numbers(&answer["prediction"]).filter(|number| {
        let measured = number["measured"].as_array().map_or(0, Vec::len) as u64;
        number["inside"].as_u64() < Some(measured)
    });
    for number in missed {
        let predicted = |name: &str| number["predicted"][name].as_f64().unwrap_or(f64::NAN);
        println!(
            "miss: {} {} {}: {:.0} ({:.0} to {:.0}) predicted, {} measured",
            text(&answer["load"]),
            text(&number["cell"]),
            number["number"],
            predicted("value"),
            predicted("low"),
            predicted("high"),
            number["measured"]
        );
    }
}

/// Prints the sums, and fails if a bound was missed.
fn conclude(answers: &[Value]) -> TaskResult {
    let sums = answers.iter().map(|answer| counts(&answer["prediction"]));
    let (inside, measured) = sums.fold((0, 0), |(inside, measured), (more, all)| {
        (inside + more, measured + all)
    });
    let choices: Vec<&Value> = answers
        .iter()
        .map(|answer| &answer["prediction"]["first_choice"])
        .filter(|first| !first.is_null())
        .collect();
    let right = choices.iter().filter(|first| first["is_right"] == true).count();
    let share = inside as f64 / measured.max(1) as f64;
    println!(
        "{inside} of {measured} measurements in their ranges: {:.0} % (wanted 85 to 97 %)",
        share * 100.0
    );
    println!("first choice right: {right} of {} (wanted 90 %)", choices.len());
    let is_right = !choices.is_empty() && right as f64 >= RIGHT * choices.len() as f64;
    match INSIDE.contains(&share) && is_right {
        true => Ok(()),
        false => Err(XtaskError::Failed),
    }
}

fn numbers(prediction: &Value) -> impl Iterator<Item = &Value> {
    prediction["numbers"].as_array().into_iter().flatten()
}

fn counts(prediction: &Value) -> (u64, u64) {
    let count = |name: &str| prediction[name].as_u64().unwrap_or(0);
    (count("inside"), count("measured"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}
