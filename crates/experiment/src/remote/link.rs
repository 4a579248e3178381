//! ssh as a process with its pipes: one command there from start to end, or a session of frames. Whatever the link does has a time
//! limit, and nothing is asked of a terminal.

use super::messages::{BoardReply, BoardRequest};
use crate::child_output::{ChildOutput, next_part};
use guest::frames::Frames;
use root::{Failure, Status};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A signal that comes just before we wait is seen after so long.
const LOOK: Duration = Duration::from_millis(200);

/// The status with which ssh says that it failed itself (ssh(1)).
const OWN_FAILURE: i32 = 255;

/// Nobody is there to be asked, nothing of this machine is lent, and nothing is sent while nothing is to be said: a CPU is
/// measured meanwhile. What was said by `--ssh` comes before, and so wins.
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
    /// Words of a shell that begin the command.
    pub words: String,
    /// Its name.
    pub host: String,
}

/// Why there is nothing more to hear.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The link, in ssh's own words: it may be there again later.
    Link(String),
    /// The program there ended by itself, with this status and these words.
    Program(i32, String),
    /// Somebody stopped us.
    Stopped,
    /// Anything else.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(error: Failure) -> Trouble {
        Trouble::Failed(error)
    }
}

/// What a command there said until its end.
pub struct Ran {
    /// Its standard output.
    pub out: String,
    /// The first lines of what it, or ssh, said beside.
    pub said: String,
    /// Its exit status.
    pub code: Option<i32>,
}

impl Ssh {
    /// Runs a command there with this input. It may be silent for so long.
    ///
    /// # Errors
    /// The link, or somebody stopped us.
    pub fn run(
        &self,
        line: &str,
        input: &[u8],
        silence: Duration,
        stop: &AtomicBool,
    ) -> Result<Ran, Trouble> {
        let mut child = self.start(line)?;
        let pipe = child.stdin.take();
        let mut out = Vec::new();
        let heard = std::thread::scope(|scope| {
            // A program is longer than a pipe, and what is said there meanwhile must not wait.
            scope.spawn(move || {
                if let Some(mut pipe) = pipe {
                    let _ = pipe.write_all(input);
                }
            });
            let heard = until_closed(&mut child, silence, stop, &mut out);
            if heard.is_err() {
                // The pipe ends with it, and so does the thread.
                let _ = child.kill();
            }
            heard
        });
        let (said, code) = ended(&mut child);
        heard?;
        match code {
            Some(OWN_FAILURE) => Err(Trouble::Link(said)),
            _ => Ok(Ran {
                out: String::from_utf8_lossy(&out).into_owned(),
                said,
                code,
            }),
        }
    }

    /// Begins a session of frames.
    ///
    /// # Errors
    /// ssh cannot be started.
    pub fn session(&self, line: &str) -> Result<LinkSession, Trouble> {
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
        // Ctrl-C on the terminal is ours: what is there is fetched first.
        command.process_group(0);
        command.spawn().map_err(|error| {
            Failure::new(
                Status::Unable,
                "ssh cannot be started",
                error.to_string(),
                "install it (openssh-client), or name it with --ssh",
            )
        })
    }
}

/// What came of waiting.
pub enum Received {
    /// Something was said.
    Reply(BoardReply),
    /// Nothing in this time.
    Nothing,
}

/// A session of frames. Its end is the end of ssh.
pub struct LinkSession {
    child: Child,
    input: Option<ChildStdin>,
    frames: Frames,
}

impl LinkSession {
    /// Asks for something.
    ///
    /// # Errors
    /// The link.
    pub fn ask(&mut self, asked: &BoardRequest) -> Result<(), Trouble> {
        let input = self.input.as_mut();
        let written = input.map_or(Ok(()), |input| {
            input.write_all(&asked.frame()).and_then(|()| input.flush())
        });
        written.map_err(|error| self.broken(error.to_string()))
    }

    /// Waits a moment for what is said.
    ///
    /// # Errors
    /// The link, or the program there, has ended.
    pub fn hear(&mut self) -> Result<Received, Trouble> {
        let start = Instant::now();
        loop {
            while let Some((name, body)) = self.frames.take() {
                if let Some(said) = BoardReply::of(&name, body) {
                    return Ok(Received::Reply(said));
                }
            }
            // The caller looks at signals in between, also while a board sends frames without meaning.
            if start.elapsed() > LOOK {
                return Ok(Received::Nothing);
            }
            match self.child.stdout.as_mut().map(|out| next_part(out, LOOK)) {
                Some(Ok(ChildOutput::Nothing)) => return Ok(Received::Nothing),
                Some(Ok(ChildOutput::Part(part))) => self.frames.push(&part),
                Some(Ok(ChildOutput::Closed)) | None => return Err(self.broken(String::new())),
                Some(Err(error)) => return Err(self.broken(error.to_string())),
            }
        }
    }

    /// Its end, with the reason.
    fn broken(&mut self, why: String) -> Trouble {
        self.input = None;
        let (said, code) = ended(&mut self.child);
        match (code, said.is_empty(), why.is_empty()) {
            (Some(code), ..) if code != OWN_FAILURE && code != 0 => Trouble::Program(code, said),
            (_, false, _) => Trouble::Link(said),
            (_, _, false) => Trouble::Link(why),
            _ => Trouble::Link("ssh ended and gave no reason".to_owned()),
        }
    }
}

impl Drop for LinkSession {
    fn drop(&mut self) {
        self.input = None;
        let _ = ended(&mut self.child);
    }
}

/// All that it says, as far as it fits in memory; a command there says little.
fn until_closed(
    child: &mut Child,
    silence: Duration,
    stop: &AtomicBool,
    out: &mut Vec<u8>,
) -> Result<(), Trouble> {
    const MOST: usize = 1 << 20;
    let begun = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Trouble::Stopped);
        }
        if begun.elapsed() > silence {
            return Err(Trouble::Link(format!(
                "nothing came of it in {} s",
                silence.as_secs()
            )));
        }
        let Some(pipe) = child.stdout.as_mut() else {
            return Ok(());
        };
        match next_part(pipe, LOOK).map_err(|error| Trouble::Link(error.to_string()))? {
            ChildOutput::Closed => return Ok(()),
            ChildOutput::Part(part) if out.len() < MOST => out.extend(part),
            ChildOutput::Nothing | ChildOutput::Part(_) => {}
        }
    }
}

/// Waits a moment for its end, then makes one; what it said beside and its status.
fn ended(child: &mut Child) -> (String, Option<i32>) {
    const MOMENT: Duration = Duration::from_secs(2);
    let begun = Instant::now();
    while begun.elapsed() < MOMENT && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let status = child.wait().ok();
    let mut said = Vec::new();
    // A child of ssh may hold the pipe; nothing is waited for that did not come yet.
    if let Some(mut errors) = child.stderr.take() {
        while said.len() < 1 << 13 {
            let Ok(ChildOutput::Part(part)) = next_part(&mut errors, Duration::ZERO) else {
                break;
            };
            said.extend(part);
        }
    }
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<String> = said
        .lines()
        .map(|line| report::safe(line.trim()))
        .filter(|line| !line.is_empty())
        .collect();
    (lines.join("; "), status.and_then(|status| status.code()))
}
