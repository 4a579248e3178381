//! Parses the HTTP request of a scraper and creates the answer. Supports only what Prometheus needs: `GET /metrics`, one
//! answer, close.

use super::ExpositionFormat;

/// The maximum length of a request in bytes.
pub const MOST_REQUEST: usize = 8 << 10;

/// The result of parsing the bytes received so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrapeRequest {
    /// The request is incomplete.
    More,
    /// The metrics, in this format.
    Metrics(ExpositionFormat),
    /// A request that is rejected.
    Refused(RequestRejection),
}

/// The reason of a rejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRejection {
    /// Not an HTTP/1 request.
    Bad,
    /// Another path.
    Unknown,
    /// Another method than GET.
    Method,
    /// Longer than [`MOST_REQUEST`].
    Long,
    /// Not completed in time.
    Slow,
}

/// Parses a request.
#[must_use]
pub fn parse_request(bytes: &[u8]) -> ScrapeRequest {
    let Some(end) = end(bytes) else {
        return match bytes.len() >= MOST_REQUEST {
            true => ScrapeRequest::Refused(RequestRejection::Long),
            false => ScrapeRequest::More,
        };
    };
    if end > MOST_REQUEST {
        return ScrapeRequest::Refused(RequestRejection::Long);
    }
    let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default());
    let mut lines = text.lines();
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else {
        return ScrapeRequest::Refused(RequestRejection::Bad);
    };
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if !is_method || !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return ScrapeRequest::Refused(RequestRejection::Bad);
    }
    if target.split('?').next() != Some("/metrics") {
        return ScrapeRequest::Refused(RequestRejection::Unknown);
    }
    if method != "GET" {
        return ScrapeRequest::Refused(RequestRejection::Method);
    }
    let accepts = lines.filter_map(|line| line.split_once(':'));
    let accepts = accepts.filter(|(name, _)| name.trim().eq_ignore_ascii_case("accept"));
    let accepts: Vec<&str> = accepts.map(|(_, value)| value).collect();
    ScrapeRequest::Metrics(preferred_form(&accepts.join(",")))
}

/// The bytes of an answer in this format.
#[must_use]
pub fn answer(form: ExpositionFormat, body: &str) -> Vec<u8> {
    whole("200 OK", form.content_type(), "", body)
}

impl RequestRejection {
    /// The bytes of the answer.
    #[must_use]
    pub fn answer(self) -> Vec<u8> {
        let (status, more, body) = match self {
            RequestRejection::Bad => (
                "400 Bad Request",
                "",
                "This is not an HTTP/1 request. Use: GET /metrics\n",
            ),
            RequestRejection::Unknown => ("404 Not Found", "", "Only /metrics exists here.\n"),
            RequestRejection::Method => ("405 Method Not Allowed", "Allow: GET\r\n", "Only GET is supported.\n"),
            RequestRejection::Long => ("431 Request Header Fields Too Large", "", "The request is too long.\n"),
            RequestRejection::Slow => (
                "408 Request Timeout",
                "",
                "The request did not arrive completely in time.\n",
            ),
        };
        whole(status, "text/plain; charset=utf-8", more, body)
    }
}

fn whole(status: &str, content_type: &str, more: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The position of the empty line that ends the head.
fn end(bytes: &[u8]) -> Option<usize> {
    let of = |mark: &[u8]| {
        let start = bytes.windows(mark.len()).position(|window| window == mark)?;
        Some(start + mark.len())
    };
    of(b"\r\n\r\n").into_iter().chain(of(b"\n\n")).min()
}

/// OpenMetrics if the client prefers it at least as much as the older format, else the older one.
fn preferred_form(accept: &str) -> ExpositionFormat {
    let (mut open, mut text) = (0.0_f32, 0.0_f32);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let (mut weight, mut version) = (1.0, None);
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match name.trim().to_ascii_lowercase().as_str() {
                "q" => weight = value.trim().parse().unwrap_or(0.0),
                "version" => version = Some(value.trim().trim_matches('"')),
                _ => {}
            }
        }
        match kind.as_str() {
            "application/openmetrics-text" if matches!(version, None | Some("1.0.0")) => {
                open = open.max(weight);
            }
            "text/plain" => text = text.max(weight),
            _ => {}
        }
    }
    match open > 0.0 && open >= text {
        true => ExpositionFormat::OpenMetrics,
        false => ExpositionFormat::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> ScrapeRequest {
        parse_request(text.as_bytes())
    }

    #[test]
    fn requests_are_parsed_or_refused() {
        let text = ScrapeRequest::Metrics(ExpositionFormat::Text);
        assert_eq!(parse_text("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), text);
        assert_eq!(parse_text("GET /metrics?a=b HTTP/1.0\n\n"), text);
        assert_eq!(parse_text("GET /metrics HTTP/1.1\r\nHost: x\r\n"), ScrapeRequest::More);
        assert_eq!(parse_text(""), ScrapeRequest::More);
        for (request, refusal) in [
            ("GET / HTTP/1.1\r\n\r\n", RequestRejection::Unknown),
            ("GET /metricsx HTTP/1.1\r\n\r\n", RequestRejection::Unknown),
            ("POST /metrics HTTP/1.1\r\n\r\n", RequestRejection::Method),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", RequestRejection::Method),
            ("GET /metrics\r\n\r\n", RequestRejection::Bad),
            ("GET /metrics HTTP/2\r\n\r\n", RequestRejection::Bad),
            ("\r\n\r\n", RequestRejection::Bad),
            ("\u{16}\u{3}\u{1} x y\r\n\r\n", RequestRejection::Bad),
        ] {
            assert_eq!(parse_text(request), ScrapeRequest::Refused(refusal), "{request:?}");
            let answer = String::from_utf8(refusal.answer()).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{answer}");
        }
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(MOST_REQUEST));
        assert_eq!(parse_text(&long), ScrapeRequest::Refused(RequestRejection::Long));
        assert_eq!(
            parse_text(&format!("{long}\r\n\r\n")),
            ScrapeRequest::Refused(RequestRejection::Long)
        );
        assert_eq!(parse_request(&[0xff; 100]), ScrapeRequest::More);
    }

    #[test]
    fn the_format_follows_the_accept_header() {
        for (accept, form) in [
            ("", ExpositionFormat::Text),
            ("*/*", ExpositionFormat::Text),
            ("text/plain", ExpositionFormat::Text),
            ("application/openmetrics-text", ExpositionFormat::OpenMetrics),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                ExpositionFormat::OpenMetrics,
            ),
            (
                "application/openmetrics-text; version=0.0.1, */*;q=0.1",
                ExpositionFormat::Text,
            ),
            (
                "Application/OpenMetrics-Text; Version=\"1.0.0\"; q=0.4, text/plain; q=0.3",
                ExpositionFormat::OpenMetrics,
            ),
            (
                "application/openmetrics-text;q=0.2,text/plain;q=0.9",
                ExpositionFormat::Text,
            ),
            ("application/openmetrics-text;q=0", ExpositionFormat::Text),
            ("application/openmetrics-text;q=x", ExpositionFormat::Text),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\naCCept: {accept}\r\n\r\n");
            assert_eq!(parse_text(&request), ScrapeRequest::Metrics(form), "{accept}");
        }
    }
}
