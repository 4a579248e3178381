//! Metrics of `watch` over HTTP, as a textfile and on standard output, checked with Prometheus' own rules.
//! `live_scraped.rs` tests the programs that read them.

use crate::support::alone;
use crate::support::scraping::{port, response_to, tool, top, until, value};
use crate::support::watched::{DaemonDirectory, is_able};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn scrape(port: u16, accept: &str) -> (String, String) {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n");
    let answer = until("an answer", || response_to(port, &request).ok());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Returns the errors that `promtool check metrics` reports about a text; empty if there are none.
fn objections(promtool: &Path, text: &str) -> String {
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = [output.stdout, output.stderr].concat();
    let message = String::from_utf8_lossy(&message).into_owned();
    assert_eq!(output.status.success(), message.is_empty(), "{message}");
    message
}

#[test]
fn a_daemon_serves_metrics_and_writes_the_textfile() {
    const TEST: &str = "a_daemon_serves_metrics_and_writes_the_textfile";
    if !is_able(TEST) {
        return;
    }
    let (place, port, cpu) = (DaemonDirectory::new(), port(), alone::cpu());
    let file = place.path("quietcore.prom");
    let table = format!(
        "[watch]\nlisten = \"127.0.0.1:{port}\"\ntextfile = \"{}\"\ntextfile_every_s = 1\n",
        file.display()
    );
    place.configure(&table);
    let daemon = place.daemon("");
    place.until_it_watches();
    let line = place.until("where metrics are", |line| line["event"] == "metrics");
    assert!(
        line["message"]
            .as_str()
            .unwrap()
            .contains(&format!("http://127.0.0.1:{port}/metrics")),
        "{line}"
    );

    let (head, first) = scrape(port, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.contains("application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    assert!(first.ends_with("# EOF\n"));
    let ticks = format!("quietcore_interruptions_total{{cpu=\"{cpu}\",class=\"tick\"}}");
    assert!(value(&first, &ticks) > 0.0);
    assert_eq!(
        value(&first, &format!("quietcore_cpu_online{{cpu=\"{cpu}\"}}")).to_bits(),
        1.0_f64.to_bits()
    );
    let findings = first
        .lines()
        .filter(|line| line.starts_with("quietcore_check_findings{") && line.contains("error"));
    assert!(
        findings.map(|line| value(line, "q")).sum::<f64>() >= 1.0,
        "the partition is missing: {first}"
    );
    assert!(
        first.contains("quietcore_check_finding_since_timestamp_seconds{id=\"partition-missing\""),
        "{first}"
    );
    // Metrics of other CPUs are not exported.
    assert!(!first.contains("cpu=\"0\"") || cpu == "0", "{first}");
    // The counters are read again at most once per second, and the timer has ticked since then.
    until("a later count", || {
        (value(&scrape(port, "").1, &ticks) > value(&first, &ticks)).then_some(())
    });
    let (head, text) = scrape(port, "text/plain");
    assert!(
        head.contains("text/plain; version=0.0.4") && !text.contains("# EOF"),
        "{head}"
    );
    assert!(
        response_to(port, "GET / HTTP/1.1\r\n\r\n")
            .unwrap()
            .starts_with("HTTP/1.1 404 ")
    );

    let written = until("the textfile", || std::fs::read_to_string(&file).ok());
    assert!(value(&written, "quietcore_daemon_questions_total ") >= 1.0);
    until("a newer textfile", || {
        let newer = std::fs::read_to_string(&file).unwrap();
        (value(&newer, &ticks) > value(&written, &ticks)).then_some(())
    });
    let names = std::fs::read_dir(place.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let beside: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".prom")).collect();
    assert_eq!(
        beside,
        ["quietcore.prom"],
        "a half-written file has no name that a collector reads"
    );

    if let Some(promtool) = tool("promtool", TEST) {
        for text in [&text, &written] {
            assert_eq!(objections(&promtool, text), "", "{text}");
        }
    }
    // A client that connects and sends nothing does not keep the port open.
    let _silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
    place.configure("[watch]\n");
    daemon.signal(libc::SIGHUP);
    place.until("that they end", |line| {
        line["message"] == "metrics are no longer served"
    });
    until("a closed port", || TcpStream::connect(("127.0.0.1", port)).err());
    assert_eq!(daemon.end(), Some(0));
}

/// The IPv6 loopback works like the IPv4 one. Other machines cannot reach it.
#[test]
fn a_daemon_serves_metrics_on_the_ipv6_loopback() {
    const TEST: &str = "a_daemon_serves_metrics_on_the_ipv6_loopback";
    let Ok(free) = TcpListener::bind("[::1]:0") else {
        return println!("SKIP: {TEST}: no IPv6 here");
    };
    if !is_able(TEST) {
        return;
    }
    let address = free.local_addr().unwrap();
    drop(free);
    let place = DaemonDirectory::new();
    place.configure(&format!("[watch]\nlisten = \"{address}\"\n"));
    let daemon = place.daemon("");
    let line = place.until("where metrics are", |line| line["event"] == "metrics");
    assert_eq!(
        line["message"],
        format!("metrics will be served at http://[::1]:{}/metrics", address.port())
    );
    let mut stream = until("a port", || TcpStream::connect(address).ok());
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 200 ") && text.contains("quietcore_cpu_online{"),
        "{text}"
    );
    assert_eq!(daemon.end(), Some(0));
}

/// The daemon exports findings that it detected before metrics were enabled.
#[test]
fn metrics_enabled_later_contain_existing_findings() {
    if !is_able("metrics_enabled_later_contain_existing_findings") {
        return;
    }
    let (place, port, cpu) = (DaemonDirectory::new(), port(), alone::cpu());
    place.configure("[watch]\n");
    let daemon = place.daemon("");
    place.until_it_watches();
    place.configure(&format!("[watch]\nlisten = \"127.0.0.1:{port}\"\n"));
    daemon.signal(libc::SIGHUP);
    place.until("where metrics are", |line| line["event"] == "metrics");
    let online = format!("quietcore_cpu_online{{cpu=\"{cpu}\"}} 1");
    until("what stands", || {
        let (_, text) = scrape(port, "");
        (text.contains(&online) && text.contains("{id=\"partition-missing\"")).then_some(())
    });
    assert_eq!(daemon.end(), Some(0));
}

#[test]
fn an_unavailable_port_or_file_is_reported_and_retried() {
    if !is_able("an_unavailable_port_or_file_is_reported_and_retried") {
        return;
    }
    let place = DaemonDirectory::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let folder = place.path("later");
    place.configure(&format!(
        "[watch]\nlisten = \"127.0.0.1:{port}\"\ntextfile = \"{}/quietcore.prom\"\ntextfile_every_s = 1\n\
         results = \"{}\"\n",
        folder.display(),
        place.path("noise.json").display()
    ));
    std::fs::write(place.path("noise.json"), "{}").unwrap();
    let daemon = place.daemon("");
    place.until_it_watches();
    let says = |what: &str| {
        place.until(what, |line| {
            line["event"] == "metrics" && line["message"].as_str().is_some_and(|text| text.contains(what))
        })
    };
    says("cannot be served: Address already in use");
    says("No such file or directory");
    says("noise.json: ");
    drop(other);
    std::fs::create_dir(&folder).unwrap();
    says(&format!("127.0.0.1:{port} is served again"));
    says("quietcore.prom is written again");
    assert!(scrape(port, "").0.starts_with("HTTP/1.1 200 "));
    assert_eq!(daemon.end(), Some(0));
}

#[test]
fn metrics_can_be_printed_once_without_a_daemon() {
    const TEST: &str = "metrics_can_be_printed_once_without_a_daemon";
    let cpu = alone::cpu();
    let look = |form: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .args(["watch", form, "--for", "10ms", "--cpus", &cpu])
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{message}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (text, open) = (look("--metrics"), look("--metrics=openmetrics"));
    assert!(
        value(
            &text,
            &format!("quietcore_interruptions_total{{cpu=\"{cpu}\",class=\"tick\"}}")
        ) > 0.0
    );
    assert!(!text.contains("quietcore_daemon") && open.ends_with("# EOF\n"));
    if let Some(promtool) = tool("promtool", TEST) {
        assert_eq!(objections(&promtool, &text), "");
    }
    for words in [["--metrics=xml", "--quiet"], ["--metrics", "--daemon"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_quietcore"))
            .arg("watch")
            .args(words)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
}

/// Returns the metric names of all lines of a text.
fn names(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split(['{', ' ']).next().unwrap().to_owned())
        .collect()
}

/// Returns the words of an expression or a text that look like quietcore metrics and do not exist.
fn unknown_metrics(text: &str, known: &BTreeSet<String>) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = words.filter(|word| word.starts_with("quietcore_"));
    ours.filter(|word| !known.contains(*word)).map(str::to_owned).collect()
}

/// Collects every `expr` of a dashboard and every query of its variables.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" || name == "query" => found.push(text.to_owned()),
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

#[test]
fn dashboard_and_rules_use_only_existing_metrics() {
    const TEST: &str = "dashboard_and_rules_use_only_existing_metrics";
    let golden = std::fs::read_to_string(top().join("fixtures/watch/metrics/partition.prom")).unwrap();
    let known = names(&golden);
    assert_eq!(
        unknown_metrics("rate(quietcore_cpu_online[5m]) / quietcore_nothing", &known),
        ["quietcore_nothing"]
    );
    let dashboard = std::fs::read(top().join("packaging/grafana/quietcore.json")).unwrap();
    let dashboard: Value = serde_json::from_slice(&dashboard).unwrap();
    let mut requested = Vec::new();
    expressions(&dashboard, &mut requested);
    assert!(requested.len() > 8, "{requested:?}");
    for expression in &requested {
        assert_eq!(unknown_metrics(expression, &known), [""; 0], "{expression}");
    }
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
    let rules = top().join("packaging/prometheus");
    let text = std::fs::read_to_string(rules.join("quietcore.rules.yml")).unwrap();
    let words: Vec<&str> = text
        .lines()
        .filter(|line| line.trim_start().starts_with("expr:"))
        .collect();
    assert!(words.len() > 4);
    assert_eq!(unknown_metrics(&words.join("\n"), &known), [""; 0]);

    let Some(promtool) = tool("promtool", TEST) else {
        return;
    };
    assert_eq!(objections(&promtool, &golden), "");
    for words in [
        ["check", "rules", "quietcore.rules.yml"],
        ["test", "rules", "quietcore.rules.test.yml"],
    ] {
        let output = Command::new(&promtool)
            .args(words)
            .current_dir(&rules)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{words:?}: {message}");
    }
    // Prometheus' own parser checks the expressions of the dashboard.
    let text: String = requested
        .iter()
        .filter(|expression| !expression.starts_with("label_values("))
        .enumerate()
        .map(|(place, expression)| {
            let expression = expression.replace("$__rate_interval", "5m").replace("$__range", "1h");
            format!("  - record: panel:{place}\n    expr: {}\n", Value::String(expression))
        })
        .collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("groups:\n- name: dashboard\n  rules:\n{text}")).unwrap();
    let output = Command::new(&promtool)
        .args(["check", "rules"])
        .arg(file.path())
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{message}");
}
