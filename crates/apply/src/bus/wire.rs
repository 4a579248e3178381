//! Encodes and decodes D-Bus messages, as far as our method calls and their answers need (D-Bus specification, "Message format").

/// The first bytes of a message, from which the length of the rest follows.
pub const START: usize = 16;

const METHOD_CALL: u8 = 1;
const METHOD_RETURN: u8 = 2;
const ERROR: u8 = 3;

/// Header fields of a D-Bus message (specification, "Header Fields").
const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const ERROR_NAME: u8 = 4;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// The serial number of our only message.
const SERIAL: u32 = 1;

/// A message under construction, in little-endian order. Every value is aligned to its own size, counted from the start.
#[derive(Default)]
pub(super) struct Body {
    bytes: Vec<u8>,
}

/// The answer to a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// The call succeeded.
    Return,
    /// The call was refused.
    Error {
        /// Name of the error.
        name: String,
        /// The message of the other side.
        message: String,
    },
}

impl Body {
    fn align(&mut self, to: usize) {
        let length = self.bytes.len().next_multiple_of(to);
        self.bytes.resize(length, 0);
    }

    fn number(&mut self, number: usize) {
        self.align(4);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// A string, or the path of an object.
    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// A signature; also the start of a variant.
    pub(super) fn signature(&mut self, signature: &str) {
        self.bytes.push(u8::try_from(signature.len()).unwrap_or(u8::MAX));
        self.bytes.extend_from_slice(signature.as_bytes());
        self.bytes.push(0);
    }

    /// An array of bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// An array of elements with this alignment. Its length includes neither itself nor the padding before the first element.
    pub(super) fn array(&mut self, alignment: usize, fill: impl FnOnce(&mut Body)) {
        self.number(0);
        let place = self.bytes.len() - 4;
        self.align(alignment);
        let start = self.bytes.len();
        fill(self);
        let length = u32::try_from(self.bytes.len() - start).unwrap_or(u32::MAX);
        if let Some(gap) = self.bytes.get_mut(place..place + 4) {
            gap.copy_from_slice(&length.to_le_bytes());
        }
    }

    /// Writes a structure: aligned to 8 bytes, then the output of `fill`.
    pub(super) fn structure(&mut self, fill: impl FnOnce(&mut Body)) {
        self.align(8);
        fill(self);
    }
}

/// A call of a method of systemd's manager.
pub(super) fn method_call(member: &str, signature: &str, body: &Body) -> Vec<u8> {
    let mut message = Body::default();
    // Little-endian, the type, no flags, version 1.
    message.bytes.extend_from_slice(&[b'l', METHOD_CALL, 0, 1]);
    message.number(body.bytes.len());
    message.bytes.extend_from_slice(&SERIAL.to_le_bytes());
    let text = |list: &mut Body, field: u8, kind: &str, value: &str| {
        list.structure(|one| {
            one.bytes.push(field);
            one.signature(kind);
            one.text(value);
        });
    };
    message.array(8, |list| {
        text(list, PATH, "o", "/org/freedesktop/systemd1");
        text(list, DESTINATION, "s", "org.freedesktop.systemd1");
        text(list, INTERFACE, "s", "org.freedesktop.systemd1.Manager");
        text(list, MEMBER, "s", member);
        list.structure(|one| {
            one.bytes.push(SIGNATURE);
            one.signature("g");
            one.signature(signature);
        });
    });
    message.align(8);
    message.bytes.extend_from_slice(&body.bytes);
    message.bytes
}

/// Number of bytes after the first [`START`] ones; `None` if this is no message in little-endian order.
pub fn rest_of(start: &[u8]) -> Option<usize> {
    if start.first() != Some(&b'l') || start.get(3) != Some(&1) {
        return None;
    }
    let body = usize::try_from(number(start, 4)?).ok()?;
    let fields = usize::try_from(number(start, 12)?).ok()?;
    fields.checked_next_multiple_of(8)?.checked_add(body)
}

/// The answer to our call; `None` for every other message.
pub fn reply(message: &[u8]) -> Option<Reply> {
    let kind = *message.get(1)?;
    let fields = usize::try_from(number(message, 12)?).ok()?;
    let end = START.checked_add(fields)?;
    let mut at = START;
    let mut name = String::new();
    let mut serial = None;
    while at < end {
        let code = *message.get(at)?;
        let length = usize::from(*message.get(at + 1)?);
        let kind = message.get(at + 2..at + 2 + length)?;
        let value = at + 2 + length + 1;
        at = match kind {
            b"u" => {
                let value = value.next_multiple_of(4);
                if code == REPLY_SERIAL {
                    serial = number(message, value);
                }
                value + 4
            }
            b"s" | b"o" => {
                let (text, after) = text(message, value.next_multiple_of(4))?;
                if code == ERROR_NAME {
                    name = text;
                }
                after
            }
            b"g" => value + usize::from(*message.get(value)?) + 2,
            _ => return None,
        }
        .next_multiple_of(8);
    }
    if serial != Some(SERIAL) {
        return None;
    }
    match kind {
        METHOD_RETURN => Some(Reply::Return),
        ERROR => {
            let message_text = text(message, end.next_multiple_of(8)).map(|(text, _)| text);
            let message = message_text.unwrap_or_default();
            Some(Reply::Error { name, message })
        }
        _ => None,
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// A string and the position after it.
fn text(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let length = usize::try_from(number(bytes, at)?).ok()?;
    let start = at.checked_add(4)?;
    let end = start.checked_add(length)?;
    let text = String::from_utf8_lossy(bytes.get(start..end)?).into_owned();
    Some((text, end.checked_add(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal as systemd 252 sends it.
    fn refusal(serial: u32) -> Vec<u8> {
        let mut body = Body::default();
        body.text("Unit a.slice not loaded.");
        let mut message = Body::default();
        message.bytes.extend_from_slice(&[b'l', ERROR, 1, 1]);
        message.number(body.bytes.len());
        message.number(7);
        message.array(8, |list| {
            list.structure(|one| {
                one.bytes.push(REPLY_SERIAL);
                one.signature("u");
                one.number(serial as usize);
            });
            list.structure(|one| {
                one.bytes.push(ERROR_NAME);
                one.signature("s");
                one.text("org.freedesktop.systemd1.NoSuchUnit");
            });
            list.structure(|one| {
                one.bytes.push(SIGNATURE);
                one.signature("g");
                one.signature("s");
            });
        });
        message.align(8);
        message.bytes.extend_from_slice(&body.bytes);
        message.bytes
    }

    #[test]
    fn replies_are_distinguished_from_other_messages() {
        let message = refusal(SERIAL);
        assert_eq!(rest_of(&message[..START]), Some(message.len() - START));
        let wanted = Reply::Error {
            name: "org.freedesktop.systemd1.NoSuchUnit".to_owned(),
            message: "Unit a.slice not loaded.".to_owned(),
        };
        assert_eq!(reply(&message), Some(wanted));
        assert_eq!(reply(&refusal(9)), None);
    }

    #[test]
    fn damaged_replies_are_rejected() {
        let whole = refusal(SERIAL);
        for end in 0..whole.len() {
            let _ = (rest_of(&whole[..end]), reply(&whole[..end]));
        }
        for place in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] = byte;
                let _ = (rest_of(&damaged), reply(&damaged));
            }
        }
        assert_eq!(rest_of(b"HTTP/1.1 400 Bad"), None);
    }

    /// Bytes as the specification defines them, computed by hand.
    #[test]
    fn the_body_of_a_message_is_aligned() {
        let mut body = Body::default();
        body.text("ab");
        body.array(8, |list| {
            list.structure(|one| {
                one.text("N");
                one.signature("ay");
                one.bytes(&[5]);
            });
        });
        let wanted = [
            2, 0, 0, 0, b'a', b'b', 0, 0, // the string and a gap
            17, 0, 0, 0, 0, 0, 0, 0, // length of the array, gap before its first structure
            1, 0, 0, 0, b'N', 0, 2, b'a', b'y', 0, 0, 0, 1, 0, 0, 0, 5,
        ];
        assert_eq!(body.bytes, wanted);
    }
}
