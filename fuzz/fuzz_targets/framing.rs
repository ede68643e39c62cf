//! The framer: any bytes in any split give the same lines, none lost, none over the limit.

#![no_main]

use bytes::Bytes;
use hoist_fuzz::input::{Input, pieces};
use hoist_proxy_core::json::EnvelopeScanner;
use hoist_proxy_core::{Frame, Framing, Part, TooLong};
use hoist_transport::Framer;
use libfuzzer_sys::fuzz_target;

/// More than the framer copies from one buffer to the next.
const LONG_BYTES: usize = 20 * 1024;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let framing = match input.byte() % 3 {
        0 => Framing::Raw,
        1 => Framing::CutThrough { whole_bytes: input.size() },
        _ => Framing::Whole { max_bytes: input.size() },
    };
    let (mut chunks, mut other_chunks) = (input.chunks(), input.chunks());
    let read_bytes = input.size() + 1;
    // Lines longer than what the fuzzer's own inputs hold.
    let repeated = input.byte() == 0xFF;
    if repeated {
        // Byte by byte these would take most of the fuzzer's time.
        chunks.iter_mut().chain(&mut other_chunks).for_each(|len| *len *= 64);
    }
    let rest = input.rest();
    let wire = rest.repeat(if repeated { LONG_BYTES / rest.len().max(1) } else { 1 });

    let frames = cut(&wire, &chunks, read_bytes, framing);
    if framing == Framing::Raw {
        assert_eq!(parts(&frames), wire);
    } else {
        let lines = lines(frames);
        assert_eq!(lines, expected(&wire, framing));
        assert_eq!(lines, self::lines(cut(&wire, &other_chunks, read_bytes, framing)));
    }
    changing(&wire, &chunks, read_bytes, framing);
});

/// What the framer makes of a stream that comes in these chunks.
fn cut(wire: &[u8], chunks: &[usize], read_bytes: usize, framing: Framing) -> Vec<Frame> {
    let mut framer = Framer::new();
    let mut frames = Vec::new();
    for chunk in pieces(wire, chunks) {
        framer.buffer(read_bytes).extend_from_slice(chunk);
        frames.extend(std::iter::from_fn(|| framer.next(framing)));
    }
    frames.extend(std::iter::from_fn(|| framer.finish(framing)));
    assert_eq!(framer.finish(framing), None, "a frame after the end");
    frames
}

/// Changing the framing in the middle of a stream loses no byte.
fn changing(wire: &[u8], chunks: &[usize], read_bytes: usize, framing: Framing) {
    let others = [framing, Framing::Raw, Framing::Whole { max_bytes: 9 }, framing];
    let mut turn = others.into_iter().cycle();
    let mut framer = Framer::new();
    let mut seen_bytes = 0;
    for chunk in pieces(wire, chunks) {
        framer.buffer(read_bytes).extend_from_slice(chunk);
        let framing = turn.next().expect("it cycles");
        seen_bytes +=
            std::iter::from_fn(|| framer.next(framing)).map(|f| len_bytes(&f)).sum::<u64>();
    }
    seen_bytes += std::iter::from_fn(|| framer.finish(framing)).map(|f| len_bytes(&f)).sum::<u64>();
    assert_eq!(seen_bytes, wire.len() as u64);
}

fn len_bytes(frame: &Frame) -> u64 {
    match frame {
        Frame::Line(line) => line.wire().len() as u64,
        Frame::Part(part) => part.bytes.len() as u64,
        Frame::TooLong(long) => long.len_bytes,
        other => panic!("{other:?}"),
    }
}

/// The bytes of a stream that is passed on as it comes.
fn parts(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in frames {
        let Frame::Part(Part { bytes: part, last: false }) = frame else { panic!("{frame:?}") };
        assert!(!part.is_empty());
        bytes.extend_from_slice(part);
    }
    bytes
}

/// A line, however it was given.
#[derive(Debug, PartialEq)]
enum Seen {
    Whole(Bytes),
    InParts(Vec<u8>),
    TooLong(TooLong),
}

/// The frames with the parts of each line joined.
fn lines(frames: Vec<Frame>) -> Vec<Seen> {
    let mut lines = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    for frame in frames {
        assert!(open.is_none() || matches!(frame, Frame::Part(_)), "a line inside another");
        match frame {
            Frame::Line(line) => lines.push(Seen::Whole(line.into_wire())),
            Frame::TooLong(long) => lines.push(Seen::TooLong(long)),
            Frame::Part(part) => {
                let line = open.get_or_insert_default();
                line.extend_from_slice(&part.bytes);
                if part.last {
                    lines.extend(open.take().map(Seen::InParts));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(open, None, "a line without its last part");
    lines
}

/// What the lines should be, said in the simplest way.
fn expected(wire: &[u8], framing: Framing) -> Vec<Seen> {
    wire.split_inclusive(|byte| *byte == b'\n')
        .map(|line| match framing {
            Framing::CutThrough { whole_bytes } if line.len() > whole_bytes => {
                Seen::InParts(line.to_vec())
            }
            Framing::Whole { max_bytes } if line.len() > max_bytes => {
                let mut scanner = EnvelopeScanner::new();
                scanner.feed(line);
                Seen::TooLong(TooLong { len_bytes: line.len() as u64, envelope: scanner.finish() })
            }
            _ => Seen::Whole(Bytes::copy_from_slice(line)),
        })
        .collect()
}
