//! Runs ssh as a process with pipes: one command there from start to end, or a session of frames. Every operation has a time
//! limit, and nothing is asked on a terminal.

use super::messages::{BoardReply, BoardRequest};
use crate::child_output::{ChildOutput, next_part};
use guest::frames::Frames;
use root::Failure;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A signal that arrives just before we wait is noticed after this time.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The exit status of ssh's own failures (ssh(1)).
const OWN_FAILURE: i32 = 255;

/// Disables prompts and forwarding. Requests no keep-alive traffic, because a CPU is measured during the link. Options of
/// `--ssh` come first, and so win.
const OPTIONS: [&str; 11] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "ForwardAgent=no",
    "-o",
    "ForwardX11=no",
];

/// How a machine is reached.
#[derive(Clone, Debug)]
pub struct Ssh {
    /// Shell words that start the command.
    pub words: String,
    /// Its host name.
    pub host: String,
}

/// Why the link has ended.
#[derive(Clone, Debug)]
pub enum LinkFailure {
    /// The link failed, with the message of ssh; it may work again later.
    Link(String),
    /// The program there ended by itself, with this status and message.
    Program(i32, String),
    /// We were stopped.
    Stopped,
    /// Anything else.
    Failed(Failure),
}

impl From<Failure> for LinkFailure {
    fn from(error: Failure) -> LinkFailure {
        LinkFailure::Failed(error)
    }
}

/// The output of a finished command.
pub struct CommandOutput {
    /// Its standard output.
    pub out: String,
    /// The first lines of its standard error, or of ssh's.
    pub error_lines: String,
    /// Its exit status.
    pub code: Option<i32>,
}

impl Ssh {
    /// Runs a command there with this input. It may be silent for up to this time.
    ///
    /// # Errors
    /// The link failed, or we were stopped.
    pub fn run(
        &self,
        line: &str,
        input: &[u8],
        silence: Duration,
        stop: &AtomicBool,
    ) -> Result<CommandOutput, LinkFailure> {
        let mut child = self.start(line)?;
        let pipe = child.stdin.take();
        let mut out = Vec::new();
        let received = std::thread::scope(|scope| {
            // The input is larger than a pipe's buffer, and output must be read at the same time.
            scope.spawn(move || {
                if let Some(mut pipe) = pipe {
                    let _ = pipe.write_all(input);
                }
            });
            let received = until_closed(&mut child, silence, stop, &mut out);
            if received.is_err() {
                // The pipe closes with the child, which ends the thread.
                let _ = child.kill();
            }
            received
        });
        let (errors, code) = collect_end(&mut child);
        received?;
        match code {
            Some(OWN_FAILURE) => Err(LinkFailure::Link(errors)),
            _ => Ok(CommandOutput {
                out: String::from_utf8_lossy(&out).into_owned(),
                error_lines: errors,
                code,
            }),
        }
    }

    /// Starts a session of frames.
    ///
    /// # Errors
    /// ssh cannot be started.
    pub fn session(&self, line: &str) -> Result<LinkSession, LinkFailure> {
        let mut child = self.start(line)?;
        Ok(LinkSession {
            input: child.stdin.take(),
            child,
            frames: Frames::default(),
        })
    }

    fn start(&self, line: &str) -> Result<Child, Failure> {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("exec {} \"$@\"", self.words), "ssh"])
            .args(OPTIONS)
            .args([&self.host, line])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C on the terminal is for us only: results are fetched first.
        command.process_group(0);
        command.spawn().map_err(|error| {
            Failure::unable(
                "ssh cannot be started",
                error,
                "install it (openssh-client), or set another program with --ssh",
            )
        })
    }
}

/// The result of waiting.
pub enum LinkEvent {
    /// A message.
    Reply(BoardReply),
    /// No message in this time.
    Nothing,
}

/// A session of frames. Dropping it ends ssh.
pub struct LinkSession {
    child: Child,
    input: Option<ChildStdin>,
    frames: Frames,
}

impl LinkSession {
    /// Sends a request.
    ///
    /// # Errors
    /// The link failed.
    pub fn send(&mut self, request: &BoardRequest) -> Result<(), LinkFailure> {
        let input = self.input.as_mut();
        let written = input.map_or(Ok(()), |input| {
            input.write_all(&request.frame()).and_then(|()| input.flush())
        });
        written.map_err(|error| self.broken(error.to_string()))
    }

    /// Waits briefly for a message.
    ///
    /// # Errors
    /// The link or the program there has ended.
    pub fn receive(&mut self) -> Result<LinkEvent, LinkFailure> {
        let start = Instant::now();
        loop {
            while let Some((name, body)) = self.frames.take() {
                if let Some(reply) = BoardReply::of(&name, body) {
                    return Ok(LinkEvent::Reply(reply));
                }
            }
            // The caller checks for signals in between, even if a board sends only unknown frames.
            if start.elapsed() > POLL_INTERVAL {
                return Ok(LinkEvent::Nothing);
            }
            match self.child.stdout.as_mut().map(|out| next_part(out, POLL_INTERVAL)) {
                Some(Ok(ChildOutput::Nothing)) => return Ok(LinkEvent::Nothing),
                Some(Ok(ChildOutput::Part(part))) => self.frames.push(&part),
                Some(Ok(ChildOutput::Closed)) | None => return Err(self.broken(String::new())),
                Some(Err(error)) => return Err(self.broken(error.to_string())),
            }
        }
    }

    /// Ends the session, with the reason.
    fn broken(&mut self, why: String) -> LinkFailure {
        self.input = None;
        let (errors, code) = collect_end(&mut self.child);
        match (code, errors.is_empty(), why.is_empty()) {
            (Some(code), ..) if code != OWN_FAILURE && code != 0 => LinkFailure::Program(code, errors),
            (_, false, _) => LinkFailure::Link(errors),
            (_, _, false) => LinkFailure::Link(why),
            _ => LinkFailure::Link("ssh ended and gave no reason".to_owned()),
        }
    }
}

impl Drop for LinkSession {
    fn drop(&mut self) {
        self.input = None;
        let _ = collect_end(&mut self.child);
    }
}

/// Reads all output that fits in memory; a command there writes little.
fn until_closed(child: &mut Child, silence: Duration, stop: &AtomicBool, out: &mut Vec<u8>) -> Result<(), LinkFailure> {
    const MOST: usize = 1 << 20;
    let start = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(LinkFailure::Stopped);
        }
        if start.elapsed() > silence {
            return Err(LinkFailure::Link(format!(
                "it sent nothing within {} s",
                silence.as_secs()
            )));
        }
        let Some(pipe) = child.stdout.as_mut() else {
            return Ok(());
        };
        match next_part(pipe, POLL_INTERVAL).map_err(|error| LinkFailure::Link(error.to_string()))? {
            ChildOutput::Closed => return Ok(()),
            ChildOutput::Part(part) if out.len() < MOST => out.extend(part),
            ChildOutput::Nothing | ChildOutput::Part(_) => {}
        }
    }
}

/// Waits briefly for its end, then kills it. Returns its standard error and status.
fn collect_end(child: &mut Child) -> (String, Option<i32>) {
    const MOMENT: Duration = Duration::from_secs(2);
    let start = Instant::now();
    while start.elapsed() < MOMENT && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let status = child.wait().ok();
    let mut bytes = Vec::new();
    // A child of ssh may hold the pipe open, so do not wait for more output.
    if let Some(mut errors) = child.stderr.take() {
        while bytes.len() < 1 << 13 {
            let Ok(ChildOutput::Part(part)) = next_part(&mut errors, Duration::ZERO) else {
                break;
            };
            bytes.extend(part);
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text
        .lines()
        .map(|line| report::safe(line.trim()))
        .filter(|line| !line.is_empty())
        .collect();
    (lines.join("; "), status.and_then(|status| status.code()))
}
