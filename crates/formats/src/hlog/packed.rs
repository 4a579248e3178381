//! Unpacks the histogram of a line. hdrhistogram allocates the length that a header states, up to 4 GiB, so that length is
//! compared with the content first.

use flate2::read::ZlibDecoder;
use std::io::Read as _;

/// `V2_COMPRESSED_COOKIE` of HdrHistogram: the length of a zlib stream and the stream follow.
const COMPRESSED: u32 = 0x1c84_9314;

/// `V2_COOKIE`: the counts follow the header.
const PLAIN: u32 = 0x1c84_9313;

/// The header of an unpacked histogram, before its counts.
const HEADER_BYTES: usize = 40;

/// The longest unpacked histogram, in bytes. A count takes up to 9 bytes, and most histograms have a few thousand.
const MOST_BYTES: usize = 8 << 20;

/// The unpacked histogram.
///
/// # Errors
/// Why it cannot be unpacked.
pub(super) fn unpacked(encoded: Vec<u8>) -> Result<Vec<u8>, String> {
    let content = match number_at(&encoded, 0) {
        Some(COMPRESSED) => inflated(encoded.get(8..).unwrap_or_default())?,
        _ => encoded,
    };
    if number_at(&content, 0) != Some(PLAIN) {
        return Err("it is no histogram".to_owned());
    }
    let counts = content.len().saturating_sub(HEADER_BYTES);
    match number_at(&content, 4) {
        Some(stated) if usize::try_from(stated).is_ok_and(|stated| stated <= counts) => Ok(content),
        Some(_) => Err("it has fewer counts than it states".to_owned()),
        None => Err("it is too short".to_owned()),
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

fn inflated(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let mut stream = ZlibDecoder::new(packed).take(MOST_BYTES as u64 + 1);
    stream.read_to_end(&mut content).map_err(|error| error.to_string())?;
    match content.len() > MOST_BYTES {
        true => Err(format!("it has more than {} MiB", MOST_BYTES >> 20)),
        false => Ok(content),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write as _;

    fn compressed(content: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        let stream = encoder.finish().unwrap();
        let length = u32::try_from(stream.len()).unwrap();
        [&COMPRESSED.to_be_bytes(), &length.to_be_bytes(), stream.as_slice()].concat()
    }

    fn header(stated: u32) -> Vec<u8> {
        let mut header = PLAIN.to_be_bytes().to_vec();
        header.extend(stated.to_be_bytes());
        header.resize(HEADER_BYTES, 0);
        header
    }

    #[test]
    fn a_stated_length_without_content_is_refused() {
        for (stated, counts, is_read) in [(3, 3, true), (2, 3, true), (4, 3, false), (u32::MAX, 3, false)] {
            let content = [header(stated), vec![2; counts]].concat();
            for encoded in [content.clone(), compressed(&content)] {
                assert_eq!(unpacked(encoded).is_ok(), is_read, "{stated}");
            }
        }
        // hdrhistogram would unpack the inner one too, and believe its header.
        assert!(unpacked(compressed(&compressed(&header(u32::MAX)))).is_err());
        for short in [vec![], vec![1, 2, 3], COMPRESSED.to_be_bytes().to_vec()] {
            assert!(unpacked(short.clone()).is_err(), "{short:?}");
        }
    }

    #[test]
    fn a_stream_that_expands_beyond_the_limit_is_refused() {
        let long = compressed(&vec![0; MOST_BYTES + 1]);
        assert!(long.len() < 20_000);
        assert!(unpacked(long).unwrap_err().contains("more than 8 MiB"));
    }
}
