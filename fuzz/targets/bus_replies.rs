//! D-Bus replies of systemd's own socket: as a whole, and truncated at the length that the first bytes give.

use super::FuzzTarget;
use apply::bus_wire::{Reply, START, reply, rest_of};

/// A reply to call 1, without a body.
const RETURN: &[u8] = b"l\x02\x01\x01\0\0\0\0\x07\0\0\0\x08\0\0\0\x05\x01u\0\x01\0\0\0";

/// An error reply to call 1, with the name of the error, the signature of its body, and the body.
const REFUSAL: &[u8] = b"l\x03\x01\x01\x09\0\0\0\x07\0\0\0\x2f\0\0\0\x05\x01u\0\x01\0\0\0\
    \x04\x01s\0\x0e\0\0\0org.a.NoSuch.b\0\0\x08\x01g\0\x01s\0\0\x04\0\0\0gone\0";

/// A signal, which is no reply.
const SIGNAL: &[u8] = b"l\x04\x01\x01\0\0\0\0\x02\0\0\0\x10\0\0\0\x01\x01o\0\x02\0\0\0/a\0\0\0\0\0\0";

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "bus_replies",
    seeds: || [RETURN, REFUSAL, SIGNAL].map(<[u8]>::to_vec).to_vec(),
    run: |bytes| {
        if let Some(Reply::Error { name, message }) = reply(bytes) {
            // A byte that is not UTF-8 becomes three bytes.
            assert!(name.len().max(message.len()) <= 3 * bytes.len());
        }
        let Some(start) = bytes.get(..START) else { return };
        let Some(rest) = rest_of(start) else { return };
        if let Some(end) = START.checked_add(rest)
            && let Some(message) = bytes.get(..end)
        {
            let _ = reply(message);
        }
    },
};
