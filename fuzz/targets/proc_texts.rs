//! Small texts of the kernel and the command line: `/proc/cpuinfo`, thread times, trace statistics, temperatures, file
//! owners, durations, requirements.

use super::{FuzzTarget, owned, text};
use formats::requirement::Requirement;
use machine::topology::parse_cpuinfo;
use machine::{parse_duration, temperatures};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "proc_texts",
    seeds: || {
        owned(&[
            "processor\t: 0\nmodel name\t: x\nphysical id\t: 0\ncore id\t\t: 1\nflags\t\t: fpu hypervisor\n\nprocessor\t: 4294967295\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
            "entries: 129\noverrun: 0\ncommit overrun: 0\nbytes: 8832\noldest event ts:  7164.371000\nnow ts:  7164.467000\ndropped events: 0\nread events: 18446744073709551615\n",
            "version 15\ncpu0 1 2 3 4 5 6 7 8 18446744073709551616\n",
            "47000",
            "0:0 644",
            "1.5ms",
            "99999999999999999999h",
            "latency p99.99",
            "p99.999999999999999999999999",
        ])
    },
    run: |bytes| {
        let text = text(bytes);
        let _ = parse_cpuinfo(&text).online();
        let _ = observe::parse_timeslices(&text);
        let _ = trace::Stats::parse(&text).lost();
        let _ = temperatures::parse_millidegrees(&text);
        let _ = root::Ownership::parse(&text);
        let _ = events::dat::comms(&text);
        let _ = boot::isolated_by(&text);
        let _ = parse_duration(&text);
        let _ = Requirement::new(&text, &text, 1);
    },
};
