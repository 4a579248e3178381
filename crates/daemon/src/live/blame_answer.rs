//! Runs `blame` as a separate process for the view, because it must clean up its own probe and tracer.

use machine::CpuId;
use root::{ProcessGroup, process};
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// How long it measures, in seconds.
const SECONDS: u32 = 5;

/// A running `blame`.
pub(super) struct BlameAnswer {
    cpu: CpuId,
    blame: ProcessGroup,
    output: Receiver<String>,
}

impl BlameAnswer {
    /// Starts `blame` for a CPU.
    ///
    /// # Errors
    /// The process could not be created.
    pub(super) fn start(cpu: CpuId) -> std::io::Result<BlameAnswer> {
        let (mut out, end) = std::io::pipe()?;
        let blame = ProcessGroup::start(
            Command::new("/proc/self/exe")
                .args([
                    "--color",
                    "never",
                    "blame",
                    "--cpus",
                    &cpu.0.to_string(),
                    "--for",
                    &format!("{SECONDS}s"),
                ])
                .stdin(Stdio::null())
                .stdout(end.try_clone()?)
                .stderr(end),
        )?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // Output before an error is shown.
            let _ = out.read_to_end(&mut bytes);
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        });
        Ok(BlameAnswer { cpu, blame, output })
    }

    /// The text to show while it measures.
    pub(super) fn promise(&self) -> String {
        format!(
            "blame watches CPU {} for {SECONDS} s; its result appears here",
            self.cpu.0
        )
    }

    /// Its title.
    pub(super) fn title(&self) -> String {
        format!("blame --cpus {} --for {SECONDS}s", self.cpu.0)
    }

    /// Its output, once it has ended.
    pub(super) fn text(&mut self) -> Option<String> {
        let text = self.output.try_recv().ok()?;
        // It has closed its output, so it is about to exit.
        let _ = self.blame.leader().wait();
        Some(text)
    }

    /// Stops it; it removes its tracer itself.
    pub(super) fn stop(mut self) {
        process::send(self.blame.leader().id(), libc::SIGTERM);
        let _ = self.blame.leader().wait();
    }
}
