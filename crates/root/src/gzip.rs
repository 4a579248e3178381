//! Unpacks gzip files as text, up to a size.

use std::io::Read as _;

/// Maximum size of unpacked text: kernel configurations have about 300 kB.
pub const MAX_INFLATED: u64 = 16 << 20;

/// The text; `None` for invalid data, and for more than [`MAX_INFLATED`] bytes. Bytes that are not UTF-8 become U+FFFD, and then
/// the text is up to three times as long.
pub(crate) fn unpacked_text(packed: &[u8]) -> Option<String> {
    let mut content = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(packed).take(MAX_INFLATED + 1);
    decoder.read_to_end(&mut content).ok()?;
    let is_within = |length: usize| length as u64 <= MAX_INFLATED;
    let text = is_within(content.len()).then(|| crate::into_text(content))?;
    is_within(text.len()).then_some(text)
}
