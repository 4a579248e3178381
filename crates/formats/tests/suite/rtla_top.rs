//! `rtla timerlat top`, `osnoise top` and `hwnoise`: each number equals the one in the file, and no distribution is
//! claimed.

use crate::support::{fact, has, outcome, recording, recording_of, refused, text};
use formats::requirement::RequirementOutcome;
use formats::statistics::{best_quantile, quantile};
use formats::{Recording, Series, SeriesKind, WakeUpPart};

fn of(recording: &Recording, cpu: u32, part: Option<WakeUpPart>) -> &Series {
    let mut all = recording.series.iter();
    all.find(|series| (series.cpu, series.part) == (Some(cpu), part))
        .unwrap()
}

#[test]
fn timerlat_top_gives_statistics_without_a_distribution() {
    let found = recording("rtla-timerlat-top.txt");
    assert_eq!(
        (found.kind(), found.format, found.series.len()),
        (SeriesKind::Latency, "rtla-top", 6)
    );
    let irq = of(&found, 23, Some(WakeUpPart::Irq));
    assert_eq!(
        (irq.samples(), irq.stated.min_ns, irq.stated.max_ns),
        (Some(12_320), Some(0), Some(28_000))
    );
    let thread = of(&found, 23, Some(WakeUpPart::Thread));
    let stated = &thread.stated;
    assert_eq!(
        (stated.min_ns, stated.mean_ns, stated.max_ns),
        (Some(3_000), Some(11_000.0), Some(41_000))
    );
    // The count in the table is that of timer interrupts.
    assert_eq!(thread.samples(), None);
    assert_eq!((quantile(thread, 0.5), best_quantile(thread, 0.99)), (None, None));
    assert_eq!(outcome(thread, "max", 42_000), RequirementOutcome::Held);
    assert_eq!(outcome(thread, "max", 41_000), RequirementOutcome::Violated);
    assert_eq!(outcome(thread, "p99", 1_000_000), RequirementOutcome::NotShown);
    for id in ["stopped", "no_histogram", "count_of_interrupts", "missed_not_counted"] {
        assert!(has(&found, id), "{id}");
    }
    assert_eq!(fact(&found.facts, "duration"), "0 00:00:12");
}

#[test]
fn osnoise_top_gives_the_maximum_and_sums() {
    let found = recording("rtla-osnoise-top.txt");
    assert_eq!((found.kind(), found.series.len()), (SeriesKind::Noise, 4));
    let noisy = of(&found, 3, None);
    assert_eq!((noisy.samples(), noisy.stated.max_ns), (None, Some(23_000)));
    let header = text("rtla-osnoise-top.txt");
    let row = header.lines().last().unwrap();
    let words: Vec<&str> = row.split_whitespace().skip(2).collect();
    let facts: Vec<&str> = noisy.facts.iter().skip(1).map(|(_, value)| value.as_str()).collect();
    assert_eq!(facts, words);
    assert_eq!(fact(&noisy.facts, "periods"), "59");
    assert_eq!(fact(&noisy.facts, "available_percent"), "99.98441");
    assert_eq!(fact(&noisy.facts, "irq"), "53778");
    assert!(has(&found, "no_histogram") && has(&found, "runtime_only"));
    // If nothing exceeded the threshold, there was no noise.
    let quiet = header.replace(
        "           5            5           0",
        "           0            0           0",
    );
    let quiet = recording_of(&quiet);
    let series = of(&quiet, 1, None);
    assert_eq!((series.samples(), series.stated.max_ns), (Some(0), None));
}

#[test]
fn the_last_table_of_rtla_top_counts_and_terminal_codes_are_skipped() {
    let once = text("rtla-timerlat-top.txt");
    let (table, end) = once.split_once("rtla timerlat hit").unwrap();
    let first = table.replace("#12318", "#7").replace("        28\n", "         9\n");
    let coloured = first.replace(
        "                                     Timer Latency",
        "\u{1b}c\u{1b}[2;37;40m   Timer Latency\u{1b}[0;0;0m",
    );
    let coloured = coloured.replace("CPU COUNT", "\u{1b}[2;30;47mCPU COUNT");
    let only = recording_of(&coloured);
    assert_eq!(of(&only, 21, Some(WakeUpPart::Irq)).samples(), Some(7));
    assert_eq!(only.series.len(), 6);
    let all = "---------------|-----|----\nALL #123450 e1 |                  0         1        28 |     3         9        41\n";
    let both = format!("{coloured}{all}{table}{all}rtla timerlat hit{end}");
    assert_eq!(recording_of(&both), recording("rtla-timerlat-top.txt"));
    // A table that is truncated after its header is ignored.
    let cut = format!("{table}\u{1b}c                  Timer Latency\n");
    assert_eq!(recording_of(&cut).series, recording("rtla-timerlat-top.txt").series);
    // Without the title, and in nanoseconds. A part without samples has no number.
    let (_, untitled) = table.split_once('\n').unwrap();
    let nano = untitled
        .replace("(us)", "(ns)")
        .replace("8         3         8        28", "-         -         -         -");
    let nano = recording_of(&nano);
    assert_eq!(
        (nano.unit_ns, of(&nano, 22, Some(WakeUpPart::Thread)).stated.max_ns),
        (1, Some(22))
    );
    assert_eq!(of(&nano, 21, Some(WakeUpPart::Thread)).stated.max_ns, None);
}

#[test]
fn user_threads_and_hwnoise_have_their_own_columns() {
    let user = "                Timer Latency\n  0 00:00:01   |          IRQ Timer Latency (us)        |         Thread Timer \
        Latency (us)      |    Ret user Timer Latency (us)\nCPU COUNT      |      cur       min       avg       max | cur min avg \
        max | cur min avg max\n  2 #3599966   |        1         0         1        36 |  6 1 6 65 |  9 2 9 81\n";
    let user = recording_of(user);
    assert_eq!(of(&user, 2, Some(WakeUpPart::User)).stated.max_ns, Some(81_000));
    let hwnoise = "            Hardware-related Noise\nduration:   0 00:10:00 | time is in us\n\
        CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI\n\
        \x20 1 #599       599000000          138    99.99997           3            3           4           74\n";
    let hwnoise = recording_of(hwnoise);
    assert_eq!(fact(&hwnoise.facts, "command"), "hwnoise");
    let series = of(&hwnoise, 1, None);
    assert_eq!((series.stated.max_ns, fact(&series.facts, "nmi")), (Some(3_000), "74"));
    assert!(series.facts.iter().all(|(name, _)| name != "irq"));
}

#[test]
fn invalid_tables_of_rtla_top_are_reported_with_their_position() {
    let timerlat = text("rtla-timerlat-top.txt");
    let osnoise = text("rtla-osnoise-top.txt");
    for (text, wanted) in [
        (timerlat.replace("#12319", "12319"), "line 5, column 2: \"22 12319"),
        (
            timerlat.replace("#12319", "#-1"),
            "line 5, column 6: \"-1\" is negative",
        ),
        (
            timerlat.replace("10        22", "10"),
            "line 5, column 66: 3 columns instead of 4",
        ),
        (
            timerlat.replace("10        22", "10        2x"),
            "\"2x\" is not a number",
        ),
        (
            osnoise.replace("        1031 ", "             "),
            "line 4, column 3: 11 columns instead of 12",
        ),
        (osnoise.replace("99.99802", "x"), "\"x\" is not a number"),
        (
            format!("{timerlat}{osnoise}"),
            "the row \"Operating System Noise\" comes",
        ),
        (
            "   Operating System Noise\nCPU Period \n".to_owned(),
            "no line of a CPU",
        ),
    ] {
        let error = refused(&text);
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
}
