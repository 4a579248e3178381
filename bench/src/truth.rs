//! `make bench-truth`: compares our samplers and their peers with disturbances that are known exactly.
//!
//! Runs are in blocks of random order. In every block each tool runs undisturbed and disturbed, so tools are compared
//! within blocks and the machine's own noise cancels out. The results are printed, and written as JSON with every run.

mod kernel;
mod report;
mod running;
mod score;
mod seen;
pub(crate) mod statistics;
mod system_calls;
mod tools;
mod watched;

use crate::inject::event::InjectedDisturbance;
use crate::inject::random::Random;
use crate::inject::{PREEMPT_GROUPS, PREEMPT_NS, place};
use report::Results;
use running::{RunLocation, ToolDisturbance, ToolResult};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use tools::{BenchTool, TOOLS, ToolProgram, ToolQuestion};
use xtask::error::{TaskResult, XtaskError, product, target_dir};

/// A block is discarded if the hypervisor took more than this share of the measured CPU.
const MOST_STEAL: f64 = 0.01;

/// Options of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BenchSettings {
    blocks: u64,
    seconds: u64,
    seed: u64,
    cpu: usize,
    other: usize,
}

const DEFAULT: BenchSettings = BenchSettings {
    blocks: 5,
    seconds: 2,
    seed: 1,
    cpu: 1,
    other: 0,
};

/// Runs the benchmark.
///
/// # Errors
/// [`XtaskError::Failed`] when a claim about a ratio was lost; other errors when the benchmark could not run at all.
pub(crate) fn run(words: &[&str]) -> TaskResult {
    let settings = settings(words)?;
    if let Some(reason) = impossible(&settings) {
        println!("SKIP: bench-truth: {reason}");
        return Ok(());
    }
    let folder = target_dir().join("bench");
    std::fs::create_dir_all(&folder).map_err(XtaskError::file(&folder))?;
    let place = RunLocation {
        own_binary: product()?,
        folder: folder.join("truth-runs"),
        cpu: settings.cpu,
        other: settings.other,
        seconds: settings.seconds,
    };
    if let Err(why) = lab::tracefs::reach() {
        println!("note: durations cannot be held against the kernel's own: {why}");
    }
    // Disables deep idle states for all tools alike, whether or not a tool itself requests that.
    let _awake = awake();
    place::pin(&[settings.other])?;
    println!(
        "bench-truth: {} blocks, {} s of disturbances in each run, CPU {} measured, all else on CPU {}, seed {}",
        settings.blocks, settings.seconds, settings.cpu, settings.other, settings.seed
    );
    let (present, absent) = present_tools();
    for (tool, why) in &absent {
        println!("ABSENT: {tool}: {why}");
    }
    for tool in present.iter().filter(|tool| !tool.differs.is_empty()) {
        println!("note: {}: {}", tool.name, tool.differs);
    }
    let (blocks, bare, left_out) = all_blocks(&settings, &place, &present);
    let system_calls = present
        .iter()
        .filter(|tool| tool.question == ToolQuestion::WakeUps)
        .map(|tool| (tool.name, system_calls::per_wake_up(&place, tool)))
        .collect();
    let results = Results {
        tools: present,
        blocks,
        bare,
        system_calls,
    };
    let report = report::of(&results);
    report.print();
    for why in &left_out {
        println!("left out: {why}");
    }
    println!("{} of {} blocks counted", results.blocks.len(), settings.blocks);
    let absent: Vec<Value> = absent
        .iter()
        .map(|(name, why)| json!({"tool": name, "why": why}))
        .collect();
    let written = json!({
        "schema": "quietcore.bench-truth/1",
        "seed": settings.seed, "blocks": settings.blocks, "seconds": settings.seconds,
        "cpu": settings.cpu, "absent": absent, "left_out": left_out,
        "report": report.json(), "runs": runs(&results),
    });
    let path = folder.join("truth.json");
    std::fs::write(&path, format!("{written:#}\n")).map_err(XtaskError::file(&path))?;
    println!("written: {}", path.display());
    if results.blocks.is_empty() || report.lost() {
        return Err(XtaskError::Failed);
    }
    Ok(())
}

type RunBlock = BTreeMap<(&'static str, ToolDisturbance), ToolResult>;

/// All accepted blocks, the bare loop's gaps in them, and the reasons why other blocks were discarded.
fn all_blocks(
    settings: &BenchSettings,
    place: &RunLocation,
    tools: &[&'static BenchTool],
) -> (Vec<RunBlock>, Vec<InjectedDisturbance>, Vec<String>) {
    let mut random = Random::new(settings.seed);
    let (mut blocks, mut bare, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=settings.blocks {
        let order = plan(tools, &mut random);
        let bare_loop = match running::bare_loop(place, random.draw()) {
            Ok(events) => events,
            Err(why) => {
                left_out.push(format!("block {number}: {why}"));
                continue;
            }
        };
        // At the shortest length this is the cost of two switches, without the effect of a long absence on caches.
        let shortest = score::bare_excess_ns(&bare_loop, PREEMPT_NS.first().copied().unwrap_or(0));
        let switch_ns = statistics::median(&shortest).unwrap_or(0.0).max(0.0) as u64;
        let mut block = RunBlock::new();
        for (tool, what, seed) in order {
            match running::run(place, tool, what, switch_ns, seed) {
                Ok(ran) => {
                    block.insert((tool.name, what), ran);
                }
                Err(why) => left_out.push(format!("block {number}, {}, {what:?}: {why}", tool.name)),
            }
        }
        let steal = most_steal(&block);
        println!(
            "block {number} of {}: {} runs, steal {:.2} %",
            settings.blocks,
            block.len(),
            steal * 100.0
        );
        if steal > MOST_STEAL {
            left_out.push(format!(
                "block {number}: the hypervisor took {:.1} % of the CPU",
                steal * 100.0
            ));
        } else {
            blocks.push(block);
            bare.extend(bare_loop);
        }
    }
    (blocks, bare, left_out)
}

/// The runs of one block. Tools are in random order. The runs of one tool are consecutive, in random order.
fn plan(tools: &[&'static BenchTool], random: &mut Random) -> Vec<(&'static BenchTool, ToolDisturbance, u64)> {
    let mut tools = tools.to_vec();
    random.shuffle(&mut tools);
    let mut order = Vec::new();
    for tool in tools {
        let mut runs = vec![
            ToolDisturbance::Nothing,
            ToolDisturbance::Stop,
            ToolDisturbance::Preempt(0),
        ];
        if tool.question == ToolQuestion::Gaps {
            runs.extend((1..PREEMPT_GROUPS).map(ToolDisturbance::Preempt));
            runs.push(ToolDisturbance::Ipi);
            // Lengths can be distinguished by timestamps only.
            if matches!(tool.program, ToolProgram::Quietcore) {
                runs.push(ToolDisturbance::PreemptAll);
            }
        }
        random.shuffle(&mut runs);
        order.extend(runs.into_iter().map(|what| (tool, what, random.draw())));
    }
    order
}

fn most_steal(block: &RunBlock) -> f64 {
    let controls = block.iter().filter(|((_, what), _)| *what == ToolDisturbance::Nothing);
    controls.filter_map(|(_, ran)| ran.steal).fold(0.0, f64::max)
}

/// Tools that can run on this machine, and why others cannot.
fn present_tools() -> (Vec<&'static BenchTool>, Vec<(&'static str, &'static str)>) {
    let (mut present, mut absent) = (Vec::new(), Vec::new());
    for tool in TOOLS {
        match tool.program {
            ToolProgram::Peer(name, what_to_do) if !in_path(name) => absent.push((tool.name, what_to_do)),
            _ => present.push(tool),
        }
    }
    (present, absent)
}

fn in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Requests a wake-up latency of zero while the file is open. A kernel without idle states has no such file.
fn awake() -> Option<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}

fn impossible(settings: &BenchSettings) -> Option<String> {
    // SAFETY: a plain call without arguments.
    if unsafe { libc::geteuid() } != 0 {
        return Some("needs root for real-time priorities".into());
    }
    for cpu in [settings.cpu, settings.other] {
        if !Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}")).is_dir() {
            return Some(format!("needs two CPUs, and there is no CPU {cpu}"));
        }
    }
    None
}

fn settings(words: &[&str]) -> TaskResult<BenchSettings> {
    let wrong = |why: String| XtaskError::Program {
        program: "bench-truth".into(),
        why: format!("{why}; it takes --blocks N --seconds S --seed N --cpu N --other N"),
    };
    let mut settings = DEFAULT;
    for pair in words.chunks(2) {
        let [name, value] = pair else {
            return Err(wrong(format!("{} needs a number", pair.join(" "))));
        };
        let number: u64 = value.parse().map_err(|_| wrong(format!("{value} is no number")))?;
        match *name {
            "--blocks" => settings.blocks = number,
            "--seconds" => settings.seconds = number,
            "--seed" => settings.seed = number,
            "--cpu" => settings.cpu = number as usize,
            "--other" => settings.other = number as usize,
            _ => return Err(wrong(format!("{name} is unknown"))),
        }
    }
    if settings.cpu == settings.other || settings.seconds == 0 || settings.blocks == 0 {
        return Err(wrong("two different CPUs, at least one block and one second".into()));
    }
    Ok(settings)
}

fn kind(what: ToolDisturbance) -> &'static str {
    match what {
        ToolDisturbance::Nothing => "nothing",
        ToolDisturbance::Preempt(_) => "preempt",
        ToolDisturbance::PreemptAll => "preempt_all",
        ToolDisturbance::Stop => "stop",
        ToolDisturbance::Ipi => "ipi",
    }
}

/// The values of every accepted run.
fn runs(results: &Results) -> Vec<Value> {
    let mut all = Vec::new();
    for (block, runs) in results.blocks.iter().enumerate() {
        for ((tool, what), ran) in runs {
            let ToolResult { seen, events, .. } = ran;
            let bins: Vec<(u64, u64)> = seen.bins.iter().map(|bin| (bin.low_ns, bin.count)).collect();
            let lines: Vec<String> = events.iter().map(ToString::to_string).collect();
            all.push(json!({
                "block": block, "tool": tool, "disturbed_by": kind(*what),
                "duration_ns": seen.duration_ns, "expected": seen.expected, "recorded": seen.recorded,
                "missed": seen.missed, "turns": seen.iterations, "turn_min_ns": seen.iteration_min_ns,
                "on_cpu_ns": ran.between.on_cpu_ns, "voluntary_switches": ran.between.voluntary,
                "page_faults": ran.between.page_faults, "locked_kib": ran.between.locked_kib,
                "process_ns": ran.process_ns, "switch_ns": ran.switch_ns, "steal": ran.steal, "durations": bins, "injected": lines,
            }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_every_run_once_in_an_order_given_by_the_seed() {
        let tools: Vec<&'static BenchTool> = TOOLS.iter().collect();
        let names = |seed: u64| -> Vec<(&str, ToolDisturbance)> {
            let planned = plan(&tools, &mut Random::new(seed));
            planned.iter().map(|(tool, what, _)| (tool.name, *what)).collect()
        };
        assert_eq!(names(1), names(1));
        assert_ne!(names(1), names(2));
        let first = |seed: u64| names(seed).first().map(|(tool, _)| *tool);
        assert!((1..20).any(|seed| first(seed) != first(20)), "tools change places too");
        let mut all = names(3);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), names(3).len());
        let gaps = TOOLS.iter().filter(|tool| tool.question == ToolQuestion::Gaps).count();
        // Only our tool is also scored by its timestamps, with all lengths in one run.
        assert_eq!(all.len(), gaps * (3 + PREEMPT_GROUPS) + 1 + (TOOLS.len() - gaps) * 3);
    }

    #[test]
    fn settings_are_parsed_from_arguments() {
        assert_eq!(settings(&[]).ok(), Some(DEFAULT));
        let given = settings(&["--blocks", "2", "--seed", "7", "--cpu", "3"]).unwrap();
        assert_eq!((given.blocks, given.seed, given.cpu, given.other), (2, 7, 3, 0));
        for wrong in [
            &["--blocks"] as &[&str],
            &["--blocks", "x"],
            &["--what", "1"],
            &["--cpu", "0"],
        ] {
            assert!(settings(wrong).is_err(), "{wrong:?}");
        }
    }
}
