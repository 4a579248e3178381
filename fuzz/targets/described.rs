//! Files that describe a run of `measure`, in quietcore's own format and in that of systress.

use super::{FuzzTarget, owned};
use measure::configuration::parse;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "described",
    seeds: || {
        let mut seeds = owned(&[
            "duration = \"10s\"\n[[latency]]\ncpus = \"2-3\"\npolicy = \"fifo:80\"\ninterval = \"1ms\"\n[[load]]\nkind = \"memory\"\n[[program]]\ncommand = [\"a\", \"b\"]\ncpus = \"1\"\nafter_success = \"respawn\"\n",
            "[[noise]]\ncpus = \"all\"\nthreshold = \"5us\"\n",
        ]);
        seeds.extend(SYSTRESS.iter().map(|file| file.as_bytes().to_vec()));
        seeds
    },
    run: |bytes| {
        if let Ok(described) = parse(bytes) {
            assert!(!described.samplers.is_empty());
        }
    },
};

const SYSTRESS: &[&str] = &[
    include_str!("../../fixtures/systress/host.cfg"),
    include_str!("../../fixtures/systress/host2.cfg"),
    include_str!("../../fixtures/systress/rpi_isolcpus.cfg"),
];
