//! Posts alerts by HTTP in a thread that lives while lines wait, so that a slow server delays nothing. Each line is sent
//! once; failures are counted and reported.

use plan::declared::Webhook;
use std::collections::VecDeque;
use std::fmt;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The maximum number of queued lines. Further lines are dropped and reported.
const WAITING: usize = 64;

/// The time limit for one line, from the first packet to the answer.
const LIMIT: Duration = Duration::from_secs(5);

/// The maximum length read of an answer: only its first line matters.
const MOST_ANSWER: usize = 1_024;

/// The queued lines.
#[derive(Default)]
pub struct WebhookQueue {
    waiting: VecDeque<(Webhook, Vec<u8>)>,
    left_out: u64,
    sender_thread: Option<JoinHandle<Vec<String>>>,
}

impl WebhookQueue {
    /// Queues a line; does nothing without a webhook.
    pub fn add(&mut self, webhook: Option<&Webhook>, line: &[u8]) {
        let Some(webhook) = webhook else { return };
        if self.waiting.len() >= WAITING {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.waiting.push_back((webhook.clone(), line.to_vec()));
    }

    /// Whether a line waits or is being sent.
    pub fn is_busy(&self) -> bool {
        self.sender_thread.is_some() || !self.waiting.is_empty()
    }

    /// Sends queued lines. Returns messages about those that were sent.
    pub fn tend(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(courier) = self.sender_thread.take_if(|courier| courier.is_finished()) {
            lines = courier
                .join()
                .unwrap_or_else(|_| vec!["webhook: the sending thread ended early".to_owned()]);
        }
        if self.sender_thread.is_none() && !self.waiting.is_empty() {
            let batch = std::mem::take(&mut self.waiting);
            // Started here, so that it inherits the CPUs of this thread.
            match std::thread::Builder::new()
                .name("webhook".to_owned())
                .spawn(|| deliver(batch))
            {
                Ok(courier) => self.sender_thread = Some(courier),
                Err(error) => lines.push(format!("webhook: the sending thread could not be started: {error}")),
            }
        }
        if self.left_out > 0 && self.waiting.is_empty() {
            lines.push(format!(
                "webhook: {} lines were dropped: too many were waiting",
                self.left_out
            ));
            self.left_out = 0;
        }
        lines
    }

    /// Reports lines that will not be sent.
    pub fn end(&mut self) -> Vec<String> {
        let mut lines = match self.sender_thread.is_some() {
            true => vec!["webhook: lines were in transit; it is unknown whether they were accepted".to_owned()],
            false => Vec::new(),
        };
        let left = self.left_out.saturating_add(self.waiting.len() as u64);
        if left > 0 {
            lines.push(format!("webhook: {left} lines were not sent before it ended"));
        }
        lines
    }
}

/// Sends all lines. A server that did not answer once gets none of the rest.
fn deliver(mut batch: VecDeque<(Webhook, Vec<u8>)>) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some((webhook, line)) = batch.pop_front() {
        let Err(why) = post(&webhook, &line) else { continue };
        let before = batch.len();
        batch.retain(|(other, _)| *other != webhook);
        let lost = before - batch.len() + 1;
        lines.push(format!("{}: {why}; {lost} lines were not accepted", webhook.text));
    }
    lines
}

/// Why a line was not taken.
#[derive(Debug)]
enum PostError {
    /// The name of the host has no address.
    NoAddress,
    /// No answer within [`LIMIT`].
    Late,
    /// The system refused the connection, or ended it.
    Io(std::io::Error),
    /// An answer that does not accept the post.
    Answered(NotAccepted),
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PostError::NoAddress => f.write_str("the name has no address"),
            PostError::Late => write!(f, "it did not answer within {} s", LIMIT.as_secs()),
            PostError::Io(error) => error.fmt(f),
            PostError::Answered(answer) => answer.fmt(f),
        }
    }
}

/// The first line of an answer that does not accept the post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAccepted(String);

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it answered `{}`", report::safe(&self.0))
    }
}

impl From<std::io::Error> for PostError {
    fn from(error: std::io::Error) -> PostError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => PostError::Late,
            _ => PostError::Io(error),
        }
    }
}

/// Posts one line.
fn post(webhook: &Webhook, line: &[u8]) -> Result<(), PostError> {
    let end = Instant::now() + LIMIT;
    let mut stream = connect(webhook, end)?;
    let host = if webhook.host.contains(':') {
        format!("[{}]", webhook.host)
    } else {
        webhook.host.clone()
    };
    let body = line.trim_ascii_end();
    let mut request = format!(
        "POST {} HTTP/1.1\r\nHost: {host}:{}\r\nUser-Agent: quietcore\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        webhook.path,
        webhook.port,
        body.len()
    )
    .into_bytes();
    request.extend(body);
    stream.set_write_timeout(Some(left(end)?))?;
    stream.write_all(&request)?;
    let mut answer = Vec::new();
    let mut part = [0; 256];
    while !answer.contains(&b'\n') && answer.len() < MOST_ANSWER {
        stream.set_read_timeout(Some(left(end)?))?;
        match stream.read(&mut part)? {
            0 => break,
            length => answer.extend(part.get(..length).unwrap_or_default()),
        }
    }
    accepted(&answer).map_err(PostError::Answered)
}

/// Whether an HTTP server accepted the post: a status from 200 to 299. Only the first line of the answer counts.
///
/// # Errors
/// The first line, if it is not a status line or has another status.
pub fn accepted(answer: &[u8]) -> Result<(), NotAccepted> {
    let first = String::from_utf8_lossy(answer);
    let first = first.lines().next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/").and_then(|rest| rest.split(' ').nth(1));
    match status {
        Some(status) if status.len() == 3 && status.starts_with('2') => Ok(()),
        _ => Err(NotAccepted(first.to_owned())),
    }
}

fn connect(webhook: &Webhook, end: Instant) -> Result<TcpStream, PostError> {
    let mut why = PostError::NoAddress;
    for address in (webhook.host.as_str(), webhook.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(end)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error.into(),
        }
    }
    Err(why)
}

/// The remaining time. None is an error, because a timeout of zero would mean no limit.
fn left(end: Instant) -> Result<Duration, PostError> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(PostError::Late) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn at(listener: &TcpListener) -> Webhook {
        Webhook::try_from(format!("http://{}/drift", listener.local_addr().unwrap())).unwrap()
    }

    /// All messages until nothing waits.
    fn settle(posts: &mut WebhookQueue) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..6_000 {
            lines.extend(posts.tend());
            if !posts.is_busy() {
                return lines;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("it is still busy: {lines:?}")
    }

    /// Accepts this many requests and sends this answer to each.
    fn listener(count: usize, answer: &'static str) -> (Webhook, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let webhook = at(&listener);
        let serve = move || {
            let mut seen = Vec::new();
            for _ in 0..count {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                let mut request = Vec::new();
                let mut part = [0; 4096];
                while !request.ends_with(b"}") {
                    let length = stream.read(&mut part).unwrap();
                    assert!(length > 0, "cut off: {}", String::from_utf8_lossy(&request));
                    request.extend(&part[..length]);
                }
                stream.write_all(answer.as_bytes()).unwrap();
                seen.push(String::from_utf8(request).unwrap());
            }
            seen
        };
        (webhook, std::thread::spawn(serve))
    }

    #[test]
    fn each_line_is_posted_once_in_order() {
        let (webhook, server) = listener(3, "HTTP/1.1 204 No Content\r\n\r\n");
        let mut posts = WebhookQueue::default();
        for number in 0..3 {
            posts.add(Some(&webhook), format!("{{\"number\":{number}}}\n").as_bytes());
        }
        posts.add(None, b"nobody wants it");
        assert_eq!(settle(&mut posts), [] as [&str; 0]);
        let seen = server.join().unwrap();
        for (number, request) in seen.iter().enumerate() {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("POST /drift HTTP/1.1\r\nHost: 127.0.0.1:"), "{head}");
            assert!(head.contains("\r\nContent-Length: 12\r\n"), "{head}");
            assert_eq!(body, format!("{{\"number\":{number}}}"));
        }
    }

    #[test]
    fn a_refusal_is_reported_with_the_answer() {
        let (webhook, server) = listener(1, "HTTP/1.1 503 Busy\r\n\r\n");
        let mut posts = WebhookQueue::default();
        posts.add(Some(&webhook), b"{}\n");
        posts.add(Some(&webhook), b"{}\n");
        let lines = settle(&mut posts);
        assert_eq!(
            lines,
            [format!(
                "{}: it answered `HTTP/1.1 503 Busy`; 2 lines were not accepted",
                webhook.text
            )]
        );
        server.join().unwrap();
    }

    /// A server that accepts the connection and never answers delays nothing, and all lost lines are counted.
    #[test]
    fn a_server_that_never_answers_delays_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut posts = WebhookQueue::default();
        posts.add(Some(&at(&listener)), b"{}\n");
        assert_eq!(posts.tend(), [] as [&str; 0]);
        // The courier waits until its limit, so these calls return before it does.
        for _ in 0..=WAITING {
            posts.add(Some(&at(&listener)), b"{}\n");
            posts.tend();
        }
        assert!(posts.sender_thread.is_some(), "it was waited for");
        let lines = settle(&mut posts).join("\n");
        assert!(lines.contains("did not answer within 5 s; 1 lines"), "{lines}");
        assert!(
            lines.contains(&format!("; {WAITING} lines were not accepted")),
            "{lines}"
        );
        assert!(lines.contains("1 lines were dropped"), "{lines}");
    }
}
