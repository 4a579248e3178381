//! HTTP requests for the daemon's metrics: a prefix of a valid request is incomplete or has the same answer.

use super::{FuzzTarget, owned};
use watch::metrics::{MOST_REQUEST, ScrapeRequest, answer, parse_request};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "requests",
    seeds: || {
        owned(&[
            "GET /metrics HTTP/1.1\r\nHost: a:9100\r\nAccept: application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n\r\n",
            "GET /metrics?a=b HTTP/1.0\n\n",
            "POST /metrics HTTP/1.1\r\n\r\n",
            "GET / HTTP/2\r\naccept: ;q=,text/plain;q=NaN\r\n\r\n",
            "\r\n\r\n",
        ])
    },
    run: |bytes| {
        let whole = parse_request(bytes);
        match whole {
            ScrapeRequest::More => assert!(bytes.len() < MOST_REQUEST),
            ScrapeRequest::Metrics(form) => drop(answer(form, "a 1\n")),
            ScrapeRequest::Refused(refusal) => drop(refusal.answer()),
        }
        // Tries partial requests: the answer to a part never differs from the answer to the whole.
        for end in [bytes.len() / 2, bytes.len().saturating_sub(1)] {
            let part = parse_request(&bytes[..end]);
            assert!(part == ScrapeRequest::More || part == whole || bytes.len() > MOST_REQUEST);
        }
    },
};
