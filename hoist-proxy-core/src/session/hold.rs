//! The clock of a layer that holds an exchange.

use std::time::Duration;

use tokio::time::Instant;

use crate::Hold;

/// Adds up the time a layer holds. Pure: it is told the time.
#[derive(Debug)]
pub(crate) struct HoldClock {
    hold: Option<Hold>,
    spent: Duration,
    since: Option<Instant>,
}

impl HoldClock {
    pub(crate) fn new(hold: Option<Hold>) -> Self {
        Self { hold, spent: Duration::ZERO, since: None }
    }

    /// Whether there is a limit to keep.
    pub(crate) fn has_limit(&self) -> bool {
        self.hold.is_some()
    }

    /// Whether the clock also runs while the layer waits for requests of its own.
    pub(crate) fn counts_own_requests(&self) -> bool {
        self.hold.is_some_and(|h| h.counts_own_requests)
    }

    /// Lets the clock run, or stand, from `now` on.
    pub(crate) fn run(&mut self, running: bool, now: Instant) {
        match (running, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(since)) => {
                self.spent += now.saturating_duration_since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// When the limit is reached, if the clock runs and goes on running.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let left = self.hold?.limit.saturating_sub(self.spent);
        self.since?.checked_add(left)
    }

    /// The limit, once it is reached.
    pub(crate) fn reached(&self, now: Instant) -> Option<Duration> {
        let deadline = self.deadline()?;
        (now >= deadline).then_some(self.hold?.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_it_runs_counts() {
        let t0 = Instant::now();
        let at = |ms| t0 + Duration::from_millis(ms);
        let mut clock = HoldClock::new(Some(Hold::at_most(Duration::from_millis(100))));
        clock.run(true, at(0));
        assert_eq!(clock.deadline(), Some(at(100)));
        clock.run(true, at(30));
        assert_eq!(clock.deadline(), Some(at(100)));
        clock.run(false, at(60));
        assert_eq!(clock.deadline(), None);
        assert_eq!(clock.reached(at(10_000)), None);
        clock.run(true, at(5_000));
        assert_eq!(clock.deadline(), Some(at(5_040)));
        assert_eq!(clock.reached(at(5_039)), None);
        assert_eq!(clock.reached(at(5_040)), Some(Duration::from_millis(100)));
    }

    #[test]
    fn without_a_limit_nothing_is_ever_reached() {
        let now = Instant::now();
        let mut clock = HoldClock::new(None);
        clock.run(true, now);
        assert_eq!(clock.deadline(), None);
        assert_eq!(clock.reached(now + Duration::from_secs(1 << 30)), None);
        assert!(!clock.has_limit());
    }
}
