//! The functions that took the time of a gap, exact to the nanosecond: with interrupts and switches, lost records and
//! records of other threads.

use crate::support::stream::{TestNames, TestStream};
use blame::{Functions, Gap, GapFunctions};
use events::EventFormat;
use proptest::prelude::*;

/// The two formats as 6.12 describes them. Fields of later kernels are ignored.
const ENTRY: &str = "name: funcgraph_entry
ID: 11
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;

print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth
";
const EXIT: &str = "name: funcgraph_exit
ID: 10
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;
\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;
\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;
\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;

print fmt: \"<-- %ps (%d)\", (void *)REC->func, REC->depth
";

const TICK: u64 = 0x100;
const BARRIER: u64 = 0x200;
const FLUSH: u64 = 0x400;
const VMSTAT: u64 = 0x500;

fn traced() -> TestStream {
    let mut stream = TestStream::new();
    for text in [ENTRY, EXIT] {
        stream.formats.add(EventFormat::parse("ftrace", text).unwrap()).unwrap();
    }
    stream
}

fn start_function(stream: &mut TestStream, at: u64, function: u64, depth: u64) {
    stream.at(at, "funcgraph_entry", &[("func", function), ("depth", depth)]);
}

fn returns(stream: &mut TestStream, at: u64, function: u64, depth: u64) {
    stream.at(at, "funcgraph_exit", &[("func", function), ("depth", depth)]);
}

fn gap_functions(stream: &TestStream, gaps: &[Gap], most: usize) -> Vec<GapFunctions> {
    let mut functions = Functions::new(&stream.formats, [1].into_iter(), most).unwrap();
    functions.gaps(1, gaps);
    stream.events().for_each(|event| functions.event(&event));
    functions.finish(&TestNames)
}

/// Returns name, number of calls, net time, and call path.
fn rows(of: &GapFunctions) -> Vec<(&str, u64, u64, String)> {
    let row = |time: &'_ blame::FunctionTime| time.way.join(" ");
    of.functions
        .iter()
        .map(|time| (time.name.as_str(), time.calls, time.net_ns, row(time)))
        .collect()
}

const fn gap(start: u64, end: u64) -> Gap {
    Gap { start, end }
}

#[test]
fn time_belongs_to_the_innermost_function() {
    let mut stream = traced();
    stream.on(1, 100, 0);
    start_function(&mut stream, 1_100, TICK, 0);
    start_function(&mut stream, 1_200, FLUSH, 1);
    returns(&mut stream, 1_700, FLUSH, 1);
    start_function(&mut stream, 1_750, FLUSH, 1);
    returns(&mut stream, 1_800, FLUSH, 1);
    returns(&mut stream, 1_900, TICK, 0);
    let reported = gap_functions(&stream, &[gap(1_000, 2_000)], 3);
    assert_eq!(
        rows(&reported[0]),
        [
            ("flush_tlb_func", 2, 550, "tick_nohz_handler".to_owned()),
            ("tick_nohz_handler", 1, 250, String::new()),
        ]
    );
    assert_eq!((reported[0].duration_ns, reported[0].in_functions_ns), (1_000, 800));
}

#[test]
fn a_preempted_thread_continues_in_its_function() {
    let mut stream = traced();
    stream.on(1, 100, 0);
    start_function(&mut stream, 100, BARRIER, 0);
    stream.on(1, 50, 0);
    start_function(&mut stream, 300, VMSTAT, 0);
    returns(&mut stream, 700, VMSTAT, 0);
    stream.on(1, 100, 0);
    start_function(&mut stream, 720, TICK, 1);
    returns(&mut stream, 730, TICK, 1);
    returns(&mut stream, 800, BARRIER, 0);
    // Functions on another CPU do not count.
    stream.on(0, 60, 0);
    start_function(&mut stream, 810, FLUSH, 0);
    let reported = gap_functions(&stream, &[gap(100, 1_000)], 3);
    assert_eq!(
        rows(&reported[0]),
        [
            ("vmstat_update", 1, 400, String::new()),
            ("membarrier", 1, 270, String::new()),
            ("tick_nohz_handler", 1, 10, "membarrier".to_owned()),
        ]
    );
}

#[test]
fn only_the_longest_gaps_are_stored_each_with_its_functions() {
    let mut stream = traced();
    stream.on(1, 100, 0);
    for (at, function) in [(100, TICK), (1_000, FLUSH), (5_000, VMSTAT)] {
        start_function(&mut stream, at + 10, function, 0);
        returns(&mut stream, at + 60, function, 0);
    }
    let reported = gap_functions(&stream, &[gap(100, 200), gap(1_000, 1_900), gap(5_000, 5_500)], 2);
    let named: Vec<_> = reported
        .iter()
        .map(|of| (of.duration_ns, of.functions[0].name.as_str()))
        .collect();
    assert_eq!(named, [(900, "flush_tlb_func"), (500, "vmstat_update")]);
}

#[test]
fn a_function_started_before_the_gap_has_time_but_no_call() {
    let mut stream = traced();
    stream.on(1, 100, 0);
    start_function(&mut stream, 100, TICK, 0);
    returns(&mut stream, 700, TICK, 0);
    let reported = gap_functions(&stream, &[gap(500, 1_000)], 1);
    assert_eq!(rows(&reported[0]), [("tick_nohz_handler", 0, 200, String::new())]);
}

#[test]
fn time_of_lost_records_is_attributed_to_no_function() {
    let mut stream = traced();
    stream.on(1, 100, 0);
    start_function(&mut stream, 100, TICK, 0);
    stream.lose(1, 7);
    returns(&mut stream, 900, FLUSH, 1);
    returns(&mut stream, 950, TICK, 0);
    let mut functions = Functions::new(&stream.formats, [1].into_iter(), 1).unwrap();
    functions.gaps(1, &[gap(100, 1_000)]);
    stream.events().for_each(|event| functions.event(&event));
    assert_eq!(functions.finish(&TestNames)[0].in_functions_ns, 0);
}

#[test]
fn time_in_a_function_counts_only_up_to_a_loss() {
    let mut stream = traced();
    stream.on(1, 100, 0);
    start_function(&mut stream, 100, TICK, 0);
    stream.lose(1, 9);
    start_function(&mut stream, 5_000, FLUSH, 0);
    let mut functions = Functions::new(&stream.formats, [1].into_iter(), 3).unwrap();
    functions.gaps(1, &[gap(50, 900), gap(6_000, 6_100)]);
    for (event, reported) in stream.events().zip([4_000, 4_500, 7_000]) {
        functions.event(&event);
        functions.pass(reported);
    }
    let reported = functions.finish(&TestNames);
    assert_eq!(
        reported.iter().map(|of| of.in_functions_ns).sum::<u64>(),
        0,
        "{reported:?}"
    );
}

#[test]
fn without_function_events_there_are_no_functions() {
    assert!(Functions::new(&TestStream::new().formats, [1].into_iter(), 1).is_none());
}

proptest! {
    /// With any records, the time in functions is at most the length of the gap, and the reported times add up.
    #[test]
    fn time_in_functions_never_exceeds_the_gap(records in prop::collection::vec((0u64..50, 0u64..3, 0u64..8, 0u64..600, any::<bool>()), 0..200)) {
        let mut stream = traced();
        let mut at = 0;
        for (after, pid, function, depth, is_begin) in records {
            at += after;
            stream.on(1, pid as i32, 0);
            match is_begin {
                true => start_function(&mut stream, at, function * 0x100, depth % 20 * depth),
                false => returns(&mut stream, at, function * 0x100, depth),
            }
        }
        let gaps: Vec<Gap> = (0..20).map(|place| gap(place * 200 + 50, place * 200 + 190)).collect();
        let reported = gap_functions(&stream, &gaps, 20);
        prop_assert_eq!(reported.len(), 20);
        for of in reported {
            let sum: u64 = of.functions.iter().map(|time| time.net_ns).sum();
            prop_assert!(of.in_functions_ns <= of.duration_ns);
            prop_assert_eq!(sum + of.left_out_ns, of.in_functions_ns);
        }
    }
}
