//! The state that a daemon saves for the next one: its findings, and their change when the next daemon finds the same
//! or nothing.

use super::{FuzzTarget, owned};
use watch::drift::{Layers, Ledger, of_change, text};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "watch_state",
    seeds: || {
        owned(&[
            r#"{"standing":[{"id":"irq-on-isolated","subject":"irq 36","partition":"rt","layer":"interrupts","level":"error","message":"m","fix":"f","knob":null,"since_s":5,"seen_s":18446744073709551615,"by":[{"pid":7,"comm":"a\n","wrote":"/proc/irq/36/smp_affinity"}]}],"more":3}"#,
            r#"{"standing":[],"more":0}"#,
        ])
    },
    run: |bytes| {
        let Ok(mut ledger) = serde_json::from_slice::<Ledger>(bytes) else {
            return;
        };
        let found = ledger.standing.clone();
        let _ = ledger.drift_age_s("rt", 1);
        for (found, now_s) in [(found, 0), (Vec::new(), u64::MAX)] {
            for change in ledger.update(found, Layers::all(), now_s, &[]) {
                let line = text(&of_change(&change, now_s));
                assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            }
        }
    },
};
