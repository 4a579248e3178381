//! Answers of HTTP servers to alerts: only the first line counts, and the report of it is one line of plain text.

use super::{FuzzTarget, owned};
use daemon::webhook_accepted;

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "webhook_answers",
    seeds: || {
        owned(&[
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.0 204\r\n\r\n",
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\r\n",
            "HTTP/2 2xx\n",
            "220 mail.example ESMTP\r\n",
            "HTTP/",
            "",
        ])
    },
    run: |bytes| {
        let whole = webhook_accepted(bytes);
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let first = end.map_or(bytes, |end| &bytes[..=end]);
        assert_eq!(webhook_accepted(first), whole);
        if whole.is_ok() {
            assert!(bytes.starts_with(b"HTTP/"));
        }
        if let Err(why) = whole {
            assert!(!why.to_string().contains(|letter: char| letter.is_control()));
        }
    },
};
