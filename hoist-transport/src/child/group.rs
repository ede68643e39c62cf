//! The process group of a child.

use hoist_proxy_core::Ended;
use tokio::process::Child;

use super::shutdown::Group;

/// The process group that a child leads.
///
/// Its number stays taken while the child has not been collected or anybody is left in the group.
/// Once it was seen empty it is never signalled again: the number may be somebody else's by then.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

/// What a process can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tell {
    Terminate,
    Kill,
}

#[cfg(unix)]
impl ProcessGroup {
    /// The group of a child that was started as the leader of one.
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { id: id.and_then(rustix::process::Pid::from_raw) }
    }

    /// Whether anybody is left, once the child itself was collected.
    pub(super) fn look(&mut self) -> Group {
        use rustix::process::{WaitOptions, test_kill_process_group, waitpgid};
        let Some(id) = self.id else { return Group::Empty };
        // As the first process of a container we inherit the child's orphans, and nobody else
        // collects them.
        while let Ok(Some(_)) = waitpgid(id, WaitOptions::NOHANG) {}
        // "Not permitted" is no group of ours to end: processes of other users, or, on macOS,
        // only dead ones.
        //
        // The dead that nobody has collected still count as members, and there are parents, and
        // first processes of containers, that never collect. They are not worth waiting for.
        if test_kill_process_group(id).is_ok() && !holds_only_the_dead(id) {
            return Group::Left;
        }
        self.id = None;
        Group::Empty
    }

    /// Signals everybody in the group.
    pub(super) fn tell(&mut self, child: &mut Child, what: Tell) {
        use rustix::process::{Signal, kill_process, kill_process_group};
        let signal = match what {
            Tell::Terminate => Signal::TERM,
            Tell::Kill => Signal::KILL,
        };
        let Some(id) = self.id else { return };
        if kill_process_group(id, signal).is_ok() {
            return;
        }
        if child.id().is_some() {
            // Not collected yet, so the number is still its own: it has moved to another group.
            let _ = kill_process(id, signal);
        } else {
            self.id = None;
        }
    }
}

/// Whether members of the group are to be seen, and all of them have ended.
#[cfg(target_os = "linux")]
fn holds_only_the_dead(group: rustix::process::Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let mut dead = false;
    for process in processes.flatten() {
        let name = process.file_name();
        if !name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        // What is gone by now is no member any more.
        let Ok(stat) = std::fs::read(process.path().join("stat")) else { continue };
        match Member::of(group.as_raw_pid(), &stat) {
            None => {}
            Some(Member::Dead) => dead = true,
            Some(Member::Alive) => return false,
        }
    }
    dead
}

/// Elsewhere this is not to be learnt.
#[cfg(all(unix, not(target_os = "linux")))]
fn holds_only_the_dead(_group: rustix::process::Pid) -> bool {
    false
}

/// A process of a group.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Alive,
    /// It has ended, but was not collected.
    Dead,
}

#[cfg(target_os = "linux")]
impl Member {
    /// What `/proc/<pid>/stat` says; `None` for a process of another group.
    fn of(group: i32, stat: &[u8]) -> Option<Self> {
        // The name, which may hold anything, ends with the last parenthesis.
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let fields = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        let its_group: i32 = fields.nth(1)?.parse().ok()?;
        if its_group != group {
            return None;
        }
        // Its first thread may have ended before others.
        let threads: u64 = fields.nth(14)?.parse().ok()?;
        let ended = matches!(state, "Z" | "X") && threads <= 1;
        Some(if ended { Self::Dead } else { Self::Alive })
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    /// There are no process groups here.
    pub(super) fn of(_child: &Child) -> Self {
        Self {}
    }

    /// Nobody but the child is known.
    pub(super) fn look(&mut self) -> Group {
        Group::Empty
    }

    /// Ends the child: it cannot be asked.
    pub(super) fn tell(&mut self, child: &mut Child, _what: Tell) {
        let _ = child.start_kill();
    }
}

/// How the child ended, as a shell would say it.
pub(super) fn ended(status: std::process::ExitStatus) -> Ended {
    #[cfg(unix)]
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|n| 128 + n);
    #[cfg(not(unix))]
    let by_signal = None;
    status.code().or(by_signal).map_or_else(Ended::default, Ended::with_exit_code)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn stat(name: &str, state: &str, group: i32, threads: u64) -> Vec<u8> {
        let zeros = "0 ".repeat(14);
        format!("7 ({name}) {state} 1 {group} {zeros}{threads} 0 9\n").into_bytes()
    }

    #[test]
    fn the_dead_are_told_from_the_living() {
        assert_eq!(Member::of(5, &stat("sh", "S", 5, 1)), Some(Member::Alive));
        assert_eq!(Member::of(5, &stat("sh", "Z", 5, 1)), Some(Member::Dead));
        assert_eq!(Member::of(5, &stat("sh", "X", 5, 0)), Some(Member::Dead));
        assert_eq!(Member::of(5, &stat("sh", "Z", 5, 3)), Some(Member::Alive), "other threads");
        assert_eq!(Member::of(5, &stat("a) Z 1 5 (", "S", 5, 1)), Some(Member::Alive));
        assert_eq!(Member::of(5, &stat("sh", "Z", 6, 1)), None);
        assert_eq!(Member::of(5, b"7 (sh) Z"), None);
    }

    #[test]
    fn this_process_is_alive() {
        let stat = std::fs::read("/proc/self/stat").unwrap();
        let group = rustix::process::getpgrp();
        assert_eq!(Member::of(group.as_raw_pid(), &stat), Some(Member::Alive));
        assert!(!holds_only_the_dead(group));
    }
}
