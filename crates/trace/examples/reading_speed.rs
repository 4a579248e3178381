//! What taking pages out of the kernel's buffer costs, by each way: a buffer of CPU 0 is filled with marks and emptied, again
//! and again, mapped, read, and moved to a file. Prints the median of nanoseconds for each page. Needs root.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // No part of the product.

use machine::CpuId;
use root::{Root, Tracefs};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;
use trace::{Recorder, Spooler, Stays, Way, catalogue};

const ROUNDS: usize = 15;
const MARKS: usize = 30_000;

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
    let mut costs = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for (way, costs) in costs.iter_mut().enumerate() {
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("buffer_size_kb"), "8192").unwrap();
            let fill = || {
                let mut marker = fs::OpenOptions::new()
                    .write(true)
                    .open(dir.join("trace_marker"))
                    .unwrap();
                (0..MARKS).for_each(|_| marker.write_all(&[b'x'; 100]).unwrap());
            };
            let (pages, ns) = match way {
                0 | 1 => {
                    let way = if way == 0 { Way::Best } else { Way::Read };
                    let mut recorder =
                        Recorder::open(path, &cpus, layout, 64 << 20, Stays::First, way).unwrap();
                    fill();
                    let begun = Instant::now();
                    let taken = recorder.drain().unwrap();
                    (taken / layout.page_len, begun.elapsed().as_nanos())
                }
                2 => {
                    let beside = std::env::temp_dir().join("reading-speed");
                    let mut spooler = Spooler::open(path, &cpus, layout, &beside).unwrap();
                    fill();
                    let begun = Instant::now();
                    spooler.drain().unwrap();
                    let ns = begun.elapsed().as_nanos();
                    let len = spooler.finish(&root, path).unwrap().first().unwrap().spool.len();
                    (usize::try_from(len).unwrap() / layout.page_len, ns)
                }
                // A look at a buffer in which nothing is new, as most looks are.
                _ => {
                    let mut recorder =
                        Recorder::open(path, &cpus, layout, 64 << 20, Stays::First, Way::Best).unwrap();
                    let begun = Instant::now();
                    (0..1_000).for_each(|_| assert_eq!(recorder.drain().unwrap(), 0));
                    (1_000, begun.elapsed().as_nanos())
                }
            };
            costs.push(ns as f64 / pages as f64);
            fs::remove_dir(&dir).unwrap();
        }
    }
    for (name, costs) in ["mapped", "read", "to a file", "mapped, nothing new"]
        .iter()
        .zip(&mut costs)
    {
        costs.sort_by(f64::total_cmp);
        println!("{name}: {:.0} ns a page", costs[ROUNDS / 2]);
    }
}
