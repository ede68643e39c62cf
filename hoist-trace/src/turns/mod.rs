//! Which turn of the model a call belongs to.
//!
//! MCP carries the calls and not the model's turns, so they are inferred from when calls are made
//! and answered:
//!
//! - A call that the host makes while an earlier call of the turn awaits its answer belongs to that
//!   turn: calls of one turn run in parallel.
//! - So does one within [`JOIN_MS`] of the turn's last answer, with nothing said in between, unless
//!   it passes a value that first appeared in what the turn returned: hosts also run the calls of
//!   one turn one after another, but a model that uses an answer has read it first, in a new turn.
//! - A call that the proxy makes on its own joins a turn only while a call of it awaits its answer.
//! - Where the host names its own turn (Codex does, in the call's `_meta`), calls of different ones
//!   are of different turns. Calls of the same one need not be of the same: Codex's turn is all that
//!   the model does for one message of the user's.
//! - Any other call starts a new turn.
//!
//! A call that is never answered keeps its turn open.

mod values;

pub(crate) use values::{FirstSeen, leaves};

/// How soon after the last answer of a turn a call still belongs to it. Models take longer, since
/// they read the answers first.
pub(crate) const JOIN_MS: u64 = 500;

/// Tells calls their turns, as a session goes on.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    /// How many turns there are.
    turns: u32,
    /// The turn that the host's calls may still join.
    hosts: Option<Open>,
    /// The turn of the proxy's own calls, begun after the host's.
    proxys: Option<Open>,
}

/// A turn that calls may still join.
#[derive(Debug)]
struct Open {
    turn: u32,
    /// Calls that the server has not answered.
    unanswered: u32,
    /// Calls whose answer the host does not have.
    undelivered: u32,
    /// When the host got the last answer.
    delivered_ms: Option<u64>,
    /// Whether something was said since.
    said_since: bool,
    /// Whether it has only text so far.
    only_text: bool,
    host_turn: Option<String>,
}

impl Open {
    fn new(turn: u32) -> Self {
        Self {
            turn,
            unanswered: 0,
            undelivered: 0,
            delivered_ms: None,
            said_since: false,
            only_text: false,
            host_turn: None,
        }
    }

    fn add_call(&mut self) -> u32 {
        self.unanswered += 1;
        self.undelivered += 1;
        self.only_text = false;
        self.turn
    }
}

impl Tracker {
    /// The host makes a call. `passes_new` says whether it passes a value that first appeared in an
    /// answer to a call of this turn or a later one; it is only asked where that decides.
    pub(crate) fn host_calls(
        &mut self,
        t_ms: u64,
        host_turn: Option<&str>,
        passes_new: impl FnOnce(u32) -> bool,
    ) -> u32 {
        let joins = self.hosts.as_ref().is_some_and(|open| {
            let names_another = matches!(
                (host_turn, &open.host_turn),
                (Some(this), Some(other)) if this != other
            );
            let soon =
                open.delivered_ms.is_some_and(|last_ms| t_ms.saturating_sub(last_ms) <= JOIN_MS);
            !names_another
                && (open.undelivered > 0
                    || (open.only_text && !open.said_since)
                    || (soon && !open.said_since && !passes_new(open.turn)))
        });
        if !joins {
            self.hosts = Some(Open::new(self.turns));
            self.turns += 1;
            self.proxys = None;
        }
        let open = self.hosts.as_mut().expect("there was one, or it was made");
        if open.host_turn.is_none() {
            open.host_turn = host_turn.map(str::to_owned);
        }
        open.add_call()
    }

    /// The proxy makes a call of its own.
    pub(crate) fn proxy_calls(&mut self) -> u32 {
        for open in [&mut self.hosts, &mut self.proxys].into_iter().flatten() {
            if open.unanswered > 0 {
                return open.add_call();
            }
        }
        let open = self.proxys.insert(Open::new(self.turns));
        self.turns += 1;
        open.add_call()
    }

    /// The server answered a call of this turn, or it was cancelled.
    pub(crate) fn answered(&mut self, turn: u32) {
        if let Some(open) = self.open(turn) {
            open.unanswered = open.unanswered.saturating_sub(1);
        }
    }

    /// The answer to a call of this turn reached whoever made it, or will not.
    pub(crate) fn delivered(&mut self, turn: u32, t_ms: u64) {
        if let Some(open) = self.open(turn) {
            open.undelivered = open.undelivered.saturating_sub(1);
            open.delivered_ms = Some(t_ms);
            open.said_since = false;
        }
    }

    /// The user says something.
    pub(crate) fn user_says(&mut self) {
        if let Some(open) = &mut self.hosts {
            open.said_since = true;
        }
    }

    /// The model says something: the turn it belongs to.
    pub(crate) fn assistant_says(&mut self) -> u32 {
        if let Some(open) = &mut self.hosts {
            // What stands before the answers are there was said with the calls.
            if open.undelivered > 0 {
                return open.turn;
            }
        }
        let mut open = Open::new(self.turns);
        open.only_text = true;
        self.turns += 1;
        self.hosts = Some(open);
        self.proxys = None;
        self.turns - 1
    }

    fn open(&mut self, turn: u32) -> Option<&mut Open> {
        [&mut self.hosts, &mut self.proxys].into_iter().flatten().find(|open| open.turn == turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The turns of calls: `c` the host's, `p` the proxy's, `C2` the host's with a new value of turn
    /// 2, `h:x` the host's in its own turn x; `aN` answered and delivered to turn N, `sN` answered
    /// only, `dN` delivered only; `u` and `m` the user and the model say something; a number is the
    /// time.
    #[track_caller]
    fn check(script: &str, expected: &[u32]) {
        let mut tracker = Tracker::default();
        let mut t_ms = 0;
        let mut turns = Vec::new();
        for word in script.split_whitespace() {
            let (first, rest) = word.split_at(1);
            let turn = || rest.parse::<u32>().unwrap();
            match first {
                "c" => turns.push(tracker.host_calls(t_ms, None, |_| false)),
                "C" => {
                    let of = turn();
                    turns.push(tracker.host_calls(t_ms, None, |turn| of >= turn));
                }
                "h" => turns.push(tracker.host_calls(t_ms, Some(rest), |_| false)),
                "p" => turns.push(tracker.proxy_calls()),
                "a" => {
                    tracker.answered(turn());
                    tracker.delivered(turn(), t_ms);
                }
                "s" => tracker.answered(turn()),
                "d" => tracker.delivered(turn(), t_ms),
                "u" => tracker.user_says(),
                "m" => turns.push(tracker.assistant_says()),
                _ => t_ms = word.parse().unwrap(),
            }
        }
        assert_eq!(turns, expected, "{script}");
    }

    #[test]
    fn calls_that_overlap_are_one_turn() {
        check("c 5 c 5000 a0 a0", &[0, 0]);
        check("c 5 c a0 9000 c a0 a0", &[0, 0, 0]);
        check("c u 9000 c", &[0, 0]);
    }

    #[test]
    fn a_call_soon_after_the_last_answer_is_of_the_turn() {
        check("c 10 a0 510 c", &[0, 0]);
        check("c 10 a0 511 c", &[0, 1]);
        check("c c 10 a0 600 a0 1100 c", &[0, 0, 0]);
        check("c a0 u c", &[0, 1]);
        check("c u a0 c", &[0, 0]);
    }

    #[test]
    fn a_value_that_the_turn_returned_starts_the_next() {
        check("c a0 C0", &[0, 1]);
        check("c a0 900 c a1 C0", &[0, 1, 1]);
        check("c c a0 C0", &[0, 0, 0]);
    }

    #[test]
    fn the_proxys_calls_join_only_while_one_awaits_its_answer() {
        check("c p s0 a0 p", &[0, 0, 1]);
        check("c c a0 p a0", &[0, 0, 0]);
        check("c s0 p a1 p a2 d0", &[0, 1, 2]);
        check("c s0 p p a1 a1 p", &[0, 1, 1, 2]);
    }

    #[test]
    fn the_host_goes_on_with_its_turn_over_the_proxys() {
        // The answer is held while the proxy looks something up; the turn's next call follows.
        check("c s0 p a1 40 d0 60 c", &[0, 1, 0]);
        check("c s0 p 20 c", &[0, 1, 0]);
        // It uses what the proxy looked up: the model has read it.
        check("c s0 p a1 d0 60 C1", &[0, 1, 2]);
        check("c s0 p a1 d0 900 c", &[0, 1, 2]);
    }

    #[test]
    fn a_host_that_names_its_turns_is_believed_where_they_differ() {
        check("hx hy a0 a1 hy", &[0, 1, 1]);
        check("hx a0 900 hx", &[0, 1]);
        check("hx a0 c hx hy", &[0, 0, 0, 1]);
    }

    #[test]
    fn what_the_model_says_opens_its_turn() {
        check("m c a0 m 100 c a1 m", &[0, 0, 1, 1, 2]);
        check("m u c", &[0, 1]);
        check("m m", &[0, 1]);
        check("c m a0", &[0, 0]);
    }
}
