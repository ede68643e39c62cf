//! Reading a log as a stream.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::{Content, Entry, Header, LogError};

/// What a reader met besides entries, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ReadReport {
    /// Entries read.
    pub entries: u64,
    /// Lines that were no entries and were skipped.
    pub bad_lines: u64,
    /// Lines of white space only, which were skipped.
    pub blank_lines: u64,
    /// Length of a last line without a line feed, in bytes: what a crash cut short. It is no
    /// entry. Of a log that is only a header, it is the header's, which is read all the same.
    pub torn_bytes: u64,
    /// Whether the torn line is the header.
    pub header_is_torn: bool,
    /// Gap entries read.
    pub gaps: u64,
    /// Lines that crossed and are missing, by the gap entries.
    pub lost_lines: u64,
    /// Their length on the wire, in bytes.
    pub lost_bytes: u64,
}

impl ReadReport {
    /// How many whole lines there were, the header among them.
    pub fn lines(&self) -> u64 {
        u64::from(!self.header_is_torn) + self.entries + self.bad_lines + self.blank_lines
    }
}

/// Reads a log entry by entry, holding one line at a time.
///
/// Yields an error for each line that is no entry and goes on after it; an error of reading itself
/// ([`LogError::Io`]) is the last item.
///
/// # Examples
///
/// ```
/// use hoist_trace::log::LogReader;
///
/// let text = concat!(
///     "{\"hoist_mcp_log\":2,\"session\":\"s\",\"started_unix_ms\":0}\n",
///     "{\"t_ms\":12,\"from\":\"client\",\"message\":{\"id\":1}}\n",
///     "not an entry\n",
///     "{\"t_ms\":14,\"from\":\"ser",
/// );
/// let mut log = LogReader::new(text.as_bytes(), "s.jsonl")?;
/// assert_eq!(log.next().unwrap()?.message(), Some("{\"id\":1}"));
/// let bad = log.next().unwrap().unwrap_err();
/// assert!(bad.to_string().starts_with("s.jsonl:3:1: "));
/// assert!(log.next().is_none());
/// assert_eq!(log.report().torn_bytes, 22);
/// # Ok::<(), hoist_trace::log::LogError>(())
/// ```
#[derive(Debug)]
pub struct LogReader<R> {
    input: R,
    path: PathBuf,
    header: Header,
    line: u64,
    buffer: Vec<u8>,
    max_line_bytes: usize,
    report: ReadReport,
    done: bool,
}

/// What came of looking for the next line.
enum Found {
    Line,
    TooLong { len_bytes: u64 },
    Torn { len_bytes: u64 },
    End,
}

impl LogReader<BufReader<File>> {
    /// Opens a log and reads its header.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and [`LogError::Io`] when the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let file =
            File::open(path).map_err(|source| LogError::Io { path: path.to_owned(), source })?;
        Self::new(BufReader::with_capacity(64 << 10, file), path)
    }
}

impl<R: BufRead> LogReader<R> {
    /// The longest line that is read, in bytes: what the longest message takes when all of it has
    /// to be escaped.
    pub const MAX_LINE_BYTES: usize = 512 << 20;

    /// Reads the header of a log; `path` is only what errors name.
    ///
    /// # Errors
    ///
    /// [`LogError::Io`], [`LogError::Empty`], [`LogError::NotALog`] or [`LogError::Version`].
    pub fn new(input: R, path: impl Into<PathBuf>) -> Result<Self, LogError> {
        let mut reader = Self {
            input,
            path: path.into(),
            header: Header::new("", 0),
            line: 0,
            buffer: Vec::new(),
            // No header is as long as this; a binary file may have no line feed for gigabytes.
            max_line_bytes: 1 << 20,
            report: ReadReport::default(),
            done: false,
        };
        let found = reader
            .find_line()
            .map_err(|source| LogError::Io { path: reader.path.clone(), source })?;
        match found {
            Found::End => return Err(LogError::Empty { path: reader.path }),
            Found::Torn { len_bytes } => {
                reader.report.torn_bytes = len_bytes;
                reader.report.header_is_torn = true;
                reader.done = true;
            }
            Found::Line | Found::TooLong { .. } => {}
        }
        // A header that is whole but for its line feed is as good as one with it.
        reader.header = Header::from_line(&reader.buffer, &reader.path)?;
        reader.max_line_bytes = Self::MAX_LINE_BYTES;
        Ok(reader)
    }

    /// The same reader, which takes lines up to this length and skips longer ones.
    #[must_use]
    pub fn with_max_line_bytes(self, max_line_bytes: usize) -> Self {
        Self { max_line_bytes, ..self }
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What was met so far besides entries; complete once the iterator has ended.
    pub fn report(&self) -> ReadReport {
        self.report
    }

    /// The header and the report.
    pub fn into_parts(self) -> (Header, ReadReport) {
        (self.header, self.report)
    }

    /// Reads up to and over the next line feed; leaves the line without it in `buffer`, or as much
    /// of it as the limit allows.
    fn find_line(&mut self) -> io::Result<Found> {
        self.buffer.clear();
        // One long line must not keep its memory for the rest of the log.
        self.buffer.shrink_to(1 << 20);
        let mut len_bytes = 0_u64;
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if available.is_empty() {
                return Ok(if len_bytes == 0 { Found::End } else { Found::Torn { len_bytes } });
            }
            let end = memchr::memchr(b'\n', available);
            let part = &available[..end.unwrap_or(available.len())];
            let room = self.max_line_bytes.saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&part[..part.len().min(room)]);
            len_bytes += part.len() as u64;
            let consumed = part.len() + usize::from(end.is_some());
            self.input.consume(consumed);
            if end.is_some() {
                self.line += 1;
                let whole = len_bytes == self.buffer.len() as u64;
                return Ok(if whole { Found::Line } else { Found::TooLong { len_bytes } });
            }
        }
    }

    fn bad_line(&mut self, column: usize, what: String) -> LogError {
        self.report.bad_lines += 1;
        LogError::BadLine { path: self.path.clone(), line: self.line, column, what }
    }
}

impl<R: BufRead> Iterator for LogReader<R> {
    type Item = Result<Entry, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.find_line() {
                Ok(Found::Line) if self.buffer.trim_ascii().is_empty() => {
                    self.report.blank_lines += 1;
                }
                Ok(Found::Line) => {
                    let entry = match Entry::parse(&self.buffer, self.line) {
                        Ok(entry) => entry,
                        Err((column, what)) => return Some(Err(self.bad_line(column, what))),
                    };
                    self.report.entries += 1;
                    if let Content::Gap(gap) = &entry.content {
                        self.report.gaps += 1;
                        self.report.lost_lines = self.report.lost_lines.saturating_add(gap.lines);
                        self.report.lost_bytes = self.report.lost_bytes.saturating_add(gap.bytes);
                    }
                    return Some(Ok(entry));
                }
                Ok(Found::TooLong { len_bytes }) => {
                    let max = self.max_line_bytes;
                    let what = format!("it has {len_bytes} bytes, over the limit of {max}");
                    return Some(Err(self.bad_line(1, what)));
                }
                Ok(Found::Torn { len_bytes }) => {
                    self.report.torn_bytes = len_bytes;
                    self.done = true;
                }
                Ok(Found::End) => self.done = true,
                Err(source) => {
                    self.done = true;
                    return Some(Err(LogError::Io { path: self.path.clone(), source }));
                }
            }
        }
        None
    }
}
