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
        // As the first process of a container we inherit the child's orphans. Nobody else
        // collects them, and until then they count as members.
        while let Ok(Some(_)) = waitpgid(id, WaitOptions::NOHANG) {}
        // "Not permitted" is no group of ours to end: processes of other users, or, on macOS,
        // only dead ones.
        if test_kill_process_group(id).is_ok() {
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
