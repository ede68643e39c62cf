use proptest::prelude::*;

use super::*;

const RAW: Framing = Framing::Raw;

fn cut(whole_bytes: usize) -> Framing {
    Framing::CutThrough { whole_bytes }
}

fn whole(max_bytes: usize) -> Framing {
    Framing::Whole { max_bytes }
}

/// Feeds `wire` in chunks of the given lengths, taken in turn, with reads of `read_bytes`.
fn frames(wire: &[u8], chunks: &[usize], read_bytes: usize, framing: Framing) -> Vec<Frame> {
    let mut framer = Framer::new();
    let mut given = Vec::new();
    let mut rest = wire;
    let mut lens = chunks.iter().copied().cycle();
    while !rest.is_empty() {
        let len = lens.next().unwrap_or(rest.len()).clamp(1, rest.len());
        let (chunk, after) = rest.split_at(len);
        framer.buffer(read_bytes).extend_from_slice(chunk);
        rest = after;
        given.extend(std::iter::from_fn(|| framer.next(framing)));
    }
    given.extend(std::iter::from_fn(|| framer.finish(framing)));
    given
}

/// A line as its reader sees it, however it was cut up.
#[derive(Debug, PartialEq)]
enum Seen {
    Line(Vec<u8>),
    InParts(Vec<u8>),
    TooLong(TooLong),
}

fn seen(frames: Vec<Frame>) -> Vec<Seen> {
    let mut lines = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    for frame in frames {
        match frame {
            Frame::Line(line) => {
                assert_eq!(open, None, "a line in the middle of another");
                lines.push(Seen::Line(line.wire().to_vec()));
            }
            Frame::Part(part) => {
                let mut bytes = open.take().unwrap_or_default();
                bytes.extend_from_slice(&part.bytes);
                if part.last {
                    lines.push(Seen::InParts(bytes));
                } else {
                    open = Some(bytes);
                }
            }
            Frame::TooLong(long) => {
                assert_eq!(open, None, "a line in the middle of another");
                lines.push(Seen::TooLong(long));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(open, None, "a line without its last part");
    lines
}

/// What the framing should give, said in the simplest way.
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
            _ => Seen::Line(line.to_vec()),
        })
        .collect()
}

#[track_caller]
fn check(wire: &[u8], framing: Framing) {
    for chunk in [1, 2, 3, 7, 64, 100_000] {
        for read_bytes in [1, 16, 64 * 1024] {
            let got = seen(frames(wire, &[chunk], read_bytes, framing));
            assert_eq!(got, expected(wire, framing), "in chunks of {chunk} bytes");
        }
    }
}

#[test]
fn only_a_line_feed_ends_a_line() {
    let wire = "a\r\n\u{2028}b\u{85}\rc\x0b\x0c\n\n\r\n\u{feff}{}\n".as_bytes();
    check(wire, whole(100));
    check(wire, cut(100));
    assert_eq!(expected(wire, whole(100)).len(), 5);
}

#[test]
fn a_line_at_the_limit_is_whole_and_one_byte_more_is_not() {
    for wire in [&b"1234567\n12345678\n1234567"[..], b"1234567\n1234567\n12345678", b"123456789"] {
        check(wire, cut(8));
        check(wire, whole(8));
    }
}

#[test]
fn the_unterminated_rest_of_a_line_in_parts_ends_it() {
    let got = frames(b"123456", &[6], 64, cut(3));
    assert_eq!(
        got,
        [part(Bytes::from_static(b"123456"), false), part(Bytes::new(), true)],
        "the end is said even when no byte is left"
    );
}

#[test]
fn nothing_follows_a_stream_that_ended_with_a_line() {
    for framing in [RAW, cut(8), whole(8)] {
        let mut framer = Framer::new();
        assert_eq!(framer.finish(framing), None);
        framer.buffer(64).extend_from_slice(b"a\n");
        assert!(framer.next(framing).is_some());
        assert_eq!(framer.finish(framing), None);
        assert_eq!(framer.finish(framing), None);
    }
}

#[test]
fn raw_gives_all_that_is_buffered_at_once() {
    let got = frames(b"a\nb\nc", &[5], 64, RAW);
    assert_eq!(got, [part(Bytes::from_static(b"a\nb\nc"), false)]);
}

#[test]
fn a_line_that_is_too_long_says_whose_it_was() {
    let mut wire = br#"{"jsonrpc":"2.0","id":"x","result":""#.to_vec();
    wire.extend(std::iter::repeat_n(b'y', 50_000));
    wire.extend_from_slice(b"\"}\nnext\n");
    let got = frames(&wire, &[1000], 4096, whole(20_000));
    let [Frame::TooLong(long), Frame::Line(next)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(long.len_bytes, 50_000 + 36 + 3);
    assert_eq!(long.envelope.id.as_ref().unwrap().raw(), "\"x\"");
    assert_eq!(next.body(), b"next");
}

#[test]
fn a_line_over_many_buffers_is_copied_once() {
    let mut wire = vec![b'x'; 10 << 20];
    wire.push(b'\n');
    let mut framer = Framer::new();
    let mut line = None;
    for chunk in wire.chunks(64 * 1024) {
        let buffer = framer.buffer(256 * 1024);
        buffer.extend_from_slice(chunk);
        assert!(buffer.capacity() <= 512 * 1024, "the buffer grew to {}", buffer.capacity());
        assert!(line.is_none());
        line = framer.next(whole(64 << 20));
    }
    let Some(Frame::Line(line)) = line else { panic!("no line") };
    assert_eq!(line.wire(), &wire[..]);
}

#[test]
fn what_is_too_long_is_not_kept() {
    let mut framer = Framer::new();
    for _ in 0..10_000 {
        let buffer = framer.buffer(64 * 1024);
        buffer.extend_from_slice(&[b'x'; 1024]);
        assert!(buffer.capacity() <= 256 * 1024);
        assert_eq!(framer.next(whole(100_000)), None);
        assert!(framer.aside_bytes <= 100_000);
    }
    let Some(Frame::TooLong(long)) = framer.finish(whole(100_000)) else { panic!("kept") };
    assert_eq!(long.len_bytes, 10_240_000);
}

#[test]
fn the_buffer_is_used_again_once_its_frames_are_gone() {
    let mut framer = Framer::new();
    let mut addresses = std::collections::HashSet::new();
    for _ in 0..10_000 {
        framer.buffer(4096).extend_from_slice(&[b'x'; 300]);
        framer.buffer(4096).extend_from_slice(b"\n");
        let Some(Frame::Line(line)) = framer.next(whole(1000)) else { panic!("no line") };
        addresses.insert(line.wire().as_ptr() as usize);
    }
    assert!(addresses.len() < 100, "{} places in memory", addresses.len());
}

/// Bytes in which line ends are common, and JSON that is cut anywhere.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(br#"{"id":1,"method":"m"}"#.to_vec()),
        Just("\u{feff}\u{2028}".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..30),
        (100usize..40_000).prop_map(|len| vec![b'z'; len]),
    ];
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

fn framing() -> impl Strategy<Value = Framing> {
    prop_oneof![
        Just(RAW),
        (0usize..60).prop_map(cut),
        (0usize..60).prop_map(whole),
        (10_000usize..100_000).prop_map(cut),
        (10_000usize..100_000).prop_map(whole),
    ]
}

proptest! {
    #[test]
    fn any_bytes_in_any_chunks_come_out_the_same(
        wire in wire(),
        chunks in proptest::collection::vec(1usize..30_000, 1..10),
        small in any::<bool>(),
        read_bytes in prop_oneof![1usize..100, 1000usize..70_000],
        framing in framing(),
    ) {
        let chunks: Vec<usize> =
            if small { chunks.iter().map(|len| len % 50 + 1).collect() } else { chunks };
        let got = frames(&wire, &chunks, read_bytes, framing);
        if framing == RAW {
            let mut bytes = Vec::new();
            for frame in got {
                let Frame::Part(Part { bytes: more, last: false }) = frame else {
                    panic!("{frame:?}")
                };
                prop_assert!(!more.is_empty());
                bytes.extend_from_slice(&more);
            }
            prop_assert_eq!(bytes, wire);
        } else {
            prop_assert_eq!(seen(got), expected(&wire, framing));
        }
    }

    #[test]
    fn changing_the_framing_in_the_middle_loses_nothing(
        wire in wire(),
        chunk in 1usize..2000,
        framings in proptest::collection::vec(framing(), 1..6),
    ) {
        let mut framer = Framer::new();
        let mut turn = framings.iter().copied().cycle();
        let mut given = 0u64;
        let mut last = framings[0];
        let mut count = |frame: Frame| given += match frame {
            Frame::Line(line) => line.wire().len() as u64,
            Frame::Part(part) => part.bytes.len() as u64,
            Frame::TooLong(long) => long.len_bytes,
            other => panic!("{other:?}"),
        };
        for chunk in wire.chunks(chunk) {
            last = turn.next().unwrap();
            framer.buffer(100).extend_from_slice(chunk);
            std::iter::from_fn(|| framer.next(last)).for_each(&mut count);
        }
        std::iter::from_fn(|| framer.finish(last)).for_each(&mut count);
        prop_assert_eq!(given, wire.len() as u64);
    }
}
