//! Notifies systemd, if it started the daemon: ready, alive, stopping (`sd_notify(3)`).

use root::datagram;
use std::time::Duration;

/// The socket and the watchdog interval.
pub struct ServiceNotifier {
    socket: Option<String>,
    every: Option<Duration>,
    next_notification: Duration,
}

impl ServiceNotifier {
    /// Reads the environment from systemd; empty elsewhere.
    pub fn find() -> ServiceNotifier {
        let socket = std::env::var("NOTIFY_SOCKET").ok().filter(|socket| !socket.is_empty());
        // Twice per interval, as `sd_watchdog_enabled(3)` advises.
        let every = std::env::var("WATCHDOG_USEC")
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        let every = every
            .filter(|every| *every > 0)
            .map(|every| Duration::from_micros(every / 2));
        ServiceNotifier {
            every: every.filter(|_| socket.is_some()),
            socket,
            next_notification: Duration::ZERO,
        }
    }

    /// The time of the next watchdog notification.
    pub fn next_notification(&self) -> Option<Duration> {
        self.every.map(|_| self.next_notification)
    }

    /// The first check is done.
    pub fn ready(&self) {
        self.send("READY=1");
    }

    /// Sends the watchdog notification if it is time.
    pub fn notify_if_due(&mut self, now: Duration) {
        if let Some(every) = self.every
            && self.next_notification <= now
        {
            self.next_notification = now + every;
            self.send("WATCHDOG=1");
        }
    }

    /// A stop was requested.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, text: &str) {
        if let Some(socket) = &self.socket {
            // A socket without a listener cannot receive an error either.
            let _ = datagram::send(socket, text.as_bytes());
        }
    }
}
