//! Samples the kernel's per-CPU counters, and computes the activity between two samples.
//!
//! Reads only files that do not disturb the other CPUs: `/proc/interrupts`, `/proc/softirqs`, `/proc/stat`,
//! `/proc/schedstat`, and the files of [`CloseSample`]. Never reads `/proc/cpuinfo` or `scaling_cur_freq`, which may send
//! interrupts to the measured CPU.

mod activity;
mod classes;
mod close;
mod counters;
mod interrupts;
mod row_class;
mod sample;
mod sched;

pub use activity::{Activity, CounterIncrease, CpuActivity, activity};
pub use classes::{CLASSES, Class, ClassRow};
pub use close::{CloseActivity, CloseSample, IdleStateEntries, ThreadActivity, close_up};
pub use counters::{COUNTERS, CounterDefinition, CounterFile, counter};
pub use interrupts::{CounterRow, CounterTable, parse_interrupts};
pub use row_class::{of_interrupt, of_softirq};
pub use sample::{CounterSample, timeslices};
pub use sched::{CpuTimes, parse_schedstat, parse_stat, parse_timeslices};
