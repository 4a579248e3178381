//! Reads the trace of the kernel's `hwlat` tracer: for each sampling window with interrupts off, the longest gap above the
//! threshold.

use crate::error::{Problem, ReadError, quoted};
use crate::jitterdebugger::seconds;
use crate::lines::{InputLine, InputLines};
use crate::model::{Recording, Series, SeriesKind, Spike};
use crate::tally::{BucketBudget, Spikes, Tally, check_series};
use std::collections::BTreeMap;
use std::io::BufRead;

pub(crate) const NAME: &str = "hwlat";

const UNIT_NS: u64 = 1_000;
const MARK: &str = "inner/outer(us):";

pub fn looks_like(head: &str) -> bool {
    head.lines().any(|line| line.trim() == "# tracer: hwlat") || head.contains(MARK)
}

#[derive(Default)]
struct HwlatSeries {
    tally: Tally,
    spikes: Spikes,
    inner: u64,
}

/// Reads it. The longer of the two gaps of a line counts.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut cpus: BTreeMap<Option<u32>, HwlatSeries> = BTreeMap::new();
    let (mut room, mut nmis, mut is_hwlat) = (BucketBudget::default(), 0_u64, false);
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        let Some((before, after)) = text.split_once(MARK) else {
            is_hwlat |= text == "# tracer: hwlat";
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            return Err(line.unexpected());
        };
        let cpu = cpus.entry(cpu_of(&line, before)?).or_default();
        nmis = nmis.saturating_add(gap(&line, after, cpu, &mut room)?);
        check_series(cpus.len())?;
    }
    if cpus.is_empty() && !is_hwlat {
        return Err(ReadError::Nothing("no gap"));
    }
    let mut recording = Recording::new(NAME, "hwlat", UNIT_NS);
    for (number, cpu) in cpus {
        let series = Series::of_samples(SeriesKind::Noise, number, cpu.tally, cpu.spikes);
        if cpu.inner > 0 {
            let message = format!(
                "{} gaps were within one loop (inner), the others between two",
                cpu.inner
            );
            recording.info("inner", &series.label(), message);
        }
        recording.series.push(series);
    }
    if recording.series.is_empty() {
        recording.info("no_samples", "gaps", "no gap was above the threshold");
    }
    if nmis > 0 {
        let message = format!(
            "{nmis} non-maskable interrupts occurred during the gaps; the hardware did not cause \
             these parts"
        );
        recording.warning("nmi", "gaps", message);
    }
    recording.info(
        "longest_of_window",
        "gaps",
        "a line is the longest gap of one window, so this is not a distribution of all gaps; in a virtual machine \
         these gaps also include those of the hypervisor",
    );
    Ok(recording)
}

/// `           <...>-1729  [001] d...   678.473449: #1`
fn cpu_of(line: &InputLine, before: &str) -> Result<Option<u32>, ReadError> {
    let cpu = before.rsplit_once(']').and_then(|(start, _)| start.rsplit_once('['));
    cpu.map(|(_, cpu)| line.small(cpu.trim())).transpose()
}

/// ` 9/9 ts:1470836488.206734548 nmi-total:5 nmi-count:1 count:3`; returns the number of NMIs.
fn gap(line: &InputLine, after: &str, cpu: &mut HwlatSeries, room: &mut BucketBudget) -> Result<u64, ReadError> {
    let mut words = after.split_whitespace();
    let pair = words.next().unwrap_or_default();
    let (inner, outer) = pair
        .split_once('/')
        .ok_or_else(|| line.wrong(after, Problem::NotANumber(quoted(pair))))?;
    let (inner, outer) = (line.number(inner)?, line.number(outer)?);
    let longest = inner.max(outer);
    cpu.inner = cpu.inner.saturating_add(u64::from(inner >= outer));
    let (mut at_ns, mut nmis) = (None, 0);
    for word in words.take(16) {
        match word.split_once(':') {
            Some(("ts", at)) => {
                let place = || line.no_number(at);
                at_ns = Some(seconds(at).ok_or_else(place)?);
            }
            Some(("nmi-count", count)) => nmis = line.number(count)?,
            _ => {}
        }
    }
    let too_large = || line.too_large(pair);
    if !cpu.tally.add_exact(longest, UNIT_NS, room)? {
        return Err(too_large());
    }
    if let Some(at_ns) = at_ns {
        let duration_ns = longest.checked_mul(UNIT_NS).ok_or_else(too_large)?;
        cpu.spikes.add(Spike {
            at_ns,
            duration_ns,
            label: None,
        });
    }
    Ok(nmis)
}
