//! `lab list`, `lab fetch [FILTER]`, `lab run [FILTER]`: the command line of the lab.

use lab::initramfs::Programs;
use lab::kernels::{ALL, Kernel};
use lab::runner::{Bench, Finished, Job, run};
use lab::scenario::Init;
use lab::userland::{self, Userland};
use lab::{scenarios, unpack};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: lab list | fetch [FILTER] | run [FILTER] | try SCRIPT [FILTER]
FILTER: words that all have to be part of `SCENARIO KERNEL/LAYOUT` (apply_undo 6.12-rt).
try: runs a guest script of your own in the first fitting cell and prints its records.
QUIETCORE_BIN, LAB_GUEST_BIN: the static binaries (make lab sets them); LAB_OUT: where failures are kept.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((verb, filter)) = words.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if let ("try", Some((script, filter))) = (verb.as_str(), filter.split_first()) {
        return try_script(script, &scenarios::jobs(filter));
    }
    let jobs = scenarios::jobs(filter);
    match verb.as_str() {
        "list" => list(&jobs),
        "fetch" => fetch(&jobs),
        "run" => run_all(&jobs),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn list(jobs: &[Job]) -> ExitCode {
    for job in jobs {
        println!("{:<44} {}", job.label(), job.scenario.about);
    }
    ExitCode::SUCCESS
}

fn kernels_of(jobs: &[Job]) -> Vec<Kernel> {
    let used = |kernel: &&Kernel| {
        let is_of = |job: &Job| job.cell.kernel == **kernel || job.cell.shape.beside == Some(**kernel);
        jobs.iter().any(is_of)
    };
    ALL.iter().filter(used).copied().collect()
}

/// The systemd of every kernel that a cell boots with one.
fn userlands(jobs: &[Job]) -> BTreeMap<&'static str, Result<Userland, String>> {
    let used = |kernel: &Kernel| {
        let is_of = |job: &Job| job.cell.kernel == *kernel && job.cell.init == Init::Systemd;
        jobs.iter().any(is_of)
    };
    let ready = |kernel: &Kernel| userland::ready(*kernel).map_err(|error| error.to_string());
    let kernels = ALL.iter().filter(|kernel| used(kernel));
    kernels.map(|kernel| (kernel.id, ready(kernel))).collect()
}

fn fetch(jobs: &[Job]) -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for (kernel, result) in unpack::ready(&kernels_of(jobs)) {
        match result {
            Ok(ready) => println!("{:<10} {}", kernel.id, ready.release),
            Err(error) => {
                println!("SKIP: {}: {error}", kernel.id);
                status = ExitCode::FAILURE;
            }
        }
    }
    for (kernel, userland) in userlands(jobs) {
        if let Err(why) = userland {
            println!("SKIP: systemd of {kernel}: {why}");
            status = ExitCode::FAILURE;
        }
    }
    status
}

fn out_dir() -> PathBuf {
    std::env::var_os("LAB_OUT").map_or_else(|| PathBuf::from("target/lab"), PathBuf::from)
}

fn try_script(script: &str, jobs: &[Job]) -> ExitCode {
    let (Some(job), Ok(text), Ok(programs)) = (jobs.first(), std::fs::read_to_string(script), programs())
    else {
        eprintln!("no such cell, no such script, or no binaries\n{USAGE}");
        return ExitCode::from(2);
    };
    let bench = Bench {
        programs,
        kernels: BTreeMap::new(),
        userlands: userlands(&jobs[..1]),
        out: out_dir(),
    };
    let ready = unpack::ready(&[job.cell.kernel])
        .into_iter()
        .next()
        .map(|(_, result)| result);
    let tried = ready.map(|ready| lab::runner::try_script(&bench, &ready?, &job.cell, &text));
    match tried {
        Some(Ok(text)) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        None => ExitCode::FAILURE,
    }
}

fn run_all(jobs: &[Job]) -> ExitCode {
    if jobs.is_empty() {
        eprintln!("no scenario fits; `lab list` shows them");
        return ExitCode::from(2);
    }
    let programs = match programs() {
        Ok(programs) => programs,
        Err(why) => return skip_all(jobs, &why),
    };
    let mut kernels = BTreeMap::new();
    for (kernel, result) in unpack::ready(&kernels_of(jobs)) {
        let result = result.map_err(|error| error.to_string());
        match &result {
            Ok(ready) => println!("kernel {:<10} {}", kernel.id, ready.release),
            Err(why) => println!("kernel {:<10} not to be had: {why}", kernel.id),
        }
        kernels.insert(kernel.id, result);
    }
    let bench = Bench {
        programs,
        kernels,
        userlands: userlands(jobs),
        out: out_dir(),
    };
    let started = std::time::Instant::now();
    let totals = run(&bench, jobs, &say);
    println!(
        "{} scenarios in {:.0} s",
        jobs.len(),
        started.elapsed().as_secs_f64()
    );
    println!(
        "{} passed, {} failed, {} skipped, {} unstable",
        totals.passed, totals.failed, totals.skipped, totals.unstable
    );
    if totals.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A host without emulator or shell cannot judge anything. What the caller forgot to build is no such reason.
fn skip_all(jobs: &[Job], why: &Missing) -> ExitCode {
    match why {
        Missing::Binary(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
        Missing::Host(why) => println!("SKIP: lab: {why}"),
    }
    println!("0 passed, 0 failed, {} skipped, 0 unstable", jobs.len());
    ExitCode::SUCCESS
}

fn say(finished: &Finished) {
    let verdict = &finished.verdict;
    let notes = if verdict.notes.is_empty() {
        String::new()
    } else {
        format!("  {}", verdict.notes.join("; "))
    };
    let seconds = finished.took.as_secs_f64();
    if let Some(why) = &verdict.skipped {
        println!("SKIP: {}: {why}", finished.label);
    } else if verdict.failures.is_empty() {
        println!(
            "ok    {:<44} {seconds:>6.1} s  {} claims{notes}",
            finished.label, verdict.claims
        );
    } else {
        println!("FAIL  {:<44} {seconds:>6.1} s{notes}", finished.label);
        for failure in verdict.failures.iter().take(12) {
            println!("        {}", failure.chars().take(400).collect::<String>());
        }
    }
}

/// Why no guest can be started.
enum Missing {
    /// A binary under test.
    Binary(String),
    /// A program of the host.
    Host(String),
}

fn programs() -> Result<Programs, Missing> {
    let set = |variable: &str| {
        std::env::var_os(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_file())
    };
    let named = |variable: &str| {
        set(variable).ok_or_else(|| {
            Missing::Binary(format!(
                "{variable} names no file; `make lab` builds the binaries and sets it"
            ))
        })
    };
    let (quietcore, guest) = (named("QUIETCORE_BIN")?, named("LAB_GUEST_BIN")?);
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    for program in ["qemu-system-x86_64", "dpkg-deb", "modinfo", "apt-get"] {
        if !there(program) {
            return Err(Missing::Host(format!(
                "no {program} here; `scripts/setup test` installs it on Debian and Ubuntu"
            )));
        }
    }
    let places = ["/usr/bin/busybox", "/bin/busybox"];
    let busybox = places.iter().map(PathBuf::from).find(|path| path.is_file());
    let busybox =
        busybox.ok_or_else(|| Missing::Host("no static busybox here (package busybox-static)".to_owned()))?;
    Ok(Programs {
        quietcore,
        guest,
        busybox,
    })
}
