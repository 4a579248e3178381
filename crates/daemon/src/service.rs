//! Notifies systemd, if it started the daemon: ready, alive, stopping (`sd_notify(3)`).

use root::datagram;
use std::time::Duration;

/// The socket and the watchdog interval.
pub struct Service {
    socket: Option<String>,
    every: Option<Duration>,
    due: Duration,
}

impl Service {
    /// Reads the environment from systemd; empty elsewhere.
    pub fn find() -> Service {
        let socket = std::env::var("NOTIFY_SOCKET")
            .ok()
            .filter(|socket| !socket.is_empty());
        // Twice per interval, as `sd_watchdog_enabled(3)` advises.
        let every = std::env::var("WATCHDOG_USEC")
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        let every = every
            .filter(|every| *every > 0)
            .map(|every| Duration::from_micros(every / 2));
        Service {
            every: every.filter(|_| socket.is_some()),
            socket,
            due: Duration::ZERO,
        }
    }

    /// The time of the next watchdog notification.
    pub fn due(&self) -> Option<Duration> {
        self.every.map(|_| self.due)
    }

    /// The first check is done.
    pub fn ready(&self) {
        self.say("READY=1");
    }

    /// Sends the watchdog notification if it is time.
    pub fn alive(&mut self, now: Duration) {
        if let Some(every) = self.every
            && self.due <= now
        {
            self.due = now + every;
            self.say("WATCHDOG=1");
        }
    }

    /// A stop was requested.
    pub fn stopping(&self) {
        self.say("STOPPING=1");
    }

    fn say(&self, text: &str) {
        if let Some(socket) = &self.socket {
            // A socket without a listener cannot receive an error either.
            let _ = datagram::send(socket, text.as_bytes());
        }
    }
}
