//! Processes that a test started through others, and what they note.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::host::PATIENCE;

/// A process that ends with the test at the latest.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().expect("the program can be started"))
    }

    /// The process's id, which stays its own until it was waited for.
    pub(crate) fn id(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Waits for its end, though not for ever.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        // There is no way to wait for a process with a bound but to look.
        until("the end of a process", || self.0.try_wait().expect("our own child"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// A file in which servers note what they live through, each note a line.
///
/// A note `<who> <pid>` names a process. What is named and still runs is ended with the test.
pub(crate) struct Notes {
    dir: TempDir,
}

impl Notes {
    pub(crate) fn new() -> Self {
        Self { dir: TempDir::new().expect("a temporary directory") }
    }

    /// The file's path.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("notes")
    }

    /// What was noted so far; a line that is being written is left out.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }

    /// Waits for a note that starts so, and returns its rest.
    #[track_caller]
    pub(crate) fn wait_for(&self, start: &str) -> String {
        let found = || self.lines().iter().find_map(|l| l.strip_prefix(start).map(str::to_owned));
        until(&format!("a note {start:?}"), found)
    }

    /// The process that noted itself under this name.
    #[track_caller]
    pub(crate) fn process(&self, who: &str) -> Pid {
        pid(&self.wait_for(&format!("{who} "))).expect("a process's number")
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        let marker = self.dir.path().as_os_str().as_encoded_bytes();
        let numbers = self.lines();
        for pid in numbers.iter().filter_map(|l| l.split_once(' ')).filter_map(|(_, n)| pid(n)) {
            // A number may have gone to somebody else; those of the test have its notes' path
            // among their words or its steps.
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let is_ours = words.windows(8).any(|part| part == b"play.py\0")
                || words.windows(marker.len()).any(|part| part == marker);
            if is_ours && !is_gone(pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

fn pid(text: &str) -> Option<Pid> {
    text.trim().parse().ok().and_then(Pid::from_raw)
}

/// Asks again and again until there is an answer.
#[track_caller]
#[expect(clippy::disallowed_types, reason = "other processes keep to no paused clock")]
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(std::time::Instant::now() < end, "{what} did not come within {PATIENCE:?}");
        // Nothing tells of it, so it must be looked for.
        thread::park_timeout(Duration::from_millis(2));
    }
}

/// The fields of `/proc/<pid>/stat` behind the name, which may hold anything.
fn stat(pid: Pid) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// Whether a process has ended; one that nobody has collected yet has.
pub(crate) fn is_gone(pid: Pid) -> bool {
    stat(pid).is_none_or(|fields| fields[0] == "Z" || fields[0] == "X")
}

/// Waits for the end of a process that is no child of ours.
#[track_caller]
pub(crate) fn wait_until_gone(pid: Pid) {
    until(&format!("the end of process {pid}"), || is_gone(pid).then_some(()));
}

/// Waits until no process has this variable in the environment it was started with.
#[track_caller]
pub(crate) fn wait_until_none_has(variable: &str, value: &Path) {
    let entry = [variable.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat();
    let has_it = |process: &fs::DirEntry| {
        // Of others' processes, and of one that has ended, it cannot be read.
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == entry)
    };
    until("the end of all that was started", || {
        let processes = fs::read_dir("/proc").expect("it is there on Linux");
        (!processes.filter_map(Result::ok).any(|process| has_it(&process))).then_some(())
    });
}

/// How many children a process has that it has not collected.
pub(crate) fn children(parent: Pid) -> usize {
    let processes = fs::read_dir("/proc").expect("it is there on Linux");
    let is_child = |process: &fs::DirEntry| {
        let pid = process.file_name().to_str().and_then(pid);
        pid.and_then(stat).is_some_and(|fields| fields[1] == parent.to_string())
    };
    processes.filter_map(Result::ok).filter(is_child).count()
}

/// Whether a process ignores a signal.
pub(crate) fn ignores(pid: Pid, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("it is there");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a hexadecimal number");
    mask >> (signal.as_raw() - 1) & 1 == 1
}

/// The time a process has kept a processor busy, also after its end if nobody has collected it.
pub(crate) fn busy(pid: Pid) -> Duration {
    let fields = stat(pid).expect("the process has not been collected");
    let ticks: u64 = fields[11..13].iter().map(|n| n.parse::<u64>().expect("a number")).sum();
    // The kernel shows ticks of a hundredth of a second to programs, everywhere that Linux runs.
    Duration::from_millis(ticks * 10)
}
