//! Writes Perfetto's own format: a protobuf `Trace` of packets, each with one `TrackDescriptor` or one `TrackEvent`.
//!
//! The few messages are encoded by hand. The field numbers are those of `protos/perfetto/trace/trace_packet.proto` and
//! `trace/track_event/*.proto`, which may not change.

use super::lanes::{lane_name, lanes};
use super::{Fact, Mark, Timeline};
use std::io::{Result, Write};

/// `Trace.packet`.
const PACKET: u32 = 1;
/// Fields of `TracePacket`.
mod packet {
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
}
/// Fields of `TrackDescriptor`, and the orders of its children.
mod descriptor {
    pub(super) const UUID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const PARENT: u32 = 5;
    pub(super) const CHILD_ORDERING: u32 = 11;
    pub(super) const RANK: u32 = 12;
    pub(super) const EXPLICIT: u64 = 3;
}
/// Fields of `TrackEvent`, and its types.
mod event {
    pub(super) const ANNOTATION: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const TRACK: u32 = 11;
    pub(super) const CATEGORY: u32 = 22;
    pub(super) const NAME: u32 = 23;
    pub(super) const BEGIN: u64 = 1;
    pub(super) const END: u64 = 2;
    pub(super) const INSTANT: u64 = 3;
}
/// Fields of `DebugAnnotation`.
mod annotation {
    pub(super) const INT: u32 = 4;
    pub(super) const STRING: u32 = 6;
    pub(super) const NAME: u32 = 10;
}

/// The writer; all packets have the same one.
const SEQUENCE: u64 = 1;
/// The parent of all other lines, whose own numbers follow.
const TOP: u64 = 1;

/// Writes a timeline.
///
/// # Errors
/// Errors of the output.
pub fn write(out: &mut dyn Write, timeline: &Timeline) -> Result<()> {
    let mut top = Message::default();
    top.number(descriptor::UUID, TOP);
    top.text(descriptor::NAME, &timeline.title);
    top.number(descriptor::CHILD_ORDERING, descriptor::EXPLICIT);
    send(out, packet::TRACK_DESCRIPTOR, None, &top)?;
    let mut line = TOP;
    for track in &timeline.tracks {
        for (number, lane) in lanes(track).into_iter().enumerate() {
            line += 1;
            let mut message = Message::default();
            message.number(descriptor::UUID, line);
            message.text(descriptor::NAME, &lane_name(track, number));
            message.number(descriptor::PARENT, TOP);
            message.number(descriptor::RANK, line);
            send(out, packet::TRACK_DESCRIPTOR, None, &message)?;
            write_lane(out, line, &lane)?;
        }
    }
    Ok(())
}

fn write_lane(out: &mut dyn Write, line: u64, lane: &[&Mark]) -> Result<()> {
    let mut open: Vec<u64> = Vec::new();
    let end = |out: &mut dyn Write, at: u64| {
        let mut message = Message::default();
        message.number(event::TYPE, event::END);
        message.number(event::TRACK, line);
        send(out, packet::TRACK_EVENT, Some(at), &message)
    };
    for mark in lane {
        while let Some(at) = open.pop_if(|at| *at <= mark.at_ns) {
            end(out, at)?;
        }
        let mut message = Message::default();
        let kind = match mark.lasts_ns {
            Some(_) => event::BEGIN,
            None => event::INSTANT,
        };
        message.number(event::TYPE, kind);
        message.number(event::TRACK, line);
        message.text(event::NAME, &mark.name);
        message.text(event::CATEGORY, &mark.category);
        for (key, fact) in &mark.facts {
            let mut inner = Message::default();
            inner.text(annotation::NAME, key);
            match fact {
                // A negative number is written as the unsigned number with the same bits.
                Fact::Number(number) => inner.number(annotation::INT, *number as u64),
                Fact::Text(text) => inner.text(annotation::STRING, text),
            }
            message.message(event::ANNOTATION, &inner);
        }
        send(out, packet::TRACK_EVENT, Some(mark.at_ns), &message)?;
        if mark.lasts_ns.is_some() {
            open.push(mark.end_ns());
        }
    }
    while let Some(at) = open.pop() {
        end(out, at)?;
    }
    Ok(())
}

/// Writes a packet that holds one message.
fn send(out: &mut dyn Write, field: u32, at: Option<u64>, message: &Message) -> Result<()> {
    let mut whole = Message::default();
    if let Some(at) = at {
        whole.number(packet::TIMESTAMP, at);
    }
    whole.number(packet::SEQUENCE, SEQUENCE);
    whole.message(field, message);
    let mut framed = Message::default();
    framed.message(PACKET, &whole);
    out.write_all(&framed.0)
}

/// A message as bytes.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Seven bits per byte, the lowest first; the upper bit means that more follow.
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u32, number: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(number);
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }
}
