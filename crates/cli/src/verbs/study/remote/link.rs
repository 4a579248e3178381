//! ssh as a process with its pipes: one command there from start to end, or a session of frames. Whatever the link does has a time
//! limit, and nothing is asked of a terminal.

use super::words::{Asked, Said};
use crate::{CommandError, Status};
use guest::frames::Frames;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write as _};
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
    Failed(CommandError),
}

impl From<CommandError> for Trouble {
    fn from(error: CommandError) -> Trouble {
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
    pub fn session(&self, line: &str) -> Result<Session, Trouble> {
        let mut child = self.start(line)?;
        Ok(Session {
            input: child.stdin.take(),
            child,
            frames: Frames::default(),
        })
    }

    fn start(&self, line: &str) -> Result<Child, CommandError> {
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
            CommandError::new(
                Status::Unable,
                "ssh cannot be started",
                error.to_string(),
                "install it (openssh-client), or name it with --ssh",
            )
        })
    }
}

/// What came of waiting.
pub enum Heard {
    /// Something was said.
    Said(Said),
    /// Nothing in this time.
    Nothing,
}

/// A session of frames. Its end is the end of ssh.
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
    frames: Frames,
}

impl Session {
    /// Asks for something.
    ///
    /// # Errors
    /// The link.
    pub fn ask(&mut self, asked: &Asked) -> Result<(), Trouble> {
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
    pub fn hear(&mut self) -> Result<Heard, Trouble> {
        loop {
            if let Some((name, body)) = self.frames.take() {
                match Said::of(&name, body) {
                    Some(said) => return Ok(Heard::Said(said)),
                    None => continue,
                }
            }
            let mut part = Vec::new();
            match self.child.stdout.as_mut().map(|out| more(out, &mut part)) {
                Some(Ok(More::Nothing)) => return Ok(Heard::Nothing),
                Some(Ok(More::Some)) => self.frames.push(&part),
                Some(Ok(More::Closed)) | None => return Err(self.broken(String::new())),
                Some(Err(why)) => return Err(self.broken(why)),
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

impl Drop for Session {
    fn drop(&mut self) {
        self.input = None;
        let _ = ended(&mut self.child);
    }
}

enum More {
    Nothing,
    Some,
    Closed,
}

fn more(out: &mut (impl Read + std::os::fd::AsFd), part: &mut Vec<u8>) -> Result<More, String> {
    let time = Timespec::try_from(LOOK).ok();
    match poll(&mut [PollFd::new(out, PollFlags::IN)], time.as_ref()) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(More::Nothing),
        Ok(_) => {}
        Err(errno) => return Err(errno.to_string()),
    }
    part.resize(1 << 16, 0);
    match out.read(part) {
        Ok(0) => Ok(More::Closed),
        Ok(count) => {
            part.truncate(count);
            Ok(More::Some)
        }
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {
            part.clear();
            Ok(More::Nothing)
        }
        Err(error) => Err(error.to_string()),
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
        let mut part = Vec::new();
        let Some(pipe) = child.stdout.as_mut() else {
            return Ok(());
        };
        match more(pipe, &mut part).map_err(Trouble::Link)? {
            More::Closed => return Ok(()),
            More::Nothing => {}
            More::Some if out.len() < MOST => out.extend(part),
            More::Some => {}
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
    if let Some(errors) = child.stderr.take() {
        let is_there = |errors: &std::process::ChildStderr| {
            let now = Timespec::default();
            matches!(
                poll(&mut [PollFd::new(errors, PollFlags::IN)], Some(&now)),
                Ok(1..)
            )
        };
        let mut errors = errors;
        let mut part = [0; 1 << 12];
        while said.len() < 1 << 13 && is_there(&errors) {
            match errors.read(&mut part) {
                Ok(count @ 1..) => said.extend(part.get(..count).unwrap_or_default()),
                _ => break,
            }
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
