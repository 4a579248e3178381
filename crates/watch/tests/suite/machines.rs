//! Screens of generated machines: many CPUs, some of them offline, a partition. The recording of two CPUs is
//! distributed over them.

use crate::support::drawn::{cells, now, recording, screen, text};
use machine::{CpuId, CpuSet};
use report::Style;
use watch::{Glyphs, KeyPress, ViewState, WatchRecording, press};

/// A machine with this many CPUs. The last CPU of the partition is offline.
fn machine(cpus: u32, isolated: &str) -> WatchRecording {
    let mut recording = recording();
    let isolated = CpuSet::parse_list(isolated).unwrap();
    let offline = CpuSet::range(cpus - 1, cpus - 1);
    let online = CpuSet::range(0, cpus - 2);
    for moment in &mut recording.moments {
        let recorded = std::mem::take(&mut moment.activity.cpus);
        moment.activity.cpus = online
            .iter()
            .map(|cpu| {
                let from = usize::from(isolated.contains(cpu));
                let mut one = recorded[from].clone();
                one.cpu = cpu;
                // All CPUs differ, and most of the isolated ones are quiet.
                let share = if from == 0 { u64::from(cpu.0) + 1 } else { 50 };
                one.interrupts
                    .iter_mut()
                    .for_each(|row| row.count = row.count.div_ceil(share));
                one
            })
            .collect();
        if let Some(scene) = &mut moment.scene {
            scene.online = online.clone();
            scene.offline = offline.clone();
            "partition rt".clone_into(&mut scene.said_by);
            for (place, seen) in scene.findings.iter_mut().enumerate() {
                let cpu = isolated.iter().nth(place).unwrap_or(CpuId(0));
                seen.cpus = CpuSet::range(cpu.0, cpu.0);
            }
            scene.isolated = isolated.clone();
        }
    }
    recording
}

#[test]
fn screens_of_machines_with_many_cpus_match_the_golden_files() {
    for (cpus, isolated) in [(64, "32-63"), (1024, "16-1023")] {
        let recording = machine(cpus, isolated);
        let now = now(&recording, Glyphs::Blocks);
        for size in [(80, 24), (120, 40)] {
            let seen = text(&cells(&now, &ViewState::default(), size, Style::Plain));
            screen(&format!("{}x{}-{cpus}-cpus.txt", size.0, size.1), &seen);
        }
        // The last CPU, which is offline, can be selected.
        let mut view = ViewState::default();
        press(&mut view, KeyPress::Char('1'), &now);
        press(&mut view, KeyPress::Char('a'), &now);
        for _ in 0..cpus.div_ceil(8) {
            press(&mut view, KeyPress::PageDown, &now);
        }
        let seen = text(&cells(&now, &view, (80, 24), Style::Plain));
        let last = format!("{:>4} off", cpus - 1);
        assert!(seen.lines().any(|line| line.contains(&last)), "{last:?} in\n{seen}");
    }
}
