//! Reads hwlatdetect's output (rt-tests), and the file of its `--report`: the settings of a run, and every sample with its
//! time. It runs the kernel's hwlat tracer; older releases loaded a module, `hwlat_detector`, with another sample format.
//!
//! Sources: hwlatdetect.py of rt-tests, the module `hwlat_detector` of the RT patches, `Documentation/trace/hwlat_detector.rst`.

use crate::error::ReadError;
use crate::jitterdebugger::seconds;
use crate::lines::{InputLine, InputLines};
use crate::model::{Recording, Series, SeriesKind, Spike};
use crate::tally::{BucketBudget, Spikes, Tally};
use std::io::BufRead;

pub(crate) const NAME: &str = "hwlatdetect";

const UNIT_NS: u64 = 1_000;
const HEAD: &str = "hwlatdetect:";

/// Settings that become facts, under the tool's names.
const SETTINGS: [&str; 6] = [
    "detector",
    "Latency threshold",
    "Sample window",
    "Sample width",
    "Non-sampling period",
    "MTBF",
];

pub fn looks_like(head: &str) -> bool {
    head.lines()
        .any(|line| line.starts_with(HEAD) || of_tracer(line.trim()).is_some())
}

/// The run's own statements.
#[derive(Default)]
struct HwlatdetectRun {
    has_duration: bool,
    threshold: Option<String>,
    window: Option<String>,
    width: Option<String>,
    recorded: Option<u64>,
    max_ns: Option<u64>,
    smis: Option<u64>,
    smis_unreadable: bool,
}

/// The samples in file order.
struct HwlatdetectSamples {
    tally: Tally,
    spikes: Spikes,
    room: BucketBudget,
    longest_ns: u64,
}

/// Reads it. The longer of the two gaps of a sample counts, as in the tool itself.
pub fn read(input: &mut dyn BufRead) -> Result<Recording, ReadError> {
    let mut recording = Recording::new(NAME, "hwlatdetect", UNIT_NS);
    let mut run = HwlatdetectRun::default();
    let mut samples = HwlatdetectSamples {
        tally: Tally::default(),
        spikes: Spikes::default(),
        room: BucketBudget::default(),
        longest_ns: 0,
    };
    let mut is_known = false;
    let mut lines = InputLines::of(input);
    while let Some(line) = lines.next()? {
        let text = line.text.trim();
        is_known |= text.starts_with(HEAD);
        if let Some((at, gaps)) = of_tracer(text) {
            let at_ns = seconds(at).ok_or_else(|| line.no_number(at))?;
            samples.add(&line, at_ns, &gaps)?;
        } else if text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains(" occured on cpu ") {
            let (at_ns, gaps) = of_module(&line, text)?;
            samples.add(&line, at_ns, &gaps)?;
        } else if text.starts_with("ts:") {
            return Err(line.unexpected());
        } else {
            run.take(&line, text, &mut recording)?;
        }
    }
    if !is_known && samples.spikes.seen() == 0 {
        return Err(ReadError::Nothing("neither a head nor a sample"));
    }
    notes(&mut recording, &run, &samples);
    recording.series.push(series(&run, samples));
    Ok(recording)
}

/// `ts: 1646837340.346151918, inner:5, outer:9` of the tracer: the time and both gaps.
fn of_tracer(text: &str) -> Option<(&str, [&str; 2])> {
    let mut parts = text.strip_prefix("ts:")?.split(',').map(str::trim);
    let at = parts.next()?;
    let inner = parts.next()?.strip_prefix("inner:")?;
    let outer = parts.next()?.strip_prefix("outer:")?;
    Some((at, [inner, outer]))
}

/// `1408928107.0286324723<TAB>18<TAB>17` of the module: seconds, nanoseconds with ten digits, and one gap or both.
fn of_module<'a>(line: &InputLine<'a>, text: &'a str) -> Result<(u64, Vec<&'a str>), ReadError> {
    let mut words = text.split_whitespace();
    let at = words.next().unwrap_or_default();
    let gaps: Vec<&str> = words.take(3).collect();
    if gaps.is_empty() || gaps.len() > 2 {
        return Err(line.columns(text, gaps.len() + 1, 3));
    }
    let (whole, rest) = at.split_once('.').unwrap_or((at, "0"));
    let (whole, rest) = (line.time(whole, 1_000_000_000)?, line.number(rest)?);
    Ok((line.add(at, whole, rest)?, gaps))
}

impl HwlatdetectSamples {
    fn add(&mut self, line: &InputLine, at_ns: u64, gaps: &[&str]) -> Result<(), ReadError> {
        let (mut longest, mut word) = (0, line.text);
        for &gap in gaps {
            let units = line.number(gap)?;
            if units >= longest {
                (longest, word) = (units, gap);
            }
        }
        let duration_ns = line.time(word, UNIT_NS)?;
        if !self.tally.add_exact(longest, UNIT_NS, &mut self.room)? {
            return Err(line.too_large(word));
        }
        self.longest_ns = self.longest_ns.max(duration_ns);
        self.spikes.add(Spike {
            at_ns,
            duration_ns,
            label: None,
        });
        Ok(())
    }
}

impl HwlatdetectRun {
    /// A line that is not a sample. Other output of the tool, or of the programs that it starts, is ignored.
    fn take(&mut self, line: &InputLine, text: &str, recording: &mut Recording) -> Result<(), ReadError> {
        self.smis_unreadable |= text.starts_with("rdmsr:");
        let Some((name, value)) = text.split_once(':').map(|(name, value)| (name, value.trim())) else {
            return Ok(());
        };
        match name {
            "hwlatdetect" => {
                let Some(length) = value.strip_prefix("test duration ") else {
                    return Ok(());
                };
                if std::mem::replace(&mut self.has_duration, true) {
                    return Err(line.out_of_order(text));
                }
                recording.fact("test duration", length);
            }
            "Max Latency" => {
                let number = value.strip_suffix("us").map(|number| line.time(number, UNIT_NS));
                self.max_ns = number.transpose()?.filter(|ns| *ns > 0);
            }
            "Samples recorded" => self.recorded = Some(line.number(value)?),
            "SMIs during run" => {
                self.smis = Some(line.number(value)?);
                recording.fact(&name.to_lowercase(), value);
            }
            name if SETTINGS.contains(&name) && recording.facts.len() < 16 => {
                match name {
                    "Latency threshold" => self.threshold = Some(value.to_owned()),
                    "Sample window" => self.window = Some(value.to_owned()),
                    "Sample width" => self.width = Some(value.to_owned()),
                    _ => {}
                }
                recording.fact(&name.to_lowercase(), value);
            }
            _ => {}
        }
        Ok(())
    }
}

fn series(run: &HwlatdetectRun, samples: HwlatdetectSamples) -> Series {
    let seen = samples.spikes.seen();
    let mut series = Series::new(SeriesKind::Noise);
    series.unit_ns = UNIT_NS;
    series.buckets = samples.tally.buckets();
    series.spikes = samples.spikes.in_order();
    series.stated.count = run.recorded;
    series.stated.max_ns = run.max_ns;
    // The length of the measurement is not stated. Only a part of each window was watched, and only its longest gap is
    // known, so neither a rate nor a sum can be computed.
    // Omitted samples may have had any length.
    series.overflow = run.recorded.is_none_or(|recorded| recorded <= seen).then_some(0);
    series
}

fn notes(recording: &mut Recording, run: &HwlatdetectRun, samples: &HwlatdetectSamples) {
    let seen = samples.spikes.seen();
    match run.recorded {
        Some(recorded) if recorded > seen => {
            let message = format!(
                "{seen} of {recorded} samples are in this file: of the others only the largest is known (--report \
                 writes them into another file)"
            );
            recording.warning("rows_omitted", "samples", message);
        }
        Some(recorded) if recorded < seen => {
            let message = format!("{seen} samples are in the file, which states {recorded}");
            recording.error("sums_differ", "samples", message);
        }
        _ if run.max_ns.is_some_and(|max_ns| max_ns < samples.longest_ns) => {
            recording.error(
                "sums_differ",
                "samples",
                "a sample is longer than the largest that the file states",
            );
        }
        _ => {}
    }
    if seen == 0 && run.recorded.unwrap_or(0) == 0 {
        let threshold = run.threshold.as_deref().unwrap_or("the threshold");
        let message = format!("no gap was above {threshold}: shorter ones were not recorded");
        recording.info("no_samples", "samples", message);
    }
    if let Some(smis) = run.smis.filter(|smis| *smis > 0) {
        let message = format!(
            "{smis} system management interrupts occurred during the run: they run firmware, and the kernel can \
             neither mask nor trace them"
        );
        recording.warning("smi", "SMIs", message);
    }
    if run.smis_unreadable {
        recording.warning(
            "smi_unreadable",
            "SMIs",
            "rdmsr could not read the counter of system management interrupts, so a count of 0 shows nothing",
        );
    }
    let watched = match (&run.width, &run.window) {
        (Some(width), Some(window)) => format!("{width} of each {window}"),
        _ => "a part of each window".to_owned(),
    };
    let message = format!(
        "a sample is the longest gap of one window, and the tool watched {watched}: this is not a distribution of all \
         gaps, and shows nothing about the rest of the time; the file does not state the CPUs; in a virtual machine \
         these gaps also include those of the hypervisor"
    );
    recording.info("longest_of_window", "samples", message);
}
