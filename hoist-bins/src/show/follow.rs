//! One session as it goes on.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use hoist_trace::log::{Header, LogError};
use hoist_trace::mcp::Session;
use hoist_transport::Termination;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::timeline::Timeline;
use super::{EXIT_UNREAD, MAX_SAID, exit_code, read, width};
use crate::cli::{EXIT_USAGE, ShowOptions};
use crate::diagnostics::{complain, with_causes};

/// How often the file is looked at.
const PERIOD: Duration = Duration::from_millis(200);

/// The log is read anew each time it has grown; looking again takes this many times as long as
/// reading did, so that a huge log does not keep a processor busy.
const REST: u32 = 4;

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
    timeline: Timeline,
    header: Option<Header>,
    /// How many lines that could not be read were said.
    problems_said: usize,
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
            timeline: Timeline::following(width),
            header: None,
            problems_said: 0,
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
            _ => {}
        }
        let session = match read(self.path) {
            Ok(session) => session,
            Err(error) if self.is_unfinished(&error) => {
                // The rest may have come since it was looked at: it is read again in any case.
                self.seen = Some(Seen { modified: None, ..now });
                return Ok(Ok(()));
            }
            Err(error) => return Ok(Err(error)),
        };
        if self.header.as_ref().is_some_and(|header| *header != session.header) {
            self.begin_anew("was written anew");
        }
        self.header = Some(session.header.clone());
        self.say_new_problems(&session);
        self.timeline.head(&session, self.path, out)?;
        self.timeline.go_on(&session, out)?;
        out.flush()?;
        Ok(Ok(()))
    }

    fn begin_anew(&mut self, why: &str) {
        let path = self.path.display();
        complain(self.program, &format!("{path} {why}; following it from its start"));
        self.timeline = Timeline::following(self.width);
        self.header = None;
        self.problems_said = 0;
    }

    /// Whether the file has no whole first line yet.
    fn is_unfinished(&self, error: &LogError) -> bool {
        if !matches!(error, LogError::Empty { .. } | LogError::NotALog { .. }) {
            return matches!(error, LogError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound);
        }
        let mut first = Vec::new();
        let read = File::open(self.path).and_then(|file| {
            BufReader::new(file).take(HEADER_MAX_BYTES).read_until(b'\n', &mut first)
        });
        read.is_ok() && !first.ends_with(b"\n") && (first.len() as u64) < HEADER_MAX_BYTES
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
