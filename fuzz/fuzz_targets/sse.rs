//! Server-sent events: any bytes in any chunks give the events that WHATWG's rules give.

#![no_main]

use hoist_fuzz::input::{Input, pieces};
use hoist_transport::{SseEvent, SseParser};
use libfuzzer_sys::fuzz_target;

/// Events, the last id, and the time to wait.
type Read = (Vec<Vec<u8>>, Option<Vec<u8>>, Option<u64>);

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let (chunks, other_chunks) = (input.chunks(), input.chunks());
    let max_bytes = input.size();
    let stream = input.rest();
    let read =
        |chunks: &[usize], max_bytes| read(&pieces(stream, chunks).collect::<Vec<_>>(), max_bytes);
    // Without a limit, what a parser that reads line by line gives.
    assert_eq!(read(&chunks, usize::MAX >> 1), expected(stream));
    // With one, chunks make no difference, and no event is longer.
    let limited = read(&chunks, max_bytes);
    assert_eq!(limited, read(&other_chunks, max_bytes));
    assert!(limited.0.iter().all(|event| event.len() <= max_bytes));
});

fn read(chunks: &[&[u8]], max_bytes: usize) -> Read {
    let mut parser = SseParser::new(max_bytes);
    let mut events = Vec::new();
    let mut take = |event| {
        if let SseEvent::Message(data) = event {
            assert!(!data.is_empty());
            events.push(data.to_vec());
        }
    };
    for chunk in chunks {
        parser.feed(chunk, &mut take);
    }
    parser.finish(&mut take);
    (events, parser.last_id().map(|id| id.to_vec()), parser.retry_ms())
}

/// The same, from the whole stream at once.
fn expected(stream: &[u8]) -> Read {
    let mut text = Vec::with_capacity(stream.len());
    let mut bytes = stream.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' {
            bytes.next_if_eq(&b'\n');
        }
        text.push(if byte == b'\r' { b'\n' } else { byte });
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let (mut events, mut last_id, mut retry_ms) = (Vec::new(), None, None);
    let (mut data, mut id, mut other): (Vec<&[u8]>, Option<&[u8]>, bool) =
        (Vec::new(), None, false);
    // The end of the stream ends its last event.
    for line in text.split(|byte| *byte == b'\n').chain([&b""[..]]) {
        if line.is_empty() {
            if let Some(id) = id.take() {
                last_id = (!id.is_empty()).then(|| id.to_vec());
            }
            let joined = std::mem::take(&mut data).join(&b'\n');
            if !std::mem::take(&mut other) && !joined.is_empty() {
                events.push(joined);
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => data.push(value),
            b"event" => other = !value.is_empty() && value != b"message",
            b"id" if !value.contains(&0) && value.len() <= 1024 => id = Some(value),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let number = String::from_utf8_lossy(value).parse().ok();
                retry_ms = number.or(retry_ms);
            }
            _ => {}
        }
    }
    (events, last_id, retry_ms)
}
