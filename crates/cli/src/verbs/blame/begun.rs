//! The line that says when the watch has begun: who starts `blame` in the background and then what shall be watched has to
//! know when that may begin, because making a trace and a probe takes from milliseconds to seconds.

use crate::Screen;
use machine::CpuSet;
use std::io::IsTerminal as _;

/// Says it on standard error, unless quiet. On a terminal the bar shows it.
pub fn say(screen: &Screen, cpus: &CpuSet) {
    if !std::io::stderr().is_terminal() {
        screen.note(&format!("CPU {cpus} is watched from now on\n"));
    }
}
