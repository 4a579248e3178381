//! Data that a guest or a board sends: the stream of frames in any fragmentation, the image of its kernel, and the
//! output of an inspection.

use super::{FuzzTarget, text};
use guest::frames::{Frames, framed};
use study::board::{BoardFacts, check_program};

pub const TARGET: FuzzTarget = FuzzTarget {
    name: "frames",
    seeds: || {
        let whole = [framed("one", b"{}"), framed("result", &[7; 300]), b"\nFRAM".to_vec()].concat();
        let false_headers = [b"FRAME x 9 00000000\n".repeat(20), framed("good", b"text")].concat();
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x200_u16.to_le_bytes());
        image.extend_from_slice(b"6.1.0-56-amd64 (x) #1 SMP\0");
        let mut program = b"\x7fELF\x02\x01\x01".to_vec();
        program.extend([0; 9]);
        program.extend(*b"\x02\x00\x3e\x00\x01\x00\x00\x00");
        vec![whole, false_headers, image, program]
    },
    run: |bytes| {
        let _ = guest::image::release(bytes);
        let _ = BoardFacts::of(&text(bytes));
        for processor in ["x86_64", "armv7l", "aarch64", "riscv64"] {
            let _ = check_program(bytes, processor);
        }
        // The first byte selects how the stream is fragmented. The resulting frames do not depend on it.
        let (length, stream) = bytes.split_first().map_or((1, bytes), |(first, rest)| (*first, rest));
        let whole = all(stream, stream.len().max(1));
        let cut = all(stream, usize::from(length).max(1));
        assert_eq!(whole, cut, "frames depend on how the stream is cut");
    },
};

fn all(stream: &[u8], length: usize) -> Vec<(String, Vec<u8>)> {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in stream.chunks(length) {
        frames.push(piece);
        found.extend(std::iter::from_fn(|| frames.take()));
    }
    found
}
