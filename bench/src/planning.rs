//! Measures the time to plan for a large machine, and to check a boot line without a machine.

use crate::speed::{measured, ms, with};
use std::path::Path;
use xtask::error::TaskResult;

/// A long boot line. The kernel's limit on x86 is 2,048 bytes, and distributions use a tenth of it.
fn long_line() -> String {
    let mut line = "isolcpus=managed_irq,domain,2-63 nohz_full=2-63 rcu_nocbs=2-63 irqaffinity=0-1".to_owned();
    for number in 0..120 {
        line.push_str(&format!(" module{number}.option=value"));
    }
    line
}

/// Prints the fastest of several runs of each.
pub(crate) fn run(binary: &Path, large: &Path) -> TaskResult {
    let large = large.display().to_string();
    let line = long_line();
    let runs: [(&str, usize, Vec<&str>); 4] = [
        (
            "plan --count 16 of 1,024 CPUs (limit 1000)",
            3,
            vec!["plan", "--root", &large, "--count", "16"],
        ),
        (
            "plan --cpus 512-1023",
            3,
            vec!["plan", "--root", &large, "--cpus", "512-1023"],
        ),
        (
            "explain --cmdline, 3,000 letters (limit 10)",
            20,
            vec!["explain", "--kernel", "6.12", "--cmdline", &line],
        ),
        ("explain rq_affinity", 20, vec!["explain", "rq_affinity"]),
    ];
    println!("planning and explaining, the fastest of several runs:");
    for (name, times, words) in runs {
        let mut best = None;
        for _ in 0..times {
            let cost = measured(&mut with(binary, &words))?;
            if best.as_ref().is_none_or(|(wall, _)| cost.wall < *wall) {
                best = Some((cost.wall, cost.peak_kib));
            }
        }
        if let Some((wall, peak_kib)) = best {
            println!("{name:<46} {:>8.1} ms {:>7.1} MiB", ms(wall), peak_kib as f64 / 1024.0);
        }
    }
    Ok(())
}
