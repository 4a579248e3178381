//! What systemd hears of the daemon, where it started it: ready, alive, stopping (`sd_notify(3)`).

use root::datagram;
use std::time::Duration;

/// The socket and how often it wants to hear that we live.
pub struct Service {
    socket: Option<String>,
    every: Option<Duration>,
    due: Duration,
}

impl Service {
    /// From the environment that systemd gives; none elsewhere.
    pub fn find() -> Service {
        let socket = std::env::var("NOTIFY_SOCKET")
            .ok()
            .filter(|socket| !socket.is_empty());
        // Twice within its time, as `sd_watchdog_enabled(3)` advises.
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

    /// When to say again that we live.
    pub fn due(&self) -> Option<Duration> {
        self.every.map(|_| self.due)
    }

    /// The first look is done.
    pub fn ready(&self) {
        self.say("READY=1");
    }

    /// Says it where it is due.
    pub fn alive(&mut self, now: Duration) {
        if let Some(every) = self.every
            && self.due <= now
        {
            self.due = now + every;
            self.say("WATCHDOG=1");
        }
    }

    /// The end was asked for.
    pub fn stopping(&self) {
        self.say("STOPPING=1");
    }

    fn say(&self, text: &str) {
        if let Some(socket) = &self.socket {
            // Who does not listen any more cannot be told that either.
            let _ = datagram::send(socket, text.as_bytes());
        }
    }
}
