//! Writing entries so that the file is a readable log after any failure.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::Origin;
use super::check::is_one_value;

/// From here on a message is written from where it lies; below, copying it next to its neighbours
/// costs less than a write of its own.
const COPY_MAX_BYTES: usize = 16 << 10;

/// How much is gathered for one write.
const GATHER_BYTES: usize = 128 << 10;

/// Where a log goes; a file, but in tests.
pub(crate) trait Sink: Send {
    /// Appends some of these bytes and says how many.
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Cuts off what stands behind this length.
    fn cut(&mut self, len_bytes: u64) -> io::Result<()>;
    /// Waits until everything has reached the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Sink for File {
    fn append(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write_vectored(parts)
    }

    fn cut(&mut self, len_bytes: u64) -> io::Result<()> {
        self.set_len(len_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// A line to record.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) t_ms: u64,
    pub(crate) from: Origin,
    pub(crate) by: Option<Box<str>>,
    pub(crate) body: RecordBody,
    /// Its length on the wire, line end included.
    pub(crate) wire_bytes: u64,
}

#[derive(Debug)]
pub(crate) enum RecordBody {
    Whole(Bytes),
    Parts(Box<[Bytes]>),
    /// Nobody kept it.
    TooLong,
}

impl RecordBody {
    pub(crate) fn chunks(&self) -> &[Bytes] {
        match self {
            Self::Whole(line) => std::slice::from_ref(line),
            Self::Parts(chunks) => chunks,
            Self::TooLong => &[],
        }
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.chunks().iter().map(Bytes::len).sum()
    }
}

/// Lines that are missing between two entries, per origin.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Missing {
    /// When the first of them was read.
    t_ms: u64,
    lines_and_bytes: [(u64, u64); ORIGINS.len()],
}

const ORIGINS: [Origin; 4] = [Origin::Client, Origin::Server, Origin::Proxy, Origin::Context];

impl Missing {
    pub(crate) fn add(&mut self, from: Origin, t_ms: u64, lines: u64, bytes: u64) {
        self.t_ms = if self.is_empty() { t_ms } else { self.t_ms.min(t_ms) };
        let at = ORIGINS.iter().position(|o| *o == from).expect("every origin is listed");
        self.lines_and_bytes[at].0 += lines;
        self.lines_and_bytes[at].1 += bytes;
    }

    fn add_all(&mut self, other: &Self) {
        for (from, lines, bytes) in other.each() {
            self.add(from, other.t_ms, lines, bytes);
        }
    }

    fn is_empty(&self) -> bool {
        self.each().next().is_none()
    }

    fn each(&self) -> impl Iterator<Item = (Origin, u64, u64)> + '_ {
        let all = ORIGINS.iter().zip(&self.lines_and_bytes);
        all.filter(|(_, (lines, _))| *lines > 0).map(|(o, (lines, bytes))| (*o, *lines, *bytes))
    }
}

/// What became of a session's lines.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) seen: AtomicU64,
    pub(crate) written: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) lost_bytes: AtomicU64,
}

impl Counters {
    pub(crate) fn lose(&self, lines: u64, bytes: u64) {
        self.lost.fetch_add(lines, Ordering::Relaxed);
        self.lost_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// An entry that was given to the sink together with others.
#[derive(Debug)]
struct Pending {
    /// Where it ends, in bytes from the start of what was given.
    end: usize,
    from: Origin,
    t_ms: u64,
    lines: u64,
    bytes: u64,
    is_gap: bool,
}

/// Writes entries to a sink. Never fails: what cannot be written is counted, and a gap entry says
/// so once writing works again.
#[derive(Debug)]
pub(crate) struct LogWriter<S> {
    sink: S,
    /// Where the last whole line ends.
    len_bytes: u64,
    /// Whether half a line stands behind that and could not be cut off.
    torn: bool,
    buffer: Vec<u8>,
    pending: Vec<Pending>,
    missing: Missing,
    last_t_ms: u64,
    /// The last entries that are in the file, each with the place where it starts.
    tail: VecDeque<(u64, Pending)>,
    on_error: OnError,
}

/// So many entries at the end of a full disk may make room for what says how many are missing.
const TAIL: usize = 8;

/// Told of the first write that fails.
struct OnError(Option<TellError>);

type TellError = Box<dyn FnOnce(&io::Error) + Send>;

impl std::fmt::Debug for OnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OnError").field(&self.0.is_some()).finish()
    }
}

impl<S: Sink> LogWriter<S> {
    /// A writer to a sink that holds so many bytes of whole lines already.
    pub(crate) fn new(
        sink: S,
        len_bytes: u64,
        on_error: impl FnOnce(&io::Error) + Send + 'static,
    ) -> Self {
        Self {
            sink,
            len_bytes,
            torn: false,
            buffer: Vec::new(),
            pending: Vec::new(),
            missing: Missing::default(),
            last_t_ms: 0,
            tail: VecDeque::with_capacity(TAIL),
            on_error: OnError(Some(Box::new(on_error))),
        }
    }

    /// Takes a line. It is on its way to the disk by the next [`flush`](Self::flush).
    pub(crate) fn push(&mut self, record: &Record, counters: &Counters) {
        if let RecordBody::TooLong = record.body {
            counters.lose(1, record.wire_bytes);
            self.missing.add(record.from, record.t_ms, 1, record.wire_bytes);
            return;
        }
        self.put_gaps();
        self.begin(record.t_ms, record.from, record.by.as_deref());
        let chunks = record.body.chunks();
        if is_one_value(chunks) {
            self.buffer.extend_from_slice(b",\"message\":");
            if record.body.len_bytes() > COPY_MAX_BYTES {
                self.end(record, record.body.len_bytes());
                self.write_out(chunks, counters);
                return;
            }
            for chunk in chunks {
                self.buffer.extend_from_slice(chunk);
            }
        } else {
            self.buffer.extend_from_slice(b",\"raw\":");
            // Noise is short, all but for an attacker's, and a character may be cut in two.
            let joined = match chunks {
                [line] => line.clone(),
                chunks => chunks.concat().into(),
            };
            serde_json::to_writer(&mut self.buffer, &String::from_utf8_lossy(&joined))
                .expect("a string is always JSON, and a vector takes every byte");
        }
        self.buffer.extend_from_slice(END);
        self.end(record, 0);
        if self.buffer.len() >= GATHER_BYTES {
            self.write_out(&[], counters);
        }
    }

    /// Takes notice of lines that are missing between the last entry and the next.
    pub(crate) fn miss(&mut self, missing: &Missing) {
        self.missing.add_all(missing);
    }

    /// Writes what is there, and the entry of a gap that stands last.
    pub(crate) fn flush(&mut self, counters: &Counters) {
        self.put_gaps();
        if !self.buffer.is_empty() {
            self.write_out(&[], counters);
        }
    }

    /// Flushes, and waits for the disk.
    pub(crate) fn close(mut self, counters: &Counters) -> io::Result<()> {
        self.flush(counters);
        self.make_room_for_gaps(counters);
        self.sink.sync()
    }

    /// A log whose disk is full to the end must say how much is missing, so the last entries give
    /// way to the entries of the gap, which count them, too.
    fn make_room_for_gaps(&mut self, counters: &Counters) {
        let mut gives_way = false;
        while !self.missing.is_empty() && !self.torn {
            // Gaps at the end are written anew, together with what is missing since.
            while self.tail.back().is_some_and(|(_, entry)| entry.is_gap) {
                self.take_back(counters);
            }
            if gives_way && !self.take_back(counters) {
                return;
            }
            gives_way = true;
            self.flush(counters);
        }
    }

    /// Takes the last entry out of the file again, as missing; false when there is none, or it
    /// cannot be done.
    fn take_back(&mut self, counters: &Counters) -> bool {
        let Some((start, entry)) = self.tail.pop_back() else { return false };
        if self.sink.cut(start).is_err() {
            self.tail.clear();
            return false;
        }
        self.len_bytes = start;
        if !entry.is_gap {
            counters.written.fetch_sub(1, Ordering::Relaxed);
            counters.lose(1, entry.bytes);
        }
        self.missing.add(entry.from, entry.t_ms, entry.lines, entry.bytes);
        true
    }

    fn put_gaps(&mut self) {
        if self.missing.is_empty() {
            return;
        }
        let missing = std::mem::take(&mut self.missing);
        for (from, lines, bytes) in missing.each() {
            self.begin(missing.t_ms, from, None);
            write!(self.buffer, ",\"gap\":{{\"lines\":{lines},\"bytes\":{bytes}}}")
                .expect("a vector takes every byte");
            self.buffer.extend_from_slice(END);
            let (end, t_ms) = (self.buffer.len(), missing.t_ms);
            self.pending.push(Pending { end, from, t_ms, lines, bytes, is_gap: true });
        }
    }

    fn begin(&mut self, t_ms: u64, from: Origin, by: Option<&str>) {
        if self.buffer.is_empty() && self.torn {
            // Ends the half line so that only that one is unreadable; the mark sees to it that it
            // is, even where nothing but the line feed was missing: it was counted as lost.
            self.buffer.extend_from_slice(b"#\n");
        }
        self.last_t_ms = self.last_t_ms.max(t_ms);
        let (t_ms, from) = (self.last_t_ms, from.as_str());
        write!(self.buffer, "{{\"t_ms\":{t_ms},\"from\":\"{from}\"")
            .expect("a vector takes every byte");
        if let Some(by) = by {
            self.buffer.extend_from_slice(b",\"by\":");
            serde_json::to_writer(&mut self.buffer, by)
                .expect("a string is always JSON, and a vector takes every byte");
        }
    }

    /// Notes where the entry at hand ends, which is so far behind the buffer.
    fn end(&mut self, record: &Record, outside_bytes: usize) {
        let outside_bytes = if outside_bytes > 0 { outside_bytes + END.len() } else { 0 };
        self.pending.push(Pending {
            end: self.buffer.len() + outside_bytes,
            from: record.from,
            t_ms: record.t_ms,
            lines: 1,
            bytes: record.wire_bytes,
            is_gap: false,
        });
    }

    /// Writes the buffer, then the message in `chunks` and its end if there is one.
    fn write_out(&mut self, chunks: &[Bytes], counters: &Counters) {
        let mut parts = Vec::with_capacity(chunks.len() + 2);
        parts.push(IoSlice::new(&self.buffer));
        parts.extend(chunks.iter().map(|chunk| IoSlice::new(chunk)));
        if !chunks.is_empty() {
            parts.push(IoSlice::new(END));
        }
        let (written, outcome) = append_all(&mut self.sink, &mut parts);
        drop(parts);
        self.account(written, outcome, counters);
        self.buffer.clear();
        self.buffer.shrink_to(2 * GATHER_BYTES);
    }

    fn account(&mut self, written: usize, outcome: io::Result<()>, counters: &Counters) {
        let mut whole_bytes = 0;
        let (before, torn) = (self.len_bytes, self.torn);
        for entry in self.pending.drain(..) {
            if entry.end <= written {
                let start = before + whole_bytes as u64;
                whole_bytes = entry.end;
                counters.written.fetch_add(u64::from(!entry.is_gap), Ordering::Relaxed);
                if torn {
                    // The end of a half line stands before the entry and cannot be told apart.
                    self.tail.clear();
                    continue;
                }
                if self.tail.len() == TAIL {
                    self.tail.pop_front();
                }
                self.tail.push_back((start, entry));
            } else {
                if !entry.is_gap {
                    counters.lose(1, entry.bytes);
                }
                self.missing.add(entry.from, entry.t_ms, entry.lines, entry.bytes);
            }
        }
        let Err(error) = outcome else {
            self.len_bytes += written as u64;
            self.torn = false;
            return;
        };
        self.len_bytes += whole_bytes as u64;
        // A whole line behind it ended the half line; cutting back to it does not.
        self.torn &= whole_bytes == 0;
        if written > whole_bytes && self.sink.cut(self.len_bytes).is_err() {
            self.torn = true;
            self.len_bytes += (written - whole_bytes) as u64;
        }
        if let Some(tell) = self.on_error.0.take() {
            tell(&error);
        }
    }
}

const END: &[u8] = b"}\n";

/// Appends everything, as far as it goes; how far that was.
fn append_all(sink: &mut impl Sink, mut parts: &mut [IoSlice<'_>]) -> (usize, io::Result<()>) {
    let mut written = 0;
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        match sink.append(parts) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(len) => {
                written += len;
                IoSlice::advance_slices(&mut parts, len);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
