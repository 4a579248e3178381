//! Writes the file of one sampler's statistics in the requested format.

use measure::Measurement;
use measure::configuration::ConfiguredSampler;
use root::{Failure, Status, output};
use std::path::Path;

/// Writes the results of the threads of one sampler.
///
/// # Errors
/// A format that does not exist, or a file that cannot be written.
pub fn write(
    result: &Measurement,
    own: impl Fn(usize) -> bool,
    sampler: &ConfiguredSampler,
    usual: &str,
    file: &Path,
) -> Result<(), Failure> {
    let mut alone = result.clone();
    let mut place = 0;
    alone.threads.retain(|_| {
        place += 1;
        own(place - 1)
    });
    let format = sampler.format.as_ref().map_or(usual, |format| format.value.as_str());
    let text = match format {
        "json" => serde_json::to_string(&alone).map_err(|error| bug(&error.to_string()))? + "\n",
        "systress" => formats::systress_file(alone, sampler.index, sampler.histogram),
        other => {
            let writer = formats::writer(other).ok_or_else(|| bug(other))?;
            writer(&formats::of_measurement(alone))
        }
    };
    output::write(file, text.as_bytes()).map_err(|error| Failure {
        status: Status::Failed,
        what: format!("the statistics of {} were not written", sampler.name.value),
        ..error.into()
    })
}

/// The supported formats.
pub fn names() -> Vec<&'static str> {
    let foreign = formats::writers().map(|format| format.name);
    std::iter::once("json").chain(foreign).collect()
}

fn bug(why: &str) -> Failure {
    Failure::bug("the statistics could not be written", why)
}
