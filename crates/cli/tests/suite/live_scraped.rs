//! Metrics of `watch` read by Prometheus and `node_exporter`, as packaged by Debian.

use crate::support::scraping::{ScopedChild, port, response_to, tool, top, until, value};
use crate::support::watched::{DaemonDirectory, is_able};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// The textfile collector of Debian's `node_exporter` exports every line that the daemon wrote.
#[test]
fn node_exporter_exports_the_textfile() {
    const TEST: &str = "node_exporter_exports_the_textfile";
    if !is_able(TEST) {
        return;
    }
    let Some(exporter) = tool("prometheus-node-exporter", TEST) else {
        return;
    };
    let (place, port) = (DaemonDirectory::new(), port());
    let folder = place.path("textfiles");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("quietcore.prom");
    place.configure(&format!(
        "[watch]\ntextfile = \"{}\"\ntextfile_every_s = 1\n",
        file.display()
    ));
    let daemon = place.daemon("");
    place.until_it_watches();
    until("the textfile", || file.exists().then_some(()));
    // The daemon has ended, so the file no longer changes.
    assert_eq!(daemon.end(), Some(0));
    let child = Command::new(exporter)
        .args(["--collector.disable-defaults", "--collector.textfile"])
        .arg(format!("--collector.textfile.directory={}", folder.display()))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _exporter = ScopedChild(child);
    let given = until("its answer", || {
        response_to(port, "GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n").ok()
    });
    let written = std::fs::read_to_string(&file).unwrap();
    // `node_exporter` sorts the labels of a line by name.
    let ours = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter(|line| line.starts_with("quietcore_"));
        let ordered = |line: &str| {
            let (name, _) = line.rsplit_once(' ').unwrap();
            let mut labels: Vec<&str> = name.split(['{', ',', '}']).collect();
            labels.sort_unstable();
            labels.join(" ")
        };
        lines.map(ordered).collect()
    };
    assert!(!ours(&written).is_empty());
    assert_eq!(ours(&given), ours(&written));
    assert!(value(&given, "node_textfile_scrape_error ").abs() < 0.5, "{given}");
    for line in written.lines().filter(|line| line.starts_with("# TYPE")) {
        assert!(given.contains(line), "{line}");
    }
}

/// Prometheus scrapes the daemon on loopback and loads our rules.
#[test]
fn prometheus_scrapes_the_daemon() {
    const TEST: &str = "prometheus_scrapes_the_daemon";
    if !is_able(TEST) {
        return;
    }
    let Some(prometheus) = tool("prometheus", TEST) else {
        return;
    };
    let (place, port, web) = (DaemonDirectory::new(), port(), port());
    place.configure(&format!("[watch]\nlisten = \"127.0.0.1:{port}\"\n"));
    let daemon = place.daemon("");
    place.until_it_watches();
    let rules = std::fs::canonicalize(top().join("packaging/prometheus/quietcore.rules.yml")).unwrap();
    let configuration = place.path("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nrule_files: [{}]\nscrape_configs:\n- job_name: quietcore\n  \
         static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n",
        rules.display()
    );
    std::fs::write(&configuration, text).unwrap();
    let message = place.path("prometheus.log");
    let child = Command::new(prometheus)
        .arg(format!("--config.file={}", configuration.display()))
        .arg(format!("--storage.tsdb.path={}", place.path("tsdb").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{web}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&message).unwrap())
        .spawn()
        .unwrap();
    let _prometheus = ScopedChild(child);
    let get = |path: &str| -> Option<Value> {
        let answer = response_to(web, &format!("GET {path} HTTP/1.0\r\nHost: x\r\n\r\n")).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    };
    let count = |query: &str| -> Option<f64> {
        let answer = get(&format!("/api/v1/query?query={query}"))?;
        let found = answer["data"]["result"].as_array()?.first()?["value"][1]
            .as_str()?
            .to_owned();
        found.parse().ok()
    };
    let ticks = until("a count in Prometheus", || {
        count("sum(quietcore_interruptions_total{class=%22tick%22})").filter(|ticks| *ticks > 0.0)
    });
    until("a second scrape", || {
        count("sum(quietcore_interruptions_total{class=%22tick%22})").filter(|later| *later > ticks)
    });
    let targets = get("/api/v1/targets").unwrap();
    let target = &targets["data"]["activeTargets"][0];
    assert_eq!(
        (&target["health"], &target["lastError"]),
        (&"up".into(), &"".into()),
        "{target}"
    );
    let kind = get("/api/v1/metadata?metric=quietcore_interruptions_total").unwrap();
    let open = get("/api/v1/metadata?metric=quietcore_interruptions").unwrap();
    let kinds = [kind, open].map(|answer| answer["data"].to_string());
    assert!(kinds.concat().contains("\"type\":\"counter\""), "{kinds:?}");
    let groups = get("/api/v1/rules").unwrap();
    let rules = groups["data"]["groups"].as_array().unwrap();
    assert!(!rules.is_empty(), "{groups}");
    for rule in rules.iter().flat_map(|group| group["rules"].as_array().unwrap()) {
        assert_ne!(rule["health"], "err", "{rule}");
    }
    assert_eq!(daemon.end(), Some(0));
}
