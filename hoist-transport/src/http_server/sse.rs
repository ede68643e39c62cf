//! Server-sent events: bytes in, events out, no I/O.
//!
//! The rules are WHATWG's (HTML, "Parsing an event stream"), with these of our own: an event's data
//! stays the bytes it came in, so that what is no UTF-8 is passed on; an event has a largest size;
//! and an event that the stream ends in is given out, since servers leave the last blank line away.

use bytes::{Bytes, BytesMut};
use hoist_proxy_core::TooLong;
use hoist_proxy_core::json::EnvelopeScanner;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SseEvent {
    /// A message: its data, lines joined by line feeds. Never empty.
    Message(Bytes),
    /// An event whose data was longer than allowed. It is gone, but for what its envelope said.
    TooLong(TooLong),
}

/// Reads one event stream.
///
/// # Examples
///
/// ```
/// use hoist_transport::{SseEvent, SseParser};
///
/// let mut parser = SseParser::new(1024);
/// let mut events = Vec::new();
/// parser.feed(b"id: 7\ndata: {\"a\":\ndata: 1}\n", &mut |event| events.push(event));
/// assert!(events.is_empty());
/// parser.feed(b"\n", &mut |event| events.push(event));
/// assert_eq!(events, [SseEvent::Message("{\"a\":\n1}".into())]);
/// assert_eq!(parser.last_id().unwrap(), "7");
/// ```
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the state of a parser, not options")]
pub struct SseParser {
    max_bytes: usize,
    /// The line that has not ended yet.
    line: BytesMut,
    /// Whether the line is longer than any that matters.
    line_too_long: bool,
    /// Whether the last byte was a carriage return, so that a line feed ends no other line.
    after_cr: bool,
    /// Whether nothing was read yet, so that a byte order mark may stand here.
    at_start: bool,
    data: BytesMut,
    data_lines: usize,
    /// The data, once it is longer than allowed.
    long: Option<Long>,
    /// Whether what does not fit into the line is data.
    line_is_data: bool,
    kind_is_other: bool,
    /// The id of the event being read.
    next_id: Option<Bytes>,
    last_id: Option<Bytes>,
    retry_ms: Option<u64>,
}

/// Data that is read for its envelope, and not kept.
#[derive(Debug, Default)]
struct Long {
    scanner: EnvelopeScanner,
    len_bytes: u64,
}

impl Long {
    fn feed(&mut self, bytes: &[u8]) {
        self.scanner.feed(bytes);
        self.len_bytes += bytes.len() as u64;
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The longest id that is kept: it is sent back in a header.
const MAX_ID_BYTES: usize = 1024;

impl SseParser {
    /// A parser of a stream whose events have at most so many bytes of data.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            line: BytesMut::new(),
            line_too_long: false,
            after_cr: false,
            at_start: true,
            data: BytesMut::new(),
            data_lines: 0,
            long: None,
            line_is_data: false,
            kind_is_other: false,
            next_id: None,
            last_id: None,
            retry_ms: None,
        }
    }

    /// The id of the last event that had one; to be sent when the stream is resumed.
    pub fn last_id(&self) -> Option<&Bytes> {
        self.last_id.as_ref()
    }

    /// How long the server asks to wait before the stream is opened again.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// The stream goes on over another connection: what the last one left half said is gone.
    pub fn resume(&mut self) {
        let (last_id, retry_ms) = (self.last_id.take(), self.retry_ms);
        *self = Self { last_id, retry_ms, ..Self::new(self.max_bytes) };
    }

    /// Takes the next bytes; each event they complete goes to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut impl FnMut(SseEvent)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if rest[0] == b'\n' {
                    rest = &rest[1..];
                    continue;
                }
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.add(rest);
                return;
            };
            self.add(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(out);
        }
    }

    /// The stream has ended.
    pub fn finish(&mut self, out: &mut impl FnMut(SseEvent)) {
        if !self.line.is_empty() || self.line_too_long {
            self.end_line(out);
        }
        self.dispatch(out);
    }

    fn add(&mut self, bytes: &[u8]) {
        // A line has its field's name before the data.
        let room = (self.max_bytes + 16).saturating_sub(self.line.len());
        let (fits, over) = bytes.split_at(bytes.len().min(room));
        self.line.extend_from_slice(fits);
        if over.is_empty() {
            return;
        }
        if !self.line_too_long {
            self.line_too_long = true;
            let line = self.line.clone().freeze();
            let line = if self.at_start { line.strip_prefix(BOM).unwrap_or(&line) } else { &line };
            let (name, start) = field(line);
            self.line_is_data = name == b"data";
            if self.line_is_data {
                self.spill(&line[start..]);
            }
        }
        if let Some(long) = self.long.as_mut().filter(|_| self.line_is_data) {
            long.feed(over);
        }
    }

    /// Begins a line of data that is not kept, nor is what came before it.
    fn spill(&mut self, value: &[u8]) {
        let data = std::mem::take(&mut self.data);
        let long = self.long.get_or_insert_default();
        long.feed(&data);
        if self.data_lines > 0 {
            long.feed(b"\n");
        }
        long.feed(value);
        self.data_lines += 1;
    }

    fn end_line(&mut self, out: &mut impl FnMut(SseEvent)) {
        let mut line = self.line.split().freeze();
        let too_long = std::mem::take(&mut self.line_too_long);
        if std::mem::take(&mut self.at_start) && line.starts_with(BOM) {
            line = line.slice(BOM.len()..);
        }
        if line.is_empty() {
            self.dispatch(out);
            return;
        }
        let (name, start) = field(&line);
        let value = line.slice(start..);
        match name {
            // One that is too long was taken as it came.
            b"data" if too_long => {}
            b"data" => self.add_data(&value),
            b"event" => self.kind_is_other = !value.is_empty() && &value[..] != b"message",
            b"id" if !value.contains(&0) && value.len() <= MAX_ID_BYTES => {
                self.next_id = Some(Bytes::copy_from_slice(&value));
            }
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                let parsed = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
                self.retry_ms = parsed.or(self.retry_ms);
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        let separator = usize::from(self.data_lines > 0);
        if self.long.is_some() || self.data.len() + separator + value.len() > self.max_bytes {
            self.spill(value);
            return;
        }
        self.data_lines += 1;
        if separator == 1 {
            self.data.extend_from_slice(b"\n");
        } else {
            // Room for the end of a line too: most events are one.
            self.data.reserve(value.len() + 1);
        }
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self, out: &mut impl FnMut(SseEvent)) {
        // An id without data counts too: it primes a stream to be resumed.
        if let Some(id) = self.next_id.take() {
            self.last_id = (!id.is_empty()).then_some(id);
        }
        let data = self.data.split().freeze();
        self.data_lines = 0;
        let long = self.long.take();
        let is_other = std::mem::take(&mut self.kind_is_other);
        if is_other {
            return;
        }
        if let Some(Long { scanner, len_bytes }) = long {
            // As a line it would have an end, too.
            let (len_bytes, envelope) = (len_bytes + 1, scanner.finish());
            out(SseEvent::TooLong(TooLong { len_bytes, envelope }));
        } else if !data.is_empty() {
            out(SseEvent::Message(data));
        }
    }
}

/// The name of a line's field, and where its value starts.
fn field(line: &[u8]) -> (&[u8], usize) {
    let Some(colon) = memchr::memchr(b':', line) else { return (line, line.len()) };
    (&line[..colon], colon + 1 + usize::from(line.get(colon + 1) == Some(&b' ')))
}

#[cfg(test)]
mod tests {
    use hoist_proxy_core::json::ScannedKind;
    use proptest::prelude::*;

    use super::*;

    /// The events, the last id and the retry time of a stream.
    fn read(chunks: &[&[u8]], max_bytes: usize) -> (Vec<String>, Option<String>, Option<u64>) {
        let mut parser = SseParser::new(max_bytes);
        let mut events = Vec::new();
        let mut out = |event| {
            events.push(match event {
                SseEvent::Message(data) => String::from_utf8_lossy(&data).into_owned(),
                SseEvent::TooLong(long) => format!("TOO LONG {}", long.len_bytes),
            });
        };
        for chunk in chunks {
            parser.feed(chunk, &mut out);
        }
        parser.finish(&mut out);
        let id = parser.last_id().map(|id| String::from_utf8_lossy(id).into_owned());
        (events, id, parser.retry_ms())
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str], id: Option<&str>, retry_ms: Option<u64>) {
        let expected =
            (expected.iter().map(|e| (*e).to_owned()).collect(), id.map(str::to_owned), retry_ms);
        assert_eq!(read(&[text.as_bytes()], 100), expected, "{text:?}");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes, 100), expected, "byte by byte: {text:?}");
        // However lines end, the events are the same.
        if !text.contains('\r') {
            for end in ["\r", "\r\n"] {
                let other = text.replace('\n', end);
                assert_eq!(read(&[other.as_bytes()], 100), expected, "{other:?}");
                let bytes: Vec<&[u8]> = other.as_bytes().chunks(1).collect();
                assert_eq!(read(&bytes, 100), expected, "byte by byte: {other:?}");
            }
        }
    }

    #[test]
    fn events_are_their_data() {
        check("data: {\"a\":1}\n\n", &["{\"a\":1}"], None, None);
        check("data:x\n\ndata:  y\n\n", &["x", " y"], None, None);
        check("event: message\ndata: x\n\nevent:\ndata: y\n\n", &["x", "y"], None, None);
        check("data: a\ndata:\ndata: b\n\n", &["a\n\nb"], None, None);
        check("\n\n\ndata: x\n\n\n\n", &["x"], None, None);
    }

    #[test]
    fn what_is_no_message_is_not_given_out() {
        check(": a comment\n\n", &[], None, None);
        check("event: ping\ndata: x\n\ndata: y\n\n", &["y"], None, None);
        check("data:\n\n", &[], None, None);
        check("data\n\n", &[], None, None);
        check("datax: 1\nDATA: 2\n data: 3\n\n", &[], None, None);
    }

    #[test]
    fn ids_and_retry_times_are_kept() {
        check("id: 1\ndata: x\n\nid: 2\ndata:\n\n", &["x"], Some("2"), None);
        check("id: 1\n\nid\n\n", &[], None, None);
        check("id: 1\n\nid: a\0b\n\n", &[], Some("1"), None);
        check("retry: 30\nretry: x\nretry: 2.5\n\n", &[], None, Some(30));
        check("retry: 99999999999999999999\n\n", &[], None, None);
        // An id counts once its event is whole, or the stream has ended.
        let mut parser = SseParser::new(100);
        parser.feed(b"id: 1\ndata: x\n\nid: 2\ndata: y\n", &mut |_| {});
        assert_eq!(parser.last_id().map(|id| &id[..]), Some(&b"1"[..]));
    }

    #[test]
    fn an_event_that_the_stream_ends_in_is_given_out() {
        check("data: x\n", &["x"], None, None);
        check("data: x", &["x"], None, None);
        check("data: x\n\ndata: y\ndata: z", &["x", "y\nz"], None, None);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_once() {
        check("\u{feff}data: x\n\n", &["x"], None, None);
        check("\u{feff}\u{feff}data: x\n\n", &[], None, None);
        check("\n\u{feff}data: x\n\n", &[], None, None);
    }

    #[test]
    fn data_is_bytes() {
        let (events, ..) = read(&[b"data: \xff\xe2\x80\xa8\x85\n\n"], 100);
        assert_eq!(events, ["\u{fffd}\u{2028}\u{fffd}"]);
    }

    #[test]
    fn too_long_an_event_is_said_and_the_next_is_whole() {
        let long = "x".repeat(101);
        check(&format!("data: {long}\n\ndata: y\n\n"), &["TOO LONG 102", "y"], None, None);
        let half = "x".repeat(51);
        check(
            &format!("data: {half}\ndata: {half}\n\ndata: y\n\n"),
            &["TOO LONG 104", "y"],
            None,
            None,
        );
        let fits = "x".repeat(100);
        check(&format!("data: {fits}\n\n"), &[&fits], None, None);
        check(&format!(": {long}{long}\ndata: y\n\n"), &["y"], None, None);
        // A long stream without an end of line takes no more memory than a line may.
        let mut parser = SseParser::new(100);
        for _ in 0..1000 {
            parser.feed(&[b'x'; 1000], &mut |_| {});
        }
        assert!(parser.line.capacity() < 4096);
    }

    #[test]
    fn what_is_too_long_still_says_what_it_is() {
        let long = "x".repeat(300);
        for (text, kind, id) in [
            (format!(r#"{{"result":"{long}","id":7}}"#), ScannedKind::Response, Some("7")),
            (
                format!("{{\"id\":7,\ndata: \"result\":\"{long}\"}}"),
                ScannedKind::Response,
                Some("7"),
            ),
            (
                format!("{{\"result\":\ndata: \"{long}\"\ndata\ndata:,\"id\":\"a\"}}"),
                ScannedKind::Response,
                Some("\"a\""),
            ),
            (format!(r#"{{"params":"{long}","method":"m"}}"#), ScannedKind::Notification, None),
            (format!("[\"{long}\"]"), ScannedKind::Other, None),
        ] {
            let stream = format!("data: {text}\n\ndata: y\n\n");
            for size in [1, 7, 100, 1000] {
                let mut parser = SseParser::new(100);
                let mut events = Vec::new();
                for chunk in stream.as_bytes().chunks(size) {
                    parser.feed(chunk, &mut |event| events.push(event));
                }
                let [SseEvent::TooLong(long), SseEvent::Message(next)] = &events[..] else {
                    panic!("{events:?}")
                };
                assert_eq!(next, "y");
                let data = text.replace("\ndata: ", "\n").replace("\ndata:", "\n");
                let data = data.replace("\ndata", "\n");
                assert_eq!(long.len_bytes, data.len() as u64 + 1, "{text}");
                let envelope = &long.envelope;
                let found = envelope.id.as_ref().map(hoist_proxy_core::RequestId::raw);
                assert_eq!((envelope.kind, found), (kind, id));
            }
        }
        // What is no data is nobody's.
        let (events, ..) = read(&[format!(": {long}\nother: {long}\n\n").as_bytes()], 100);
        assert!(events.is_empty(), "{events:?}");
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            text in r"((data|id|event|retry|x)?:? ?[a-z0-9\x00é]{0,5}(\n|\r|\r\n)){0,12}[a-z:]{0,3}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(read(&chunks, 20), read(&[bytes], 20));
        }

        #[test]
        fn what_is_written_is_read(messages in prop::collection::vec("[^\r\n]{1,30}(\n[^\r\n]{1,30}){0,2}", 0..6)) {
            let events = messages.iter().map(|message| message.replace('\n', "\ndata: "));
            let stream = events.fold(String::new(), |all, data| all + "data: " + &data + "\n\n");
            prop_assert_eq!(read(&[stream.as_bytes()], 1000).0, messages);
        }
    }
}
