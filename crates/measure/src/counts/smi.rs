//! System management interrupts: firmware stops one CPU, or all, without the kernel's knowledge.

use super::{CountMethod, CountRow, CountValue, NotCounted, each};
use root::Root;

/// MSR_SMI_COUNT of Intel processors since Nehalem (Software Developer's Manual, volume 4).
const REGISTER: u64 = 0x34;

pub(super) const ROW: CountRow = CountRow {
    name: "smi",
    unit: "interrupts",
    source: "/dev/cpu/#/msr, register 0x34, before and after the run",
    way: CountMethod::Grown(|root, cpus| each(cpus, |cpu| read(root, &format!("/dev/cpu/{cpu}/msr")))),
};

fn read(root: &Root, path: &str) -> CountValue {
    match root.register(path, REGISTER) {
        // 32 bits count; the others are reserved.
        Ok(Some(count)) => Ok(count & 0xffff_ffff),
        Ok(None) => Err(NotCounted::NoFile {
            path: path.to_owned(),
            because: "load the kernel module msr (x86)",
        }),
        Err(error) if error.errno() == Some(libc::EIO) => {
            Err(NotCounted::Because("this processor does not count them"))
        }
        Err(error) => Err((&error).into()),
    }
}
