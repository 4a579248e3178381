//! Drawings of gaps: the page and the bars of a terminal compared with golden files, and properties that golden files
//! do not show.

use crate::support::golden;
use crate::support::models;
use crate::support::models::blamed::{answer, plain_page, row, story};
use blame::{
    BlameResult, Class, Confidence, FunctionTime, FunctionsReport, GapFunctions, HwlatCpu, HwlatReport, LostRecords,
};
use report::{BlamePage, RowLimit, Style, Tracers, blame_html, blame_text, functions_note, tracers_text};

fn page(name: &str) -> String {
    let environment = models::measurement("noise", 1_000, &[]).environment;
    blame_html(&BlamePage {
        json: Some(b"{}"),
        ..plain_page(&answer(name), &environment)
    })
}

/// A gap of one millisecond, most of it in one function with a call path of seven others.
fn functions(name: &str) -> FunctionsReport {
    let of = |name: &str, calls, net_ns, way: &[&str]| FunctionTime {
        name: name.to_owned(),
        calls,
        net_ns,
        way: way.iter().map(|name| (*name).to_owned()).collect(),
    };
    let gap = |start_ns, functions| GapFunctions {
        cpu: 1,
        start_ns,
        duration_ns: 1_000_000,
        in_functions_ns: 900_000,
        functions,
        left_out: 2,
        left_out_ns: 50_000,
    };
    FunctionsReport {
        by: Some("function_graph"),
        why: None,
        lost: 0,
        lost_of: Vec::new(),
        gaps: vec![
            gap(
                7_000_012_345,
                vec![
                    of(name, 12_345, 750_000, &["a", "b", "c", "d", "e", "f", name]),
                    of("update_curr", 4, 100_000, &["hrtimer_interrupt"]),
                ],
            ),
            gap(9_000_000_000, Vec::new()),
        ],
    }
}

fn hwlat() -> HwlatReport {
    let of = |cpu, samples| HwlatCpu {
        cpu,
        samples,
        hits: samples * 2,
        max_ns: samples * 41_000,
        nmis: 0,
    };
    HwlatReport {
        by: Some("hwlat"),
        duration_ns: 4_000_000_000,
        threshold_ns: 1_000,
        window_us: Some(1_000_000),
        width_us: Some(500_000),
        cpus: vec![of(1, 3), of(2, 0)],
        ..HwlatReport::default()
    }
}

fn page_of_tracers(functions: &FunctionsReport, hwlat: &HwlatReport) -> String {
    let environment = models::measurement("noise", 1_000, &[]).environment;
    let tracers = Tracers {
        functions: Some(functions),
        hwlat: Some(hwlat),
    };
    blame_html(&BlamePage {
        tracers,
        ..plain_page(&answer("make"), &environment)
    })
}

#[test]
fn the_page_and_the_text_match_the_golden_files() {
    golden::check("blame.html", &page("make"));
    golden::check("blame.txt", &blame_text(&answer("make"), RowLimit::All, Style::Plain));
}

#[test]
fn bars_are_ascii_within_eighty_columns_and_to_scale() {
    let text = blame_text(&answer("make"), RowLimit::All, Style::Plain);
    assert!(text.is_ascii(), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    let bar = text.lines().find(|line| line.contains("AAAAAA")).expect("a bar");
    let bar = bar.split(' ').next_back().expect("a bar");
    let count = |letter: char| bar.chars().filter(|other| *other == letter).count();
    // 66 columns represent 1,100,001 ns: make 900 us, the interrupt 40 us, BLOCK 120 us from column 20.4 to 27.6, and
    // 40 us unexplained. A column belongs to the cause with the largest part of it.
    assert_eq!(bar.len(), 66);
    assert_eq!((count('A'), count('B'), count('C'), count('.')), (54, 2, 8, 2), "{bar}");
    assert!(text.contains("A make\n"), "{text}");
}

#[test]
fn the_longest_causes_get_letters_and_the_others_share_a_sign() {
    let mut answer = answer("make");
    let cpu = &mut answer.cpus[0];
    cpu.interruptions = (0..30)
        .map(|at| row(Class::Preemption, &format!("task{at}"), 1_000, None))
        .collect();
    // The last cause has by far the most time.
    let mut pieces: Vec<(u64, Option<usize>)> = (0..29).map(|at| (1_000, Some(at))).collect();
    pieces.push((37_000, Some(29)));
    cpu.stories = vec![story(0, &pieces)];
    let text = blame_text(&answer, RowLimit::First(1), Style::Plain);
    assert!(text.contains("* others") && text.contains(" task29\n"), "{text}");
    let bar = text
        .lines()
        .find(|line| line.contains("us ") && line.contains('*'))
        .expect("a bar");
    let letters: std::collections::BTreeSet<char> = bar.chars().filter(char::is_ascii_uppercase).collect();
    assert_eq!(letters.len(), 8, "{text}");
}

#[test]
fn a_page_loads_nothing_and_runs_only_its_own_script() {
    let page = page("make");
    assert_eq!(page.to_lowercase().matches("<script").count(), 1);
    for part in ["http:", "https:", " src=", "@import", "url("] {
        assert!(!page.contains(part), "{part}");
    }
    for part in [
        "fio[12] on CPU 3 -&gt; disk write -&gt; irq 45 nvme0q3 on CPU 1",
        "quietcore apply --cpus 1 --with rq_affinity=2",
        "1 piece too short to draw",
        "1 are not drawn",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn names_of_programs_cannot_become_markup() {
    let page = page("<b onload='x'>\u{1b}&\"");
    assert!(!page.contains("<b onload") && !page.contains('\u{1b}'), "{page}");
    assert!(page.contains("&lt;b onload"));
}

#[test]
fn an_answer_without_gaps_gives_a_page() {
    let mut answer = answer("make");
    answer.cpus[0].stories.clear();
    answer.cpus[0].interruptions.clear();
    let environment = models::measurement("noise", 1_000, &[]).environment;
    let page = blame_html(&plain_page(&answer, &environment));
    assert!(page.ends_with("</html>\n") && !page.contains("The longest gaps"));
    assert!(!blame_text(&answer, RowLimit::All, Style::Plain).contains("longest gaps"));
    let none = blame_html(&plain_page(&BlameResult::default(), &environment));
    assert!(none.ends_with("</html>\n"));
}

/// Without root there are only counters. They give no times, so no share is shown.
#[test]
fn causes_known_only_by_counts_have_no_time_share() {
    let mut answer = answer("make");
    for row in &mut answer.cpus[0].interruptions {
        (row.confidence, row.total_ns, row.max_ns) = (Confidence::Counted, 0, 0);
    }
    answer.cpus[0].stories.clear();
    let environment = models::measurement("noise", 1_000, &[]).environment;
    let page = blame_html(&plain_page(&answer, &environment));
    let screen = blame_text(&answer, RowLimit::All, Style::Plain);
    assert!(page.contains("What would stop it") && screen.contains("What would stop it"));
    assert!(!page.contains("0.0 %"), "{page}");
    assert!(!screen.contains("0.0%"), "{screen}");
    assert!(page.contains("<td class=\"n\">?</td>") && page.contains("<td class=\"n\">-</td>"));
}

#[test]
fn the_page_has_functions_of_the_longest_gaps_and_hwlat_findings() {
    let page = page_of_tracers(&functions("native_queued_spin_lock_slowpath"), &hwlat());
    for part in [
        "CPU 1: a gap of 1\u{a0}ms, of which functions took 900\u{a0}µs",
        "at 7.000012 s of the trace",
        "<code>native_queued_spin_lock_slowpath</code>",
        // The last four functions of the call path, the nearest first.
        "<code>native_queued_spin_lock_slowpath &lt; f &lt; e &lt; d &lt; ...</code>",
        "<td class=\"n\">12,345</td>",
        // Three quarters of the gap.
        "<rect class=\"task\" width=\"750\"",
        "2 other functions",
        "it contains no traced function",
        "function_graph was active during the measurement",
        "time was lost 6 times in 3 windows, at most 123.0\u{a0}µs at once",
        "no gap of 1.0\u{a0}µs was found: the hardware took no time",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("class=\"bad\""), "nothing is lost, nothing is marked");
    let without = self::page("make");
    for part in ["Time in kernel functions", "Whether the hardware"] {
        assert!(!without.contains(part), "nobody asked: {part}");
    }
}

#[test]
fn names_of_functions_cannot_become_markup() {
    let hostile = "<b onload='x'>\u{1b}&\"";
    let refused = FunctionsReport {
        why: Some(hostile.to_owned()),
        ..FunctionsReport::default()
    };
    let silent = HwlatReport {
        why: Some(hostile.to_owned()),
        ..HwlatReport::default()
    };
    for page in [
        page_of_tracers(&functions(hostile), &hwlat()),
        page_of_tracers(&refused, &silent),
    ] {
        assert!(!page.contains("<b onload") && !page.contains('\u{1b}'), "{page}");
        // Once as a function and once in its call path, or once for each tracer that did not run.
        let shown = page.matches("&lt;b onload='x'&gt;\\u{1b}&amp;&quot;").count();
        assert_eq!(shown, 2, "{page}");
    }
    let text = tracers_text(Tracers {
        functions: Some(&functions(hostile)),
        hwlat: None,
    });
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}"), "{text}");
}

#[test]
fn lost_records_are_reported_on_page_and_screen() {
    let lost = FunctionsReport {
        lost: 245_957,
        lost_of: vec![LostRecords { cpu: 1, lost: 245_000 }, LostRecords { cpu: 3, lost: 957 }],
        ..functions("schedule")
    };
    let note = functions_note(&lost);
    assert!(note.contains("245957 records"), "{note}");
    assert!(note.contains("(CPU 1: 245000, CPU 3: 957)"), "{note}");
    let page = page_of_tracers(&lost, &hwlat());
    assert!(
        page.contains("<p class=\"bad\">245957 records of functions did not fit"),
        "{page}"
    );
}

#[test]
fn a_gap_that_is_longer_than_every_interruption_is_explained() {
    let answer = answer("make");
    let cpu = &answer.cpus[0];
    let gap = cpu.stories.iter().map(|story| story.gap.end - story.gap.start).max();
    let interruption = cpu.interruptions.iter().map(|row| row.max_ns).max();
    assert!(gap > interruption, "the model shows no difference");
    let text = blame_text(&answer, RowLimit::All, Style::Plain);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for shown in [text, page("make")] {
        assert!(
            shown.contains("`longest` in the table is one interruption, without what interrupted it."),
            "{shown}"
        );
    }
}

#[test]
fn gaps_without_pieces_are_reported_if_one_is_longer() {
    let mut answer = answer("make");
    answer.cpus[0].interruptions[0].max_ns = 279_000_000;
    let text = blame_text(&answer, RowLimit::All, Style::Plain);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "Details of 1 gap did not fit into memory, and some of these gaps are longer.";
    assert!(text.contains(expected), "{text}");
}
