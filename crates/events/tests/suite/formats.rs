//! The common fields of events at their usual offsets, and at the offsets that a format describes.

use events::{CommonValues, Endian, EventFormat, Formats};

const HEAD: &str = "name:moved\nID:7\nformat:\n";
const OWN: &str = "\n\tfield:int what;\toffset:12;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

fn formats(endian: Endian, common: &str) -> Formats {
    let mut formats = Formats::new(endian);
    let format = EventFormat::parse("test", &format!("{HEAD}{common}{OWN}")).unwrap();
    formats.add(format).unwrap();
    formats
}

#[test]
fn common_fields_are_read_at_the_described_offsets() {
    let usual = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
    let moved = "\tfield:int common_pid;\toffset:0;\tsize:4;\tsigned:1;
\tfield:unsigned char common_preempt_count;\toffset:4;\tsize:1;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:5;\tsize:1;\tsigned:0;
\tfield:unsigned short common_type;\toffset:6;\tsize:2;\tsigned:0;\n";
    let reported = CommonValues {
        id: 7,
        flags: 1,
        preempt_count: 2,
        pid: 0x0102,
    };
    for (endian, common, payload) in [
        (Endian::Little, usual, [7, 0, 1, 2, 2, 1, 0, 0]),
        (Endian::Big, usual, [0, 7, 1, 2, 0, 0, 1, 2]),
        (Endian::Little, moved, [2, 1, 0, 0, 2, 1, 7, 0]),
        (Endian::Big, moved, [0, 0, 1, 2, 2, 1, 0, 7]),
    ] {
        let formats = formats(endian, common);
        assert_eq!(formats.common(&payload), Some(reported), "{endian:?} {common}");
        assert_eq!(formats.common(&payload[..7]), None, "{endian:?} {common}");
    }
    assert_eq!(
        Formats::new(Endian::Little).common(&[0; 8]),
        None,
        "nothing was described"
    );
}
