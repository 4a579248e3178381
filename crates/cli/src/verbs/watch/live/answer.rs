//! A question to `blame`, which runs as a process of its own: it has a probe, a tracer and their end to look after.

use machine::CpuId;
use root::{ProcessGroup, process};
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// How long it looks, in seconds.
const SECONDS: u32 = 5;

/// A question that is being answered.
pub struct Answer {
    cpu: CpuId,
    blame: ProcessGroup,
    said: Receiver<String>,
}

impl Answer {
    /// Asks who interrupts a CPU.
    ///
    /// # Errors
    /// A process that could not be made.
    pub fn ask(cpu: CpuId) -> std::io::Result<Answer> {
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
        let (tell, said) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What came before an error is shown.
            let _ = out.read_to_end(&mut bytes);
            let _ = tell.send(String::from_utf8_lossy(&bytes).into_owned());
        });
        Ok(Answer { cpu, blame, said })
    }

    /// What to say while it looks.
    pub fn promise(&self) -> String {
        format!(
            "blame looks at CPU {} for {SECONDS} s; its answer comes by itself",
            self.cpu.0
        )
    }

    /// Its title.
    pub fn title(&self) -> String {
        format!("blame --cpus {} --for {SECONDS}s", self.cpu.0)
    }

    /// What it said, when it has ended.
    pub fn text(&mut self) -> Option<String> {
        let text = self.said.try_recv().ok()?;
        // It has closed its output, so it ends now.
        let _ = self.blame.leader().wait();
        Some(text)
    }

    /// Ends it; it takes its tracer down itself.
    pub fn give_up(mut self) {
        process::send(self.blame.leader().id(), libc::SIGTERM);
        let _ = self.blame.leader().wait();
    }
}
