//! When a server that must end is told so, and when it is made to. Decisions only: the time comes
//! in, what to do goes out.

use std::time::Duration;

use tokio::time::Instant;

/// How soon the group is looked at again at first, once the child itself has ended. Nothing
/// reports that a process group has emptied, so it must be looked at.
const FIRST_LOOK: Duration = Duration::from_millis(1);

/// How far apart the looks get.
const SLOWEST_LOOK: Duration = Duration::from_millis(100);

/// How long killed processes may take to be gone from the system's tables before they are left
/// to it: what cannot be woken cannot be waited for.
const BURIAL: Duration = Duration::from_secs(1);

/// How long a server that was sent SIGTERM has when the host insists. Hosts that do kill two
/// seconds later, and with the proxy gone nobody ends the server.
const INSISTENT_GRACE: Duration = Duration::from_millis(1500);

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Ask the process group to end.
    Terminate,
    /// End the process group.
    Kill,
    /// Wait no longer.
    GiveUp,
}

/// What the process group was last seen as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Somebody is left in it.
    Left,
    /// It is empty, and must not be signalled again: its number may go to somebody else.
    Empty,
}

/// The course of one server's end.
///
/// The clock starts when the server must end, or when the child has ended and left others of its
/// group behind. From then on: a grace, SIGTERM, a grace, SIGKILL. It never starts anew, but is
/// moved forward by a host that insists.
#[derive(Debug)]
pub(super) struct Shutdown {
    /// The time before SIGTERM.
    grace: Duration,
    /// The time between SIGTERM and SIGKILL.
    last_grace: Duration,
    clock: Clock,
    child: Child,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    Stopped,
    /// The input is closed; SIGTERM comes next.
    Waiting(Instant),
    /// SIGTERM was sent; SIGKILL comes next.
    Terminated(Instant),
    /// SIGKILL was sent; giving up comes next.
    Killed(Instant),
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Child {
    Running,
    /// It has ended, but not all of its group.
    Survived {
        next_look: Instant,
        apart: Duration,
    },
}

impl Shutdown {
    /// A server that runs and may go on running.
    pub(super) fn new(grace: Duration) -> Self {
        Self { grace, last_grace: grace, clock: Clock::Stopped, child: Child::Running }
    }

    /// The server must end.
    pub(super) fn urgent(&mut self, now: Instant) {
        if self.clock == Clock::Stopped {
            self.clock = Clock::Waiting(now + self.grace);
        }
    }

    /// The host insists: SIGTERM now, unless it was sent already, and SIGKILL soon.
    pub(super) fn insist(&mut self, now: Instant) {
        self.last_grace = self.grace.min(INSISTENT_GRACE);
        self.clock = match self.clock {
            Clock::Stopped | Clock::Waiting(_) => Clock::Waiting(now),
            Clock::Terminated(at) => Clock::Terminated(at.min(now + self.last_grace)),
            killed @ (Clock::Killed(_) | Clock::Over) => killed,
        };
    }

    /// How long what holds the output may keep it once the group is empty.
    pub(super) fn last_grace(&self) -> Duration {
        self.last_grace
    }

    /// The child has ended.
    pub(super) fn child_ended(&mut self, now: Instant, group: Group) {
        match group {
            Group::Empty => self.clock = Clock::Over,
            Group::Left => {
                self.urgent(now);
                self.child = Child::Survived { next_look: now + FIRST_LOOK, apart: FIRST_LOOK };
            }
        }
    }

    /// When [`tick`](Self::tick) is due; `None` while only the outside can bring news.
    pub(super) fn due(&self) -> Option<Instant> {
        let step = match self.clock {
            Clock::Stopped | Clock::Over => return None,
            Clock::Waiting(at) | Clock::Terminated(at) | Clock::Killed(at) => at,
        };
        match self.child {
            Child::Running => Some(step),
            Child::Survived { next_look, .. } => Some(step.min(next_look)),
        }
    }

    /// Whether the group should be looked at before the next [`tick`](Self::tick).
    pub(super) fn watches_group(&self) -> bool {
        self.child != Child::Running
    }

    /// Whether there is nobody left to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.clock == Clock::Over
    }

    /// Time has passed; `group` is what it is now.
    pub(super) fn tick(&mut self, now: Instant, group: Group) -> Option<Action> {
        if let Child::Survived { next_look, apart } = self.child {
            if group == Group::Empty {
                self.clock = Clock::Over;
                return None;
            }
            if now >= next_look {
                let apart = (apart * 2).min(SLOWEST_LOOK);
                self.child = Child::Survived { next_look: now + apart, apart };
            }
        }
        let (clock, action) = match self.clock {
            Clock::Waiting(at) if now >= at => {
                (Clock::Terminated(now + self.last_grace), Action::Terminate)
            }
            Clock::Terminated(at) if now >= at => (Clock::Killed(now + BURIAL), Action::Kill),
            Clock::Killed(at) if now >= at => (Clock::Over, Action::GiveUp),
            _ => return None,
        };
        self.clock = clock;
        Some(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    /// Goes from one due time to the next, and tells what was done when, in milliseconds.
    fn course(
        shutdown: &mut Shutdown,
        start: Instant,
        until_ms: u64,
        group: impl Fn(u64) -> Group,
    ) -> Vec<(u64, Action)> {
        let mut done = Vec::new();
        while let Some(due) = shutdown.due() {
            let at_ms = u64::try_from((due - start).as_millis()).unwrap();
            if at_ms > until_ms {
                break;
            }
            done.extend(shutdown.tick(due, group(at_ms)).map(|action| (at_ms, action)));
        }
        done
    }

    #[test]
    fn a_server_that_may_go_on_is_left_alone() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(GRACE);
        assert_eq!(shutdown.due(), None);
        assert_eq!(shutdown.tick(start + 100 * GRACE, Group::Left), None);
        shutdown.child_ended(start + 100 * GRACE, Group::Empty);
        assert!(shutdown.is_over());
        assert_eq!(shutdown.due(), None);
    }

    #[test]
    fn a_server_that_does_not_end_is_told_and_then_made_to() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(GRACE);
        shutdown.urgent(start);
        assert_eq!(
            course(&mut shutdown, start, u64::MAX, |_| Group::Left),
            [(5000, Action::Terminate), (10_000, Action::Kill), (11_000, Action::GiveUp)]
        );
        assert!(shutdown.is_over());
    }

    #[test]
    fn the_clock_does_not_start_anew() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(GRACE);
        shutdown.urgent(start);
        shutdown.urgent(start + Duration::from_secs(4));
        assert_eq!(
            course(&mut shutdown, start, 6000, |_| Group::Left),
            [(5000, Action::Terminate)]
        );
        // The child obeys, others of its group do not: they were told already.
        shutdown.child_ended(start + Duration::from_secs(6), Group::Left);
        assert_eq!(
            course(&mut shutdown, start, u64::MAX, |_| Group::Left),
            [(10_000, Action::Kill), (11_000, Action::GiveUp)]
        );
    }

    #[test]
    fn a_host_that_insists_is_obeyed_at_once() {
        for before in ["nothing", "the end of the input", "the end of the child"] {
            let start = Instant::now();
            let mut shutdown = Shutdown::new(GRACE);
            match before {
                "nothing" => {}
                "the end of the input" => shutdown.urgent(start),
                _ => shutdown.child_ended(start, Group::Left),
            }
            shutdown.insist(start + Duration::from_secs(2));
            assert_eq!(
                course(&mut shutdown, start, u64::MAX, |_| Group::Left)
                    .into_iter()
                    .filter(|(_, action)| *action != Action::GiveUp)
                    .collect::<Vec<_>>(),
                [(2000, Action::Terminate), (3500, Action::Kill)],
                "after {before}"
            );
        }
    }

    #[test]
    fn a_host_that_insists_after_sigterm_has_sigkill_moved_forward_and_never_back() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(GRACE);
        shutdown.urgent(start);
        assert_eq!(
            course(&mut shutdown, start, 6000, |_| Group::Left),
            [(5000, Action::Terminate)]
        );
        shutdown.insist(start + Duration::from_secs(6));
        shutdown.insist(start + Duration::from_secs(7));
        assert_eq!(course(&mut shutdown, start, 8000, |_| Group::Left), [(7500, Action::Kill)]);
        shutdown.insist(start + Duration::from_secs(8));
        assert_eq!(
            course(&mut shutdown, start, u64::MAX, |_| Group::Left),
            [(8500, Action::GiveUp)]
        );
        shutdown.insist(start + Duration::from_secs(9));
        assert!(shutdown.is_over());
    }

    #[test]
    fn a_host_that_insists_waits_no_longer_than_the_grace() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(Duration::from_millis(200));
        shutdown.insist(start);
        assert_eq!(
            course(&mut shutdown, start, 300, |_| Group::Left),
            [(0, Action::Terminate), (200, Action::Kill)]
        );
    }

    #[test]
    fn what_the_child_leaves_behind_gets_the_same() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(GRACE);
        shutdown.child_ended(start, Group::Left);
        assert!(!shutdown.is_over());
        let killed = |at_ms| if at_ms > 10_000 { Group::Empty } else { Group::Left };
        assert_eq!(
            course(&mut shutdown, start, u64::MAX, killed),
            [(5000, Action::Terminate), (10_000, Action::Kill)]
        );
        assert!(shutdown.is_over());
    }

    #[test]
    fn an_empty_group_is_noticed_soon_and_never_signalled() {
        for emptied_ms in [0, 3, 40, 4999, 5000, 9999] {
            let start = Instant::now();
            let mut shutdown = Shutdown::new(GRACE);
            shutdown.child_ended(start, Group::Left);
            let group = |at_ms| if at_ms < emptied_ms { Group::Left } else { Group::Empty };
            let done = course(&mut shutdown, start, emptied_ms + 100, group);
            assert!(shutdown.is_over(), "emptied after {emptied_ms} ms");
            assert!(done.iter().all(|(at_ms, _)| *at_ms < emptied_ms), "{done:?}");
        }
    }

    #[test]
    fn no_grace_at_all_still_tells_before_it_kills() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(Duration::ZERO);
        shutdown.urgent(start);
        assert_eq!(shutdown.tick(start, Group::Left), Some(Action::Terminate));
        assert_eq!(shutdown.tick(start, Group::Left), Some(Action::Kill));
    }
}
