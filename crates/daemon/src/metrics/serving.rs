//! Serves metrics over HTTP: one thread, a few connections at a time, each with a time limit.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};
use watch::metrics::{ExpositionFormat, MOST_REQUEST, RequestRejection, ScrapeRequest, answer, parse_request};

/// The maximum number of connections. A further one closes the oldest that has not sent its request, else the oldest.
const MOST: usize = 64;

/// The time limit for the request. A scraper sends it immediately after connecting.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// The time limit for receiving the answer.
const TO_RECEIVE: Duration = Duration::from_secs(5);

/// A listening port.
pub struct Server {
    listener: TcpListener,
    /// In order of arrival.
    open: Vec<Connection>,
    request_timeout: Duration,
}

struct Connection {
    stream: TcpStream,
    until: Instant,
    state: ConnectionState,
}

enum ConnectionState {
    ReadingRequest(Vec<u8>),
    Getting { answer: Vec<u8>, sent: usize },
    Over,
}

impl Server {
    /// Listens on an address.
    ///
    /// # Errors
    /// The port is in use, or the address does not belong to this machine.
    pub fn open(address: SocketAddr) -> std::io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Server {
            listener,
            open: Vec::new(),
            request_timeout: REQUEST_TIMEOUT,
        })
    }

    /// Serves connections until `wake` becomes readable (`true`) or the time is up. `give` creates the text.
    pub fn serve(
        &mut self,
        wake: BorrowedFd,
        until: Option<Instant>,
        give: &mut dyn FnMut(ExpositionFormat) -> String,
    ) -> bool {
        loop {
            let now = Instant::now();
            if until.is_some_and(|until| until <= now) {
                return false;
            }
            let soonest = self.open.iter().map(|one| one.until).chain(until).min();
            let limit = soonest.map(|time| time.saturating_duration_since(now));
            let mut fds = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
            fds.extend(self.open.iter().map(|one| match one.state {
                ConnectionState::Getting { .. } => PollFd::new(&one.stream, PollFlags::OUT),
                _ => PollFd::new(&one.stream, PollFlags::IN),
            }));
            let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
            if poll(&mut fds, limit.as_ref()).is_err() {
                // Interrupted, or temporarily out of memory.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            let readable: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if readable.first() == Some(&true) {
                return true;
            }
            let now = Instant::now();
            for (one, is_readable) in self.open.iter_mut().zip(readable.iter().skip(2)) {
                // Check the limit first: a client that sends a byte now and then would stay forever.
                if one.until <= now {
                    one.late(now);
                } else if *is_readable {
                    one.go_on(now, give);
                }
            }
            self.open.retain(|one| !matches!(one.state, ConnectionState::Over));
            if readable.get(1) == Some(&true) {
                self.accept(now, give);
            }
        }
    }

    /// Accepts up to the limit. Open connections get their turn before more are accepted.
    fn accept(&mut self, now: Instant, give: &mut dyn FnMut(ExpositionFormat) -> String) {
        for _ in 0..MOST {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Without free descriptors, poll would report it again immediately.
                Err(_) => return std::thread::sleep(Duration::from_millis(50)),
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.open.len() >= MOST {
                self.make_room(now, give);
            }
            let mut one = Connection {
                stream,
                until: now + self.request_timeout,
                state: ConnectionState::ReadingRequest(Vec::new()),
            };
            // The request has often arrived already.
            one.go_on(now, give);
            if !matches!(one.state, ConnectionState::Over) {
                self.open.push(one);
            }
        }
    }

    /// Closes the oldest connection whose request has not arrived, else the oldest; none if one is over meanwhile.
    fn make_room(&mut self, now: Instant, give: &mut dyn FnMut(ExpositionFormat) -> String) {
        let is_silent = |one: &Connection| matches!(one.state, ConnectionState::ReadingRequest(_));
        let silent = self.open.iter_mut().position(|one| {
            // The request may have arrived since the last turn.
            if is_silent(one) {
                one.go_on(now, give);
            }
            is_silent(one)
        });
        let count = self.open.len();
        self.open.retain(|one| !matches!(one.state, ConnectionState::Over));
        if self.open.len() == count {
            self.open.remove(silent.unwrap_or(0));
        }
    }
}

impl Connection {
    fn go_on(&mut self, now: Instant, give: &mut dyn FnMut(ExpositionFormat) -> String) {
        if let ConnectionState::ReadingRequest(received) = &mut self.state {
            let mut piece = [0; MOST_REQUEST];
            match self.stream.read(&mut piece) {
                Ok(0) => return self.state = ConnectionState::Over,
                Ok(length) => received.extend(piece.iter().take(length)),
                Err(error) if is_for_later(&error) => return,
                Err(_) => return self.state = ConnectionState::Over,
            }
            let answer = match parse_request(received) {
                ScrapeRequest::More => return,
                ScrapeRequest::Metrics(form) => answer(form, &give(form)),
                ScrapeRequest::Refused(refusal) => refusal.answer(),
            };
            self.get(now, answer);
        }
        self.send();
    }

    /// Answers a late request with an error; closes a connection that does not receive its answer.
    fn late(&mut self, now: Instant) {
        match self.state {
            ConnectionState::ReadingRequest(_) => {
                self.get(now, RequestRejection::Slow.answer());
                self.send();
            }
            _ => self.state = ConnectionState::Over,
        }
    }

    fn get(&mut self, now: Instant, answer: Vec<u8>) {
        self.until = now + TO_RECEIVE;
        self.state = ConnectionState::Getting { answer, sent: 0 };
    }

    fn send(&mut self) {
        let ConnectionState::Getting { answer, sent } = &mut self.state else {
            return;
        };
        while let Some(rest) = answer.get(*sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(length) if length > 0 => *sent += length,
                Err(error) if is_for_later(&error) => return,
                _ => return self.state = ConnectionState::Over,
            }
        }
        self.state = ConnectionState::Over;
    }
}

fn is_for_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    /// Serves `body` on a free port; the other end of the pair stops it.
    fn serve(body: String) -> (SocketAddr, UnixStream) {
        serve_within(REQUEST_TIMEOUT, body)
    }

    /// As [`serve`], with another time limit for requests.
    fn serve_within(to_ask: Duration, body: String) -> (SocketAddr, UnixStream) {
        let mut server = Server::open("127.0.0.1:0".parse().unwrap()).unwrap();
        server.request_timeout = to_ask;
        let address = server.listener.local_addr().unwrap();
        let (wake, other) = UnixStream::pair().unwrap();
        std::thread::spawn(move || while !server.serve(wake.as_fd(), None, &mut |_| body.clone()) {});
        (address, other)
    }

    fn connect(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Reads until the server closes; fails after a minute.
    fn rest(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        let ended = stream.read_to_end(&mut text);
        assert!(
            ended
                .as_ref()
                .err()
                .is_none_or(|error| error.kind() == ErrorKind::ConnectionReset),
            "{ended:?}"
        );
        String::from_utf8_lossy(&text).into_owned()
    }

    fn answer_to(address: SocketAddr, request: &str) -> String {
        let mut stream = connect(address);
        stream.write_all(request.as_bytes()).unwrap();
        rest(stream)
    }

    #[test]
    fn a_request_in_several_pieces_is_answered() {
        let (address, _wake) = serve("a 1\n".to_owned());
        let mut slow = connect(address);
        for piece in ["GET /met", "rics HTTP/1.1\r\nHost: x\r", "\n\r\n"] {
            slow.write_all(piece.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(30));
        }
        let reported = rest(slow);
        assert!(
            reported.starts_with("HTTP/1.1 200 OK\r\n") && reported.ends_with("\r\n\r\na 1\n"),
            "{reported}"
        );
        assert!(answer_to(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(answer_to(address, "PUT /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(answer_to(address, "\n\n").starts_with("HTTP/1.1 400 "));
    }

    /// A client that sends no valid request is rejected immediately, without reading the rest.
    #[test]
    fn garbage_and_endless_headers_are_refused() {
        let (address, _wake) = serve("a 1\n".to_owned());
        let garbage: Vec<u8> = (0..MOST_REQUEST)
            .map(|place| u8::try_from(place * 31 % 251).unwrap())
            .collect();
        let endless = [b"GET /metrics HTTP/1.1\r\nX: ".as_slice(), &vec![b'x'; 1 << 20]].concat();
        let full = endless.get(..MOST_REQUEST).unwrap();
        for (bytes, wanted) in [
            (full, "HTTP/1.1 431 "),
            (&garbage, "HTTP/1.1 4"),
            (b"\x16\x03\x01\x02\n\n", "HTTP/1.1 400 "),
        ] {
            let mut stream = connect(address);
            stream.write_all(bytes).unwrap();
            let reported = rest(stream);
            assert!(reported.starts_with(wanted), "{wanted}: {reported}");
        }
        // With a whole megabyte unread, the kernel discards the rest, and the answer with it.
        let mut stream = connect(address);
        let _ = stream.write_all(&endless);
        let reported = rest(stream);
        assert!(
            reported.is_empty() || reported.starts_with("HTTP/1.1 431 "),
            "{reported}"
        );
        assert!(answer_to(address, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\na 1\n"));
    }

    /// The time limit is longer than the scraper waits, so it is served only because the oldest connections are closed.
    #[test]
    fn silent_connections_do_not_delay_a_scrape() {
        let (address, _wake) = serve_within(Duration::from_secs(600), "a 1\n".to_owned());
        let silent: Vec<TcpStream> = (0..500).map(|_| connect(address)).collect();
        for _ in 0..3 {
            assert!(answer_to(address, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\na 1\n"));
        }
        let oldest = silent.into_iter().next().unwrap();
        assert_eq!(rest(oldest), "", "the oldest was closed");
    }

    /// A slow server sees the request and the connection that needs a place at the same time.
    #[test]
    fn a_client_whose_request_has_arrived_keeps_its_place() {
        let mut server = Server::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.listener.local_addr().unwrap();
        let mut clients: Vec<TcpStream> = (0..MOST).map(|_| connect(address)).collect();
        while server.open.len() < MOST {
            server.accept(Instant::now(), &mut |_| "a 1\n".to_owned());
        }
        let request = b"GET /metrics HTTP/1.1\r\n\r\n";
        clients[0].write_all(request).unwrap();
        clients.push(connect(address));
        server.accept(Instant::now(), &mut |_| "a 1\n".to_owned());
        assert!(rest(clients.swap_remove(0)).ends_with("a 1\n"));
        assert_eq!(
            server.open.len(),
            MOST,
            "the answered client left its place to the new one"
        );
    }

    /// Clients that never finish a request and clients that never read a long answer take all places. The next client is
    /// served, and each of them is closed eventually.
    #[test]
    fn stalled_clients_do_not_delay_other_clients() {
        const LONG: usize = 32 << 20;
        let (address, _wake) = serve("x".repeat(LONG));
        let mut held: Vec<TcpStream> = (0..MOST).map(|_| connect(address)).collect();
        for (place, stream) in held.iter_mut().enumerate() {
            let request = if place < 2 {
                "GET /metrics HTTP/1.1\r\n\r\n"
            } else {
                "GET /metr"
            };
            stream.write_all(request.as_bytes()).unwrap();
        }
        assert!(answer_to(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        let unended = held.pop().unwrap();
        assert!(rest(unended).starts_with("HTTP/1.1 408 "));
        let unread = held.swap_remove(0);
        std::thread::sleep(TO_RECEIVE);
        let got = rest(unread).len();
        assert!(got > 0 && got < LONG, "{got} bytes were still to be had");
    }

    #[test]
    fn the_server_ends_when_the_wake_socket_closes() {
        let mut server = Server::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let (wake, other) = UnixStream::pair().unwrap();
        drop(other);
        assert!(server.serve(wake.as_fd(), None, &mut |_| String::new()));
        let past = Instant::now();
        let (wake, _other) = UnixStream::pair().unwrap();
        assert!(!server.serve(wake.as_fd(), Some(past), &mut |_| String::new()));
    }
}
