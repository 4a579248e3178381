//! Draws the progress bar of a measurement on standard error, if that is a terminal.

use crate::{Screen, Volume};
use indicatif::{ProgressDrawTarget, ProgressStyle};
use machine::Nanos;
use measure::{MeasureError, Measurement, Progress};
use root::Failure;
use std::io::IsTerminal;

/// Whether progress is drawn: not when quiet, and only where standard error is a terminal.
pub(crate) fn is_drawn(screen: &Screen) -> bool {
    screen.volume != Volume::Quiet && std::io::stderr().is_terminal()
}

/// The bar.
pub struct ProgressBar(indicatif::ProgressBar);

impl ProgressBar {
    /// A bar without progress, hidden unless it [`is_drawn`].
    pub fn new(screen: &Screen) -> ProgressBar {
        let target = match is_drawn(screen) {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = indicatif::ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{prefix}{bar:30} {percent:>3} %  {msg}") {
            bar.set_style(style);
        }
        ProgressBar(bar)
    }

    /// A bar behind the name of a step.
    pub fn named(name: &str, screen: &Screen) -> ProgressBar {
        let bar = ProgressBar::new(screen);
        bar.0.set_prefix(format!("  {name:<26} "));
        bar
    }

    /// Shows the progress.
    pub fn show(&self, progress: &Progress) {
        self.0.set_length(progress.planned_ns / 1_000_000);
        self.0.set_position(progress.elapsed_ns / 1_000_000);
        let worst = progress.threads.iter().filter_map(|thread| thread.max_ns).max();
        let recorded: u64 = progress.threads.iter().map(|thread| thread.recorded).sum();
        self.0
            .set_message(worst.map_or_else(String::new, |ns| format!("{recorded} samples, largest {}", Nanos(ns))));
    }

    /// Removes it from the terminal.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Measures with a progress bar.
pub fn with_progress(
    screen: &Screen,
    measure: impl FnOnce(&mut dyn FnMut(&Progress)) -> Result<Measurement, MeasureError>,
) -> Result<Measurement, Failure> {
    let bar = ProgressBar::new(screen);
    let result = measure(&mut |progress: &Progress| bar.show(progress));
    bar.clear();
    Ok(result?)
}
