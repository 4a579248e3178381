//! Formats a culprit: the thread or interrupt, and the chain from there to the CPU.

use crate::style::{grouped, safe};
use ::blame::{Culprit, Link};

/// `by java[4711] on CPU 0 at do_munmap+0x1f`, `through irq 36 virtio1 on CPU 0`.
pub(crate) fn by(culprit: &Culprit) -> String {
    let name = match (culprit.pid, &culprit.via) {
        (_, Some(via)) => format!("through {}", safe(via)),
        (0, None) => "by the idle loop".to_owned(),
        (_, None) if culprit.threads > 1 => {
            format!("by {}, {} threads,", safe(&culprit.comm), grouped(culprit.threads))
        }
        (pid, None) => format!("by {}[{pid}]", safe(&culprit.comm)),
    };
    let at = culprit
        .callsite
        .as_ref()
        .map_or(String::new(), |place| format!(" at {}", safe(place)));
    match culprit.chain.as_slice() {
        [] => format!("{name} on CPU {}{at}", culprit.cpu),
        chain => format!("by {}{at}", way(culprit, chain)),
    }
}

/// `fio[12] on CPU 3 -> disk write -> irq 45 nvme0q3 on CPU 7`.
fn way(culprit: &Culprit, chain: &[Link]) -> String {
    let mut links = Vec::new();
    for link in chain {
        let what = safe(&link.what);
        match (link.comm.as_str(), link.pid) {
            ("", 0) => links.push(format!("{what} on CPU {}", link.cpu)),
            (comm, pid) => {
                links.push(match culprit.threads {
                    0 | 1 => format!("{}[{pid}] on CPU {}", safe(comm), link.cpu),
                    threads => format!("{}, {} threads, on CPU {}", safe(comm), grouped(threads), link.cpu),
                });
                links.extend((!what.is_empty()).then_some(what));
            }
        }
    }
    links.join(" -> ")
}
