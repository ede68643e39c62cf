//! One session as it goes on.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use hoist_trace::log::{Header, LogError};
use hoist_trace::mcp::Session;
use hoist_trace::sessions::Found;
use hoist_transport::Termination;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::timeline::Timeline;
use super::{EXIT_UNREAD, MAX_SAID, exit_code, read, unread, width};
use crate::cli::{EXIT_USAGE, ShowOptions};
use crate::diagnostics::{complain, with_causes};

/// How often the file is looked at.
const PERIOD: Duration = Duration::from_millis(200);

/// The log is read anew each time it has grown; looking again takes this many times as long as
/// reading did, so that a huge log does not keep a processor busy.
const REST: u32 = 4;

/// How much of a file's end is compared when it is looked at again.
const TAIL_BYTES: u64 = 4 << 10;

/// How much of a file may be its first line.
const HEADER_MAX_BYTES: u64 = 1 << 20;

/// Follows the one log until the process is told to end, or nobody reads what it writes.
pub(super) fn run(options: &ShowOptions, program: &str) -> u8 {
    let started = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let told = started.and_then(|runtime| {
        let code = runtime.block_on(until_told(options.clone(), program.to_owned()))?;
        runtime.shutdown_background();
        Ok(code)
    });
    told.unwrap_or_else(|error| {
        complain(program, &format!("catching signals failed: {error}"));
        EXIT_UNREAD
    })
}

/// The work is done on a thread of its own: a terminal that was stopped blocks it, and must not keep
/// the program from ending.
async fn until_told(options: ShowOptions, program: String) -> io::Result<u8> {
    let termination = Termination::catch()?;
    let (ended, mut code) = mpsc::channel(1);
    let told = ended.clone();
    tokio::spawn(async move {
        termination.requested().await;
        let _ = told.send(0).await;
    });
    thread::spawn(move || {
        let code = follow(&options, &program);
        let _ = ended.blocking_send(code);
    });
    Ok(code.recv().await.unwrap_or(EXIT_UNREAD))
}

fn follow(options: &ShowOptions, program: &str) -> u8 {
    // The command line has one.
    let Some(path) = options.paths.first() else { return EXIT_USAGE };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => {
            let path = path.display();
            complain(program, &format!("--follow takes a log, and {path} is no regular file"));
            return EXIT_USAGE;
        }
        Err(source) => {
            let error = LogError::Io { path: path.clone(), source };
            complain(program, &with_causes(&error));
            return EXIT_UNREAD;
        }
    }
    let mut following = Following::new(path, width(options), program);
    let mut out = BufWriter::new(io::stdout());
    loop {
        let began = Instant::now();
        match following.look(&mut out) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                complain(program, &with_causes(&error));
                return EXIT_UNREAD;
            }
            Err(error) => return exit_code(Err(error), program),
        }
        if nobody_reads() {
            return 0;
        }
        thread::sleep(PERIOD.max(began.elapsed().saturating_mul(REST)));
    }
}

/// A log that is looked at again and again.
struct Following<'a> {
    path: &'a Path,
    width: Option<usize>,
    program: &'a str,
    /// What the file was like when it was looked at last.
    seen: Option<Seen>,
    /// The last bytes it had then. A log is only ever added to, so they stay.
    tail: Vec<u8>,
    timeline: Timeline,
    header: Option<Header>,
    /// How many lines that could not be read were said.
    problems_said: usize,
    /// How many messages of which something could not be read were said.
    unread_said: usize,
}

/// What tells whether a file is another one, or has been written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    file: (u64, u64),
    len_bytes: u64,
    modified: Option<SystemTime>,
}

impl<'a> Following<'a> {
    fn new(path: &'a Path, width: Option<usize>, program: &'a str) -> Self {
        Self {
            path,
            width,
            program,
            seen: None,
            tail: Vec::new(),
            timeline: Timeline::following(width),
            header: None,
            problems_said: 0,
            unread_said: 0,
        }
    }

    /// Writes what is new. The outer error is one of writing, the inner one of the log.
    fn look(&mut self, out: &mut impl Write) -> io::Result<Result<(), LogError>> {
        let now = match fs::metadata(self.path) {
            Ok(metadata) => Seen::of(&metadata),
            // Whoever replaces it may have removed it first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ok(())),
            Err(source) => return Ok(Err(LogError::Io { path: self.path.to_owned(), source })),
        };
        let before = self.seen.replace(now);
        if before == self.seen {
            return Ok(Ok(()));
        }
        match before {
            Some(before) if before.file != now.file => self.begin_anew("was replaced"),
            Some(before) if before.len_bytes > now.len_bytes => self.begin_anew("was cut short"),
            // What stood there may have been written over, by as much or more.
            Some(before) if tail(self.path, before.len_bytes) != self.tail => {
                self.begin_anew("was written anew");
            }
            _ => {}
        }
        self.tail = tail(self.path, now.len_bytes);
        // What is not whole yet is looked at again, whatever the file is like by then.
        let again = Seen { modified: None, ..now };
        if !self.has_first_line() {
            self.seen = Some(again);
            return Ok(Ok(()));
        }
        let session = match read(self.path) {
            Ok(session) => session,
            // It was written to, or replaced, while it was read.
            Err(_) if fs::metadata(self.path).map_or(true, |then| Seen::of(&then) != now) => {
                self.seen = Some(again);
                return Ok(Ok(()));
            }
            Err(error) => return Ok(Err(error)),
        };
        // The tail may be the same all the same.
        if self.header.as_ref().is_some_and(|header| *header != session.header) {
            self.begin_anew("was written anew");
        }
        self.header = Some(session.header.clone());
        self.say_new_problems(&session);
        let found = Found::of_log(self.path, session);
        self.timeline.head(&found, out)?;
        self.timeline.go_on(&found, out)?;
        out.flush()?;
        Ok(Ok(()))
    }

    fn begin_anew(&mut self, why: &str) {
        let path = self.path.display();
        complain(self.program, &format!("{path} {why}; following it from its start"));
        self.timeline = Timeline::following(self.width);
        self.header = None;
        self.problems_said = 0;
        self.unread_said = 0;
    }

    /// Whether the file's first line is whole, or longer than any header; true where that cannot be
    /// told, since reading says why.
    fn has_first_line(&self) -> bool {
        let mut first = Vec::new();
        let read = File::open(self.path).and_then(|file| {
            BufReader::new(file).take(HEADER_MAX_BYTES).read_until(b'\n', &mut first)
        });
        read.is_err() || first.ends_with(b"\n") || first.len() as u64 == HEADER_MAX_BYTES
    }

    fn say_new_problems(&mut self, session: &Session) {
        for problem in session.problems.iter().take(MAX_SAID).skip(self.problems_said) {
            complain(self.program, &problem.to_string());
            self.problems_said += 1;
        }
        if self.problems_said == MAX_SAID && session.problems.len() > MAX_SAID {
            let path = self.path.display();
            let more = format!("{path}: and more; `hoist validate {path}` lists them");
            complain(self.program, &more);
            self.problems_said += 1;
        }
        for unread in unread(&session.findings, self.path).take(MAX_SAID).skip(self.unread_said) {
            complain(self.program, &unread);
            self.unread_said += 1;
        }
        if self.unread_said == MAX_SAID && session.findings.unread > MAX_SAID as u64 {
            let path = self.path.display();
            let more = format!("{path}: and more messages; `hoist validate {path}` lists them");
            complain(self.program, &more);
            self.unread_said += 1;
        }
    }
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let file = (0, 0);
        Self { file, len_bytes: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// The last bytes of the first so many of a file; none of what cannot be read, which is said where
/// the file is.
fn tail(path: &Path, len_bytes: u64) -> Vec<u8> {
    let mut tail = Vec::new();
    let start = len_bytes.saturating_sub(TAIL_BYTES);
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(start))?;
        file.take(len_bytes - start).read_to_end(&mut tail)
    });
    if read.is_err() {
        tail.clear();
    }
    tail
}

/// Whether standard output is a pipe, or a socket, whose other end is closed.
#[cfg(unix)]
fn nobody_reads() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok()
        && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(not(unix))]
fn nobody_reads() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"t_ms":1,"from":"client","message":{"id":1,"method":"tools/call","params":{"name":"a"}}}"#;

    fn look(following: &mut Following<'_>) -> String {
        let mut out = Vec::new();
        following.look(&mut out).unwrap().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_first_line_that_is_not_whole_yet_is_waited_for() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("a.jsonl");
        let header = Header::new("s", 0).to_line();
        let mut following = Following::new(&path, Some(80), "hoist show");
        for bytes in [0, 1, header.len() - 1] {
            fs::write(&path, &header[..bytes]).unwrap();
            assert_eq!(look(&mut following), "", "{bytes}");
            assert_eq!(look(&mut following), "", "{bytes}");
        }
        fs::write(&path, &header).unwrap();
        let shown = look(&mut following);
        assert_eq!(shown, "session  s\nstarted  1970-01-01 00:00:00.000 UTC\n\n");
        assert_eq!(look(&mut following), "");
        fs::write(&path, "junk\n").unwrap();
        assert!(following.look(&mut Vec::new()).unwrap().is_err());
    }

    #[test]
    fn a_line_that_is_still_being_written_is_not_torn() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("a.jsonl");
        let whole = Header::new("s", 0).to_line() + CALL + "\n";
        let header = Header::new("s", 0).to_line().len();
        let mut following = Following::new(&path, Some(80), "hoist show");
        for bytes in [header, header + 1, whole.len() - 1] {
            fs::write(&path, &whole[..bytes]).unwrap();
            let shown = look(&mut following);
            assert!(!shown.contains("torn") && !shown.contains("missing"), "{shown}");
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(look(&mut following), "turn 0\n    0.001 s  #1 a {}\n");
    }

    #[test]
    fn a_log_that_was_written_anew_is_shown_from_its_start() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("a.jsonl");
        let mut following = Following::new(&path, Some(80), "hoist show");
        let log = |session: &str, calls: usize| {
            Header::new(session, 0).to_line() + &format!("{CALL}\n").repeat(calls)
        };
        fs::write(&path, log("a", 1)).unwrap();
        assert!(look(&mut following).ends_with("    0.001 s  #1 a {}\n"));
        // The same file, and longer, so that only what it holds tells.
        fs::write(&path, log("b", 2)).unwrap();
        let shown = look(&mut following);
        assert!(shown.starts_with("session  b\n"), "{shown}");
        assert!(shown.contains("    0.001 s  #1 a {}\n"), "{shown}");
        // As long as it was, and of the same session.
        let anew = log("b", 2).replace("\"name\":\"a\"", "\"name\":\"c\"");
        fs::write(&path, &anew).unwrap();
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
        let shown = look(&mut following);
        assert!(shown.contains("    0.001 s  #1 c {}\n"), "{shown}");
        // And longer.
        fs::write(&path, anew.replace("\"name\":\"c\"", "\"name\":\"de\"")).unwrap();
        let shown = look(&mut following);
        assert!(shown.contains("    0.001 s  #1 de {}\n"), "{shown}");
        fs::remove_file(&path).unwrap();
        assert_eq!(look(&mut following), "");
        fs::write(&path, log("b", 3)).unwrap();
        let shown = look(&mut following);
        assert!(shown.contains("#1#3 a {}\n"), "{shown}");
    }
}
