//! A page in a real Chromium, controlled through a pipe with the `DevTools` protocol: keys and pointer events like
//! those of a user.

pub mod drawing;
pub mod screens;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An open page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    request_id: u64,
    /// The addresses that the page fetched.
    pub fetched: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens the page. Prints a skip message and returns `None` if there is no Chromium.
    pub fn open(test: &str, html: &str) -> Option<Browser> {
        let found = [
            "/usr/bin/chromium",
            "/usr/bin/chromium-browser",
            "/usr/bin/google-chrome",
        ];
        let Some(program) = found.into_iter().find(|path| Path::new(path).exists()) else {
            println!("SKIP: {test}: there is no Chromium here");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let file = profile.path().join("page.html");
        std::fs::write(&file, html).unwrap();
        // The protocol uses the file descriptors 3 and 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(["--window-size=1200,1000", "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut browser = Browser {
            child,
            to,
            from: BufReader::new(from),
            session: None,
            request_id: 0,
            fetched: Vec::new(),
            _profile: profile,
        };
        let made = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": made["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.call("Page.enable", json!({}));
        browser.call("Network.enable", json!({}));
        browser.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        browser.until(|message| message["method"] == "Page.loadEventFired");
        Some(browser)
    }

    /// Evaluates an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let requested = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", requested);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Evaluates an expression as text.
    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Presses a key, with Shift if `modifiers` is 8.
    pub fn key(&mut self, key: &str, modifiers: u8) {
        let mut event = json!({"type": "keyDown", "key": key, "modifiers": modifiers});
        let code = match key {
            "Tab" => Some(9),
            "Enter" => Some(13),
            " " => Some(32),
            _ => None,
        };
        if let Some(code) = code {
            event["windowsVirtualKeyCode"] = json!(code);
        }
        // Buttons react to the text of the key, everything else to the key itself.
        if key == "Enter" {
            event["text"] = json!("\r");
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Sends a pointer event.
    pub fn pointer(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses at one place, moves, and releases at another.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.pointer("mouseMoved", from);
        self.pointer("mousePressed", from);
        self.pointer("mouseMoved", (f64::midpoint(from.0, to.0), from.1));
        self.pointer("mouseMoved", to);
        self.pointer("mouseReleased", to);
    }

    /// Calls a method of the protocol and waits for its response.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.request_id += 1;
        let mut message = json!({"id": self.request_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        let id = self.request_id;
        let answer = self.until(|message| message["id"] == id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Returns whether only the page itself was fetched.
    pub fn is_alone(&self) -> bool {
        matches!(self.fetched.as_slice(), [page] if page.starts_with("file://"))
    }

    fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut bytes = Vec::new();
            let read = self.from.read_until(0, &mut bytes).unwrap();
            assert!(read > 0, "Chromium ended");
            bytes.pop();
            let message: Value = serde_json::from_slice(&bytes).unwrap();
            if message["method"] == "Network.requestWillBeSent" {
                let address = &message["params"]["request"]["url"];
                self.fetched.push(address.as_str().unwrap_or_default().to_owned());
            }
            if is_wanted(&message) {
                return message;
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
