//! Records of the hwlat tracer, in the formats of kernels with and without a count.

use crate::support::stream::TestStream;
use blame::{Hwlat, HwlatCpu};
use events::EventFormat;

/// The fields of 6.12 that are read.
const HWLAT: &str = "name: hwlat
ID: 13
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:u64 duration;\toffset:8;\tsize:8;\tsigned:0;
\tfield:u64 outer_duration;\toffset:16;\tsize:8;\tsigned:0;
\tfield:u64 nmi_total_ts;\toffset:24;\tsize:8;\tsigned:0;
\tfield:s64 tv_sec;\toffset:32;\tsize:8;\tsigned:1;
\tfield:long tv_nsec;\toffset:40;\tsize:8;\tsigned:1;
\tfield:unsigned int nmi_count;\toffset:48;\tsize:4;\tsigned:0;
\tfield:unsigned int seqnum;\toffset:52;\tsize:4;\tsigned:0;
\tfield:unsigned int count;\toffset:56;\tsize:4;\tsigned:0;

print fmt: \"cnt:%u\\tinner/outer(us):%4llu/%-5llu\", REC->seqnum, REC->duration, REC->outer_duration
";

fn traced(text: &str) -> TestStream {
    let mut stream = TestStream::new();
    stream.formats.add(EventFormat::parse("ftrace", text).unwrap()).unwrap();
    stream
}

#[test]
fn hwlat_samples_are_summed_and_the_longer_gap_counts() {
    let mut stream = traced(HWLAT);
    for (cpu, duration, outer, nmis, count) in [(1, 12, 215, 0, 3), (1, 90, 7, 2, 1), (2, 500, 500, 0, 9)] {
        stream.on(cpu, 40, 0);
        let fields = [
            ("duration", duration),
            ("outer_duration", outer),
            ("nmi_count", nmis),
            ("count", count),
        ];
        stream.at(1_000, "hwlat", &fields);
    }
    let mut hwlat = Hwlat::new(&stream.formats, [1, 3].into_iter()).unwrap();
    stream.events().for_each(|event| hwlat.event(&event));
    let found = HwlatCpu {
        cpu: 1,
        samples: 2,
        hits: 4,
        max_ns: 215_000,
        nmis: 2,
    };
    let nothing = HwlatCpu {
        cpu: 3,
        ..HwlatCpu::default()
    };
    assert_eq!(hwlat.finish(), [found, nothing]);
}

#[test]
fn without_a_count_field_a_sample_counts_once() {
    let text: String = HWLAT
        .lines()
        .filter(|line| !line.contains(" count;"))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut stream = traced(&text);
    stream.on(1, 40, 0);
    stream.at(1_000, "hwlat", &[("duration", 20), ("outer_duration", 0)]);
    let mut hwlat = Hwlat::new(&stream.formats, [1].into_iter()).unwrap();
    stream.events().for_each(|event| hwlat.event(&event));
    assert_eq!(hwlat.finish()[0].hits, 1);
    assert!(Hwlat::new(&TestStream::new().formats, [1].into_iter()).is_none());
}
