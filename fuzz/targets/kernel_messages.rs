//! Messages of kernel sockets: the process connector, uevents, links.

use super::FuzzTarget;
use watch::drift::{Notification, link, processes, uevent};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "kernel_messages",
    seeds: || {
        let mut fork = vec![0; 36];
        fork.extend(1_u32.to_ne_bytes());
        fork.extend([0; 12]);
        fork.extend([10_u32, 10, 12, 11].iter().flat_map(|word| word.to_ne_bytes()));
        let mut address = 20_u32.to_ne_bytes().to_vec();
        address.extend(20_u16.to_ne_bytes());
        address.extend([0; 14]);
        let device = b"offline@/devices/system/cpu/cpu1\0ACTION=offline\0SEQNUM=7\0".to_vec();
        vec![fork, address, device, b"libudev\0\xfe\xed\xca\xfe".to_vec()]
    },
    run: |bytes| {
        let _ = (processes(bytes), link(bytes));
        if let Some(Notification::Device { action, path }) = uevent(bytes) {
            assert!(action.len() + path.len() < bytes.len() + 1 && path.starts_with('/'));
        }
    },
};
