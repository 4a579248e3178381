//! Parsing of measurement configurations: the article's files, our own format, and every error in either.

use machine::Nanos;
use measure::configuration::{
    ConfigurationError, ConfigurationForm, ConfiguredSampler, CpuLoad, EndAction, MemoryLock, RunConfiguration,
    SamplerQuestion, SourceValue, parse,
};
use measure::load::LoadKind;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/systress")
        .join(name);
    std::fs::read(path).unwrap()
}

fn value<T>(written: Option<&SourceValue<T>>) -> Option<&T> {
    written.map(|written| &written.value)
}

fn only(described: &RunConfiguration) -> &ConfiguredSampler {
    assert_eq!(described.samplers.len(), 1);
    &described.samplers[0]
}

#[test]
fn host_cfg_is_parsed_completely() {
    let described = parse(&fixture("host.cfg")).unwrap();
    assert_eq!(described.form, ConfigurationForm::Systress);
    assert_eq!(value(described.main.cpus.as_ref()).unwrap(), "0-6");
    assert_eq!(described.main.refresh, Duration::from_millis(1500));
    assert_eq!(described.main.cpu_load, CpuLoad::Hidden);
    assert_eq!(described.main.format, "systress");
    let timer = only(&described);
    let second = Duration::from_millis(1);
    assert_eq!(timer.question, SamplerQuestion::Latency { interval: second });
    assert_eq!((timer.index, timer.name.value.as_str()), (0, "timer_thread[0]"));
    assert_eq!(value(timer.cpus.as_ref()).unwrap(), "7");
    assert_eq!(value(timer.policy.as_ref()).unwrap(), "fifo:99");
    assert_eq!(timer.lifetime, Some(Duration::from_secs(60)));
    assert_eq!(timer.histogram, Some(Nanos(20_000)));
    assert_eq!(timer.file, Some(PathBuf::from("timer_thread00.txt")));
    assert!(described.programs.is_empty() && described.notes.is_empty());
}

#[test]
fn the_load_of_host2_cfg_keeps_its_braces_semicolons_and_quotes() {
    let described = parse(&fixture("host2.cfg")).unwrap();
    assert_eq!(described.main.cpu_load, CpuLoad::All);
    let commands: Vec<Vec<&str>> = described
        .programs
        .iter()
        .map(|program| program.command.value.iter().map(String::as_str).collect())
        .collect();
    assert_eq!(
        commands,
        [
            vec!["find", "/", "-type", "d", "-exec", "/bin/ls", "{}", ";", "-print"],
            vec!["ping", "-f", "localhost"],
            vec!["sh", "-c", "find / -type d -print0 | tar --null -cvzf - -T -"],
        ]
    );
    for program in &described.programs {
        assert_eq!(value(program.cpus.as_ref()).unwrap(), "0-6");
        assert_eq!(program.output, Some(PathBuf::from("/dev/null")));
        assert_eq!(program.errors, Some(PathBuf::from("/dev/null")));
        assert_eq!(
            (program.after_success, program.after_failure),
            (EndAction::Respawn, EndAction::Respawn)
        );
    }
    assert_eq!(value(described.programs[0].policy.as_ref()).unwrap(), "other");
    assert_eq!(described.programs[1].policy, None);
}

#[test]
fn the_file_of_the_raspberry_pi_is_parsed_completely() {
    let described = parse(&fixture("rpi_isolcpus.cfg")).unwrap();
    assert_eq!(described.main.memory, MemoryLock::Locked);
    assert_eq!(described.main.refresh, Duration::from_secs(2));
    let timer = only(&described);
    assert_eq!(timer.lifetime, Some(Duration::from_secs(600)));
    assert_eq!(timer.histogram, Some(Nanos(200_000)));
    assert_eq!(timer.file, Some(PathBuf::from("rpi_isolcpus.txt")));
}

#[test]
fn unsupported_keys_are_reported_and_not_dropped() {
    let text = "main {\n stats.format csv\n dbg_level 3\n}\ntimer_thread[3] {\n}\n";
    let described = parse(text.as_bytes()).unwrap();
    assert_eq!(described.notes.len(), 2, "{:?}", described.notes);
    assert_eq!(described.main.format, "csv");
    assert_eq!(only(&described).file, Some(PathBuf::from("timer_thread03.txt")));
}

const OWN: &str = r#"
[main]
cpus = "0-6"
refresh = "1500 ms"
cpu_load = "0,7"
memory = "locked"

[[latency]]
name = "wake"
cpus = "7"
policy = "fifo:99"
interval = "250 us"
for = "1 min"
histogram = "20 us"
out = "wake.txt"
format = "systress"

[[noise]]
cpus = "core-of:5"
threshold = "500 ns"

[[load]]
kind = "system_calls"
cpus = "0-3"

[[program]]
command = "sh -c 'exit 3'"
after_failure = "respawn"
after_success = "end"
cgroup = "/rt"
for = "10 s"

[[program]]
command = ["find", "/", "-name", "a b"]
"#;

#[test]
fn the_own_form_can_express_everything() {
    let described = parse(OWN.as_bytes()).unwrap();
    assert_eq!(described.form, ConfigurationForm::Own);
    assert_eq!(described.main.memory, MemoryLock::Locked);
    let CpuLoad::Of(shown) = &described.main.cpu_load else {
        panic!("{:?}", described.main.cpu_load);
    };
    assert_eq!((shown.value.as_str(), shown.line, shown.column), ("0,7", 5, 12));
    let [wake, noise] = described.samplers.as_slice() else {
        panic!("{:?}", described.samplers);
    };
    assert_eq!(wake.name.value, "wake");
    let interval = Duration::from_micros(250);
    assert_eq!(wake.question, SamplerQuestion::Latency { interval });
    assert_eq!(value(wake.format.as_ref()).unwrap(), "systress");
    let threshold = Duration::from_nanos(500);
    assert_eq!(noise.question, SamplerQuestion::Noise { threshold });
    assert_eq!((noise.name.value.as_str(), noise.lifetime), ("noise[0]", None));
    assert_eq!(described.loads[0].kind, LoadKind::SystemCalls);
    let [shell, find] = described.programs.as_slice() else {
        panic!("{:?}", described.programs);
    };
    assert_eq!(shell.command.value, ["sh", "-c", "exit 3"]);
    assert_eq!(
        (shell.after_success, shell.after_failure),
        (EndAction::End, EndAction::Respawn)
    );
    assert_eq!(shell.lifetime, Some(Duration::from_secs(10)));
    assert_eq!(value(shell.cgroup.as_ref()).unwrap(), "/rt");
    assert_eq!(find.command.value, ["find", "/", "-name", "a b"]);
    assert_eq!(find.after_failure, EndAction::Leave);
}

/// Checks the position of the error, as `line:column`, and a part of its message.
fn check(text: &str, wanted: &str, words: &str) {
    let ConfigurationError {
        line,
        column,
        why,
        next,
    } = parse(text.as_bytes()).unwrap_err();
    assert_eq!(format!("{line}:{column}"), wanted, "{text:?}: {why}");
    assert!(why.contains(words) || next.contains(words), "{text:?}: {why} / {next}");
    assert!(!why.is_empty() && !next.is_empty());
}

#[test]
fn errors_in_stanzas_are_reported_with_their_position() {
    let timer = |key: &str| format!("# load\ntimer_thread[0]\n{{\n  {key}\n}}\n");
    check("main\n{\n}\n", "0:0", "timer_thread[0]");
    check(&timer("colour red"), "4:3", "`colour`");
    check(&timer("lifetime.duration 1 fortnight"), "4:21", "fortnight");
    check(&timer("lifetime.duration 60"), "4:21", "has no unit");
    check(&timer("stats.histo_size 0 us"), "4:20", "not a length");
    check(&timer("lifetime.duration"), "4:3", "no value");
    check(&timer("cpu_affinity"), "4:3", "no value");
    check(&timer("sched.policy FIFO"), "4:16", "sched.priority");
    check(&timer("sched.priority 10"), "4:3", "policy");
    check(&timer("sched.policy FIFO\n sched.priority 100"), "5:17", "1 to 99");
    check(&timer("sched.policy OTHER\n sched.priority 1"), "5:17", "leave it out");
    check(&timer("sched.policy SPORADIC"), "4:16", "FIFO");
    check(&timer("cpu_affinity 1\n cpu_affinity 2"), "5:2", "twice");
    check("timer_thread[0]\n{\n}\ntimer_thread[0]\n{\n}\n", "4:1", "twice");
    check("timer_thread\n{\n}\n", "1:1", "timer_thread[0]");
    check("main[0]\n{\n}\n", "1:1", "main");
    check("timer_thread[x]\n{\n}\n", "1:13", "index");
    check("timer_thread[99999999999]\n{\n}\n", "1:13", "index");
    check("timer_thread[0]\n  cpu_affinity 3\n", "2:3", "missing");
    check("timer_thread[0]\n{\n  cpu_affinity 3\n", "1:1", "never closed");
    check("{\n}\n", "1:1", "stanza");
    check("main\n{\n}\n[...]\n", "4:1", "index");
    check("main\n{\n  memlock yes\n}\n", "3:11", "alone");
    let program = |key: &str| format!("program[0] {{\n{key}\n}}\ntimer_thread[0] {{\n}}\n");
    check(&program("output.out /dev/null"), "1:1", "cmdline");
    check(&program("cmdline sh -c 'x"), "2:15", "never closed");
    check(&program("cmdline ls\ntermination.ok STOP"), "3:16", "RESPAWN");
}

#[test]
fn errors_in_the_own_form_are_reported_with_their_position() {
    check("", "0:0", "[[latency]]");
    check("[main]\ncpus = \"1\"\n", "0:0", "[[latency]]");
    check("[[latency]]\ncolour = \"red\"\n", "2:1", "colour");
    check("[[latency]]\ninterval = \"1 fortnight\"\n", "2:12", "fortnight");
    check("[[latency]]\ninterval = 10\n", "2:12", "string");
    check("[[latency]]\nfor = \"10\"\n", "2:7", "has no unit");
    check("[[latency]]\nthreshold = \"1 us\"\n", "2:13", "[[noise]]");
    check("[[noise]]\ninterval = \"1 ms\"\n", "2:12", "[[latency]]");
    check("[[noise]]\n[[load]]\nkind = \"tea\"\n", "3:8", "tea");
    check("[[noise]]\n[[program]]\ncommand = \"\"\n", "3:11", "empty");
    check("[[noise]]\n[[program]]\ncommand = []\n", "3:11", "empty");
    check("[[noise]]\n[[program]]\ncommand = \"a 'b\"\n", "3:14", "never closed");
    check("[[noise]]\n[[program]]\n", "2:1", "command");
    check("[[latency]\n", "1:11", "");
}

#[test]
fn binary_and_oversized_files_are_refused() {
    let error = parse(b"main\n{\n  \xff\n}\n").unwrap_err();
    assert_eq!((error.line, error.column), (3, 3));
    let huge = vec![b'#'; measure::configuration::MOST_BYTES + 1];
    assert_eq!(parse(&huge).unwrap_err().line, 0);
    assert!(parse(&huge[1..]).unwrap_err().why.contains("measures"));
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in "[a-z_\\[\\]{}#\"'\\\\ .0-9=\n\u{e9}-]{0,200}") {
        let _ = parse(text.as_bytes());
    }

    #[test]
    fn a_truncated_file_causes_no_panic(cut in 0usize..900) {
        let whole = fixture("host2.cfg");
        let _ = parse(&whole[..cut.min(whole.len())]);
        let _ = parse(&OWN.as_bytes()[..cut.min(OWN.len())]);
    }
}

/// Returns the CPU time of parsing: the minimum of several runs, because disturbances only add time.
fn work_of(text: &str) -> Duration {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
    };
    let read = |_| {
        let start = now();
        parse(text.as_bytes()).unwrap();
        now() - start
    };
    (0..5).map(read).min().unwrap()
}

#[test]
fn parsing_time_is_not_quadratic_in_the_samplers() {
    let in_lines = |count: usize| "[[noise]]\ncpus = \"1\"\npolicy = \"fifo\"\n".repeat(count);
    let in_one = |count: usize| {
        let tables = "{ cpus = \"1\", policy = \"fifo\" }, ".repeat(count);
        format!("noise = [{}]", tables.trim_end_matches(", "))
    };
    for (name, few, many) in [
        ("a line each", in_lines(1_500), in_lines(6_000)),
        ("one line", in_one(1_500), in_one(6_000)),
    ] {
        let (few, many) = (work_of(&few), work_of(&many));
        assert!(many < few * 10, "{name}: {few:?} for 1500, {many:?} for 6000");
    }
}
