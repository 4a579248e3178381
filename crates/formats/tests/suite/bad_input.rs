//! Invalid files: the errors with line and column, and the memory that a huge file takes.

use formats::{ReadError, read};
use std::io::{BufReader, Read};

fn error_of(text: &str) -> String {
    error_of_bytes(text.as_bytes())
}

fn error_of_bytes(bytes: &[u8]) -> String {
    match read(&mut &bytes[..]) {
        Ok(recording) => format!("read as {}", recording.format),
        Err(error) => error.to_string(),
    }
}

const HEAD: &str = "# Histogram\n";

#[test]
fn files_that_are_no_measurement_are_reported() {
    assert!(matches!(read(&mut &b""[..]), Err(ReadError::Empty)));
    assert!(matches!(read(&mut &b" \n\n"[..]), Err(ReadError::Empty)));
    for unknown in [
        &b"\x7fELF\x02\x01\x01\0\0"[..],
        b"hello\n",
        b"{\"a\": 1}",
        b"\xff\xfe\x00",
        b"1,2,3\n",
        b"0 1 2",
    ] {
        assert!(
            matches!(read(&mut &unknown[..]), Err(ReadError::Unknown)),
            "{unknown:?}"
        );
    }
    assert!(error_of(HEAD).contains("no measurement"));
    assert!(error_of("# RTLA timerlat histogram\n").contains("no measurement"));
}

#[test]
fn errors_have_line_and_column() {
    for (text, wanted) in [
        (
            "# Histogram\n000001 000003\n000002 0000x4\n",
            "line 3, column 8: \"0000x4\" is not a number",
        ),
        (
            "# Histogram\n000001 -00003\n",
            "line 2, column 8: \"-00003\" is negative",
        ),
        ("# Histogram\n000001 nan\n", "line 2, column 8: \"nan\" is not a number"),
        (
            "# Histogram\n000001 1 2\n000002 1\n",
            "line 3, column 1: 2 columns instead of 3",
        ),
        (
            "# Histogram\n000001 1\n000001 1\n",
            "line 3, column 1: the row \"000001\" comes after a higher one, or twice",
        ),
        (
            "# Histogram\n000001 1\n# Histogram\n",
            "line 3, column 1: the row \"# Histogram\" comes",
        ),
        (
            "# Histogram\n99999999999999999999 1\n",
            "line 2, column 1: \"99999999999999999999\" is too large",
        ),
        (
            "# Histogram\n18446744073709552 1\n",
            "line 2, column 1: \"18446744073709552\" is too large",
        ),
        (
            "# Histogram\n000001 1\n        Core:\t 0 1\n",
            "line 3, column 9: \"Core:\\t 0 1\" is not expected here",
        ),
        (
            "# Histogram\n000001 18446744073709551615\n000002 1\n",
            "line 3, column 8: \"1\" is too large",
        ),
        (
            "# cpu_mhz: 2597\n# n_interruptions: 1\n 5 0 3\n",
            "line 3, column 2: 3 columns instead of 4",
        ),
        ("Counter Freq: 1 (MHz)\n", "no measurement"),
        (
            "  Core:\t 0 1\nCounter Freq:\t 1 2\n    001 (us):\t 7 -1\n",
            "line 3, column 18: \"-1\" is negative",
        ),
        (
            "# RTLA osnoise histogram\nIndex CPU-000\n0 1 2\n",
            "line 3, column 1: 3 columns instead of 2",
        ),
        (
            "# RTLA osnoise histogram\nIndex BPU-000\n",
            "line 2, column 7: \"BPU-000\" is not expected here",
        ),
        (
            "stress-ng: info:  [1] cyclic:   mean: NaN ns, mode: 7 ns\n",
            "line 1, column 39: \"NaN\" is not a number",
        ),
        (
            "x [0] 1: #1 inner/outer(us): 1/-3 ts:1.0\n",
            "line 1, column 32: \"-3\" is negative",
        ),
        ("0;1.5;9\n0;1.5\n", "line 2, column 1: 2 columns instead of 3"),
        (
            "       0        1\n       1       1x\n",
            "line 2, column 16: \"1x\" is not a number",
        ),
        ("Tag=cpu1,0.0,1.0,1.0,HISTFAAAAEl4nO3IsQ\n", "cannot be unpacked"),
        (
            "{\"rt_test_version:\": \"2.40\",\n \"thread\": {\"0\": {\"histogram\": {\"7\": -1}}}}",
            "at line 2 column 40",
        ),
        (
            "{\"rt_test_version:\": \"2.40\",\n \"thread\": {\"0\": {\"histogram\": {\"7\": 1, \"7\": 2}}}}",
            "the key \"7\" is listed twice",
        ),
        ("{\"rt_test_version:\": \"2.40\", \"thread\": {}}", "no thread"),
        ("{\"rt_test_version:\": \"2.40\", \"thr", "at line 1 column"),
        ("{\"schema\":\"quietcore.measure/1\",\"kind\":7}", "at line 1 column"),
    ] {
        let message = error_of(text);
        assert!(message.contains(wanted), "{text:?}: {message}");
    }
    let hostile = "# Histogram\n\u{1b}]0;x\u{7}\u{202e}evil\n";
    let message = error_of(hostile);
    assert!(
        !message.contains('\u{1b}') && !message.contains('\u{202e}') && !message.contains('\u{7}'),
        "{message:?}"
    );
    assert!(error_of_bytes(b"# Histogram\n000001 1\n\xff\xfe\n").contains("line 3, column 1: this is not text"));
}

#[test]
fn a_truncated_file_is_read_and_reported_as_truncated() {
    for name in [
        "cyclictest-2.4-H.txt",
        "oslat-2.4.txt",
        "rtla-timerlat.txt",
        "systress.txt",
    ] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/foreign")
            .join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let end = text
            .find("# Total")
            .or_else(|| text.find("010 (us)"))
            .or_else(|| text.find("over:"));
        let cut = &text[..end.or_else(|| text.find("# ")).unwrap()];
        let recording = read(&mut cut.trim_end_matches(' ').as_bytes()).unwrap();
        assert!(recording.notes.iter().any(|note| note.id == "truncated"), "{name}");
        assert!(
            recording.series.iter().all(|series| series.overflow.is_none()),
            "{name}"
        );
        assert_eq!(
            recording.series.len(),
            if name.starts_with("systress") {
                1
            } else {
                recording.series.len()
            }
        );
    }
}

/// A reader that repeats a line up to this many bytes.
struct RepeatedLine {
    block: Vec<u8>,
    place: usize,
    left: usize,
}

impl RepeatedLine {
    fn new(line: &str, bytes: usize) -> RepeatedLine {
        RepeatedLine {
            block: line.as_bytes().repeat(4_096),
            place: 0,
            left: bytes / line.len() * line.len(),
        }
    }
}

impl Read for RepeatedLine {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(self.left).min(self.block.len() - self.place);
        buffer[..count].copy_from_slice(&self.block[self.place..self.place + count]);
        self.place = (self.place + count) % self.block.len();
        self.left -= count;
        Ok(count)
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn reading_a_huge_file_takes_little_memory() {
    let before = resident_kib();
    // The largest file is first. The others show that no other reader keeps its lines either.
    for (mebibytes, head, line, ends) in [
        (100, "", "       0:       1:      14\n", "read"),
        (8, "", "T: 0 (1) P:80 I:1000 C: 5 Min: 6 Act: 6 Avg: 6 Max: 8\n", "read"),
        (8, "", "T: 0 Spike:     160: TS:  64915147441\n", "read"),
        (8, "# Histogram\n", "# any comment\n", "no measurement"),
        (
            8,
            "# cpu_mhz: 2597\n# n_interruptions: 3\n",
            " 3440870 0 42718 16448\n",
            "read",
        ),
        (8, "", "0;1114.936950838;9\n", "read"),
        (
            8,
            "",
            "x [001] 678.473449: #1 inner/outer(us): 11/12 ts:1581527483.343962693\n",
            "read",
        ),
        (8, "# Histogram\n", "7", "longer than"),
        (
            100,
            "{\"rt_test_version:\": \"2.40\", \"cmdline:\": \"",
            "aaaaaaaa",
            "more than 67108864 bytes of JSON",
        ),
        (
            16,
            "{\"rt_test_version:\": \"2.40\", \"thread\": {\"0\": {\"histogram\": {",
            "\"1\": 1, ",
            "more than 1000000 entries",
        ),
    ] {
        let repeated = RepeatedLine::new(line, mebibytes << 20);
        let mut input = BufReader::new(head.as_bytes().chain(repeated));
        match read(&mut input) {
            Ok(_) => assert_eq!(ends, "read", "{line}"),
            Err(error) => assert!(error.to_string().contains(ends), "{line}: {error}"),
        }
    }
    let grown = resident_kib() - before;
    assert!(grown < 200 * 1_024, "{grown} KiB");
}
