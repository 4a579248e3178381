//! What taking pages out of the kernel's buffer costs, by each way: a buffer of CPU 0 is filled with marks and emptied, again
//! and again: mapped, read, and moved to a file; then looked at when a few marks are new, and when nothing is. Prints the
//! median of nanoseconds for each page, or look. Needs root.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // No part of the product.

use machine::CpuId;
use root::{Root, Tracefs};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;
use trace::{DrainEnd, PageAccess, PageMemory, Recorder, Spooler, catalogue};

const ROUNDS: usize = 15;
const MARKS: usize = 30_000;
const POLLS: usize = 1_000;

fn main() {
    let tracefs = Tracefs::find().unwrap().unwrap();
    root::sched::set_affinity(0, &[1]).unwrap();
    let root = Root::live();
    let layout = catalogue(&root, &tracefs.file("."), &["sched/sched_switch"])
        .unwrap()
        .layout;
    let dir = PathBuf::from(tracefs.file("instances/reading-speed"));
    let path = dir.to_str().unwrap();
    let cpus = [CpuId(0)];
    let memory = PageMemory {
        undelivered_bytes: 64 << 20,
        kept_pages: 0,
    };
    let mut costs = [const { Vec::new() }; 7];
    for _ in 0..ROUNDS {
        for (case, costs) in costs.iter_mut().enumerate() {
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("buffer_size_kb"), "8192").unwrap();
            let mut marker = fs::OpenOptions::new()
                .write(true)
                .open(dir.join("trace_marker"))
                .unwrap();
            let mut fill = |marks| (0..marks).for_each(|_| marker.write_all(&[b'x'; 100]).unwrap());
            let way = if case % 2 == 0 {
                PageAccess::Mapped
            } else {
                PageAccess::Read
            };
            let (pages, ns) = match case {
                0 | 1 => {
                    let mut recorder = Recorder::open(path, &cpus, layout, memory, way).unwrap();
                    fill(MARKS);
                    let start = Instant::now();
                    assert_eq!(recorder.drain(|| 0).unwrap(), DrainEnd::Empty);
                    (recorder.waiting() / layout.page_len, start.elapsed().as_nanos())
                }
                // A look at a buffer in which nothing is new, or little.
                2..6 => {
                    let marks = if case < 4 { 5 } else { 0 };
                    let mut recorder = Recorder::open(path, &cpus, layout, memory, way).unwrap();
                    let mut look = || {
                        fill(marks);
                        let start = Instant::now();
                        recorder.drain(|| 0).unwrap();
                        start.elapsed().as_nanos()
                    };
                    (POLLS, (0..POLLS).map(|_| look()).sum())
                }
                _ => {
                    let beside = std::env::temp_dir().join("reading-speed");
                    let mut spooler = Spooler::open(path, &cpus, layout, &beside).unwrap();
                    fill(MARKS);
                    let start = Instant::now();
                    spooler.drain().unwrap();
                    let ns = start.elapsed().as_nanos();
                    let len = spooler.finish(&root, path).unwrap().first().unwrap().spool.len();
                    (usize::try_from(len).unwrap() / layout.page_len, ns)
                }
            };
            costs.push(ns as f64 / pages as f64);
            drop(marker);
            fs::remove_dir(&dir).unwrap();
        }
    }
    let names = [
        "mapped",
        "read",
        "mapped, five new events",
        "read, five new events",
        "mapped, nothing new",
        "read, nothing new",
        "to a file",
    ];
    for (name, costs) in names.iter().zip(&mut costs) {
        costs.sort_by(f64::total_cmp);
        println!("{name}: {:.0} ns", costs[ROUNDS / 2]);
    }
}
