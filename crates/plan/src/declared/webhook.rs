//! Parses the URL that alerts are posted to: `http://HOST[:PORT][/PATH]`. It is text from a file, so no part of it may
//! become a separate header.

use serde::Deserialize;

/// A receiver of lines over HTTP.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub struct Webhook {
    /// Name or address of the host; an IPv6 address without its brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The request path, from the first `/` on.
    pub path: String,
    /// The original text.
    pub text: String,
}

/// The default port of `http`.
const USUAL_PORT: u16 = 80;

impl TryFrom<String> for Webhook {
    /// Text only: the caller that reads the file knows the line.
    type Error = String;

    fn try_from(text: String) -> Result<Webhook, String> {
        let wrong = |what: &str, next: &str| format!("[watch] webhook `{text}`: {what}; {next}");
        let form = "write http://HOST:PORT/PATH";
        if text.starts_with("https:") {
            return Err(wrong(
                "https is not supported",
                "let a program send it: alert = [\"/usr/bin/curl\", \"-sS\", \"--json\", \"@-\", \"https://...\"]",
            ));
        }
        let rest = text
            .strip_prefix("http://")
            .ok_or_else(|| wrong("it does not start with http://", form))?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains('#') {
            return Err(wrong("it contains a character that is not allowed in an address", form));
        }
        let (place, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if place.contains('@') {
            return Err(wrong(
                "this file is no place for a user name and password",
                "let a program of `alert` add them",
            ));
        }
        let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place
                .rsplit_once(':')
                .map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(USUAL_PORT), str::parse);
        match (host, port) {
            ("", _) => Err(wrong("it contains no host", form)),
            (_, Err(_) | Ok(0)) => Err(wrong("its port is not a number from 1 to 65535", form)),
            (host, Ok(port)) => Ok(Webhook {
                host: host.to_owned(),
                port,
                path: if path.starts_with('/') {
                    path.to_owned()
                } else {
                    format!("/{path}")
                },
                text: text.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Webhook;

    fn read(text: &str) -> Result<(String, u16, String), String> {
        let webhook = Webhook::try_from(text.to_owned())?;
        Ok((webhook.host, webhook.port, webhook.path))
    }

    #[test]
    fn a_url_has_host_port_and_path() {
        let is = |host: &str, port, path: &str| Ok((host.to_owned(), port, path.to_owned()));
        assert_eq!(read("http://ops:8080/a/b?c=d"), is("ops", 8080, "/a/b?c=d"));
        assert_eq!(read("http://ops"), is("ops", 80, "/"));
        assert_eq!(read("http://[::1]:9/x"), is("::1", 9, "/x"));
        assert_eq!(read("http://ops?c=d"), is("ops", 80, "/?c=d"));
    }

    #[test]
    fn invalid_urls_are_reported() {
        for (text, word) in [
            ("https://ops/", "curl"),
            ("ops:80", "http://"),
            ("http://", "no host"),
            ("http://ops:0/", "port"),
            ("http://ops:http/", "port"),
            ("http://ops:70000/", "port"),
            ("http://ops/a b", "not allowed in an address"),
            ("http://ops/a\r\nX: y", "not allowed in an address"),
            ("http://me:secret@ops/", "password"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
