//! Every interleaving of small scripts, and random ones of larger: order is kept, and each
//! request is answered once.

use hoist_proxy_core::testkit::{self, Session};
use proptest::prelude::*;

use crate::util::{
    Act, act, amends, answer, call, cancel, handshake, id_of, lookup, note, passes, ping,
};

/// One step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The host calls a tool.
    Call(usize),
    /// The host asks what nobody acts on.
    Ping(usize),
    /// The host cancels.
    Cancel(usize),
    /// The server answers.
    Answer(usize),
    /// A notification of the host's.
    HostNote(usize),
    /// A notification of the server's.
    ServerNote(usize),
}

use Step::{Answer, Call, Cancel, HostNote, Ping, ServerNote};

impl Step {
    fn line(self) -> String {
        match self {
            Call(n) => call(n),
            Ping(n) => ping(n),
            Cancel(n) => cancel(n),
            Answer(n) => answer(n),
            HostNote(n) => note(n),
            ServerNote(n) => note(1000 + n),
        }
    }

    fn is_hosts(self) -> bool {
        !matches!(self, Answer(_) | ServerNote(_))
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn amended(line: &str) -> String {
    line.replace("[]", r#"[{"type":"text","text":"x"}]"#)
}

async fn all_of(peer: &mut testkit::Peer, count: usize) -> Vec<String> {
    let mut lines = Vec::with_capacity(count);
    for _ in 0..count {
        lines.push(peer.receive().await);
    }
    peer.expect_nothing().await;
    lines
}

/// Runs a script in a session, the peers' lines one after the other; with `settled`, each only
/// once the line before has crossed.
async fn play(session: &mut Session, steps: &[Step], settled: bool) {
    for step in steps {
        if step.is_hosts() {
            session.host.send(&step.line()).await;
        } else {
            session.server.send(&step.line()).await;
        }
        if settled {
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// With layers that hold nothing: each side gets what the other sent, all of it, in order.
fn check_held_nothing(steps: &[Step], amending: bool) -> usize {
    run(async {
        let (outer, inner) = (passes(), if amending { amends("x") } else { passes() });
        let mut session = crate::util::session(&[&outer, &inner]);
        play(&mut session, steps, true).await;
        let up: Vec<String> = steps.iter().filter(|s| s.is_hosts()).map(|s| s.line()).collect();
        assert_eq!(all_of(&mut session.server, up.len()).await, up, "{steps:?}");
        let mut awaited = Vec::new();
        let mut down = Vec::new();
        for step in steps {
            match *step {
                Call(n) => awaited.push(n),
                // What is cancelled is the host's own affair from then on.
                Cancel(n) => awaited.retain(|a| *a != n),
                Answer(n) if amending && awaited.contains(&n) => {
                    awaited.retain(|a| *a != n);
                    down.push(amended(&step.line()));
                }
                Answer(_) | ServerNote(_) => down.push(step.line()),
                Ping(_) | HostNote(_) => {}
            }
        }
        assert_eq!(all_of(&mut session.host, down.len()).await, down, "{steps:?}");
        let calls = steps.iter().filter(|s| matches!(s, Call(_))).count();
        assert_eq!((outer.ran.count(), inner.ran.count()), (calls, calls));
        calls
    })
}

/// Looks something up before and after each call, so that it is held both ways.
fn holds() -> Act {
    act("holds", |request, next| {
        Box::pin(async move {
            next.run(lookup(0)).await?;
            let answer = next.run(request).await?;
            next.run(lookup(1)).await?;
            Ok(answer)
        })
    })
}

/// The two ends of a session whose layer makes lookups.
struct Ends {
    session: Session,
    /// What came out, lookups and what they are answered with left out.
    up: Vec<String>,
    down: Vec<String>,
    /// Lookups the server has not answered yet.
    lookups: Vec<String>,
    /// Requests it is to answer as soon as it has them.
    due: Vec<usize>,
}

impl Ends {
    async fn step(&mut self, step: Step) {
        match step {
            Answer(n) if !self.has(n) => self.due.push(n),
            step => play(&mut self.session, &[step], false).await,
        }
        self.settle().await;
    }

    /// Whether the server has request `n`.
    fn has(&self, n: usize) -> bool {
        self.up.contains(&call(n)) || self.up.contains(&ping(n))
    }

    /// Until nothing moves any more.
    async fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 16 {
            tokio::task::yield_now().await;
            quiet += 1;
            while let Some(line) = self.session.server.try_receive() {
                quiet = 0;
                if line.contains("\"lookup\"") {
                    self.lookups.push(id_of(&line));
                } else if line.contains("hoist-") {
                    self.lookups.retain(|id| *id != id_in_cancel(&line));
                } else {
                    self.up.push(line);
                }
            }
            while let Some(line) = self.session.host.try_receive() {
                quiet = 0;
                assert!(!line.contains("hoist-"), "{line}");
                self.down.push(line);
            }
            let (now, later) = self.due.iter().partition(|n| self.has(**n));
            self.due = later;
            let now: Vec<usize> = now;
            for n in now {
                quiet = 0;
                self.session.server.send(&answer(n)).await;
            }
        }
    }

    async fn answer_a_lookup(&mut self) -> bool {
        if self.lookups.is_empty() {
            return false;
        }
        let id = self.lookups.remove(0);
        self.session.server.send(&answer(id)).await;
        self.settle().await;
        true
    }
}

fn id_in_cancel(line: &str) -> String {
    let params = crate::util::raw(line).get("params").unwrap();
    params.get("requestId").unwrap().to_string()
}

/// With a server that is slow to answer lookups: checks that lines nobody holds keep their order,
/// and that each request has the answers it must have. Gives back how many lines crossed while
/// something was held.
fn check_held(steps: &[Step]) -> usize {
    run(async {
        let layer = holds();
        let mut session = crate::util::session(&[&layer]);
        handshake(&mut session).await;
        let (up, down, lookups, due) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut ends = Ends { session, up, down, lookups, due };
        let mut crossed = 0;
        for (at, step) in steps.iter().enumerate() {
            crossed += usize::from(!ends.lookups.is_empty());
            ends.step(*step).await;
            if at % 2 == 1 {
                ends.answer_a_lookup().await;
            }
        }
        while ends.answer_a_lookup().await {}
        let Ends { up, down, .. } = ends;
        let unheld = |lines: &[String], hosts: bool| -> Vec<String> {
            let is = |line: &&String| {
                let held = steps.iter().any(|s| match s {
                    Call(n) => **line == call(*n) || **line == answer(*n) || **line == cancel(*n),
                    _ => false,
                });
                !held && steps.iter().any(|s| s.is_hosts() == hosts && s.line() == **line)
            };
            lines.iter().filter(is).cloned().collect()
        };
        let sent = |hosts: bool| -> Vec<String> {
            let ran = |s: &&Step| s.is_hosts() == hosts && !matches!(s, Answer(_));
            steps.iter().filter(ran).map(|s| s.line()).collect()
        };
        let no_answers = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().filter(|l| !l.contains("\"result\"")).collect()
        };
        assert_eq!(unheld(&up, true), unheld(&sent(true), true), "{steps:?}");
        assert_eq!(
            no_answers(unheld(&down, false)),
            no_answers(unheld(&sent(false), false)),
            "{steps:?}"
        );
        for step in steps {
            if let Call(n) | Ping(n) = *step {
                let answers = down.iter().filter(|l| **l == answer(n)).count();
                let given = up.contains(&step.line()) && steps.contains(&Answer(n));
                let cancelled = steps.contains(&Cancel(n));
                assert!(answers <= 1, "{steps:?}: {down:?}");
                assert!(!given || cancelled || answers == 1, "{steps:?}: {down:?}");
                assert!(up.iter().filter(|l| **l == step.line()).count() <= 1, "{steps:?}");
            }
        }
        let calls = steps.iter().filter(|s| matches!(s, Call(_))).count();
        assert_eq!(layer.ran.count(), calls);
        crossed
    })
}

/// Every order of `steps` in which `before` comes before `after` for each pair given.
fn orders(steps: &[Step], pairs: &[(Step, Step)]) -> Vec<Vec<Step>> {
    fn extend(
        done: &mut Vec<Step>,
        left: &[Step],
        pairs: &[(Step, Step)],
        out: &mut Vec<Vec<Step>>,
    ) {
        if left.is_empty() {
            out.push(done.clone());
        }
        for (at, step) in left.iter().enumerate() {
            if pairs.iter().any(|(before, after)| after == step && left.contains(before)) {
                continue;
            }
            let mut rest = left.to_vec();
            rest.remove(at);
            done.push(*step);
            extend(done, &rest, pairs, out);
            done.pop();
        }
    }
    let mut out = Vec::new();
    extend(&mut Vec::new(), steps, pairs, &mut out);
    out
}

/// Two requests, their answers, a notification each way and a cancellation.
fn small_scripts(second: Step) -> Vec<Vec<Step>> {
    let (first, cancel) = (Call(1), Cancel(1));
    let id = match second {
        Call(n) | Ping(n) => n,
        other => panic!("{other:?} is no request"),
    };
    let steps = [first, second, Answer(1), Answer(id), HostNote(1), ServerNote(1), cancel];
    let scripts = orders(&steps, &[(first, Answer(1)), (second, Answer(id)), (first, cancel)]);
    // 7! orders, less those in which one of three comes before another.
    assert_eq!(scripts.len(), 840);
    scripts
}

#[test]
fn every_order_of_a_small_script_is_kept_by_layers_that_hold_nothing() {
    let mut calls = 0;
    for second in [Call(2), Ping(2)] {
        for script in small_scripts(second) {
            calls += check_held_nothing(&script, false);
            // The answer to a call cancelled before it is the host's own.
            calls += check_held_nothing(&script, true);
        }
    }
    assert_eq!(calls, 2 * 840 * 2 + 2 * 840);
}

#[test]
fn every_order_of_a_small_script_is_kept_around_what_is_held() {
    let mut crossed = 0;
    for second in [Call(2), Ping(2)] {
        for script in small_scripts(second) {
            crossed += check_held(&script);
        }
    }
    assert!(crossed > 840, "{crossed}");
}

/// Any script: the host's requests have ids of their own, the server answers in any order.
fn any_script() -> impl Strategy<Value = Vec<Step>> {
    let one = (0..24usize, 0..6u8, 0..6u8);
    prop::collection::vec(one, 1..24).prop_map(|choices| {
        let mut steps = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for (at, (pick, what, also)) in choices.into_iter().enumerate() {
            match what {
                0 | 1 => {
                    steps.push(if what == 0 { Call(at) } else { Ping(at) });
                    open.push(at);
                }
                2 | 3 if !open.is_empty() => {
                    let n = open.remove(pick % open.len());
                    steps.push(Answer(n));
                    if what == 3 {
                        // Right behind the answer.
                        steps.push(ServerNote(at));
                    }
                }
                4 if !open.is_empty() => {
                    let n = open[pick % open.len()];
                    if !steps.contains(&Cancel(n)) {
                        steps.push(Cancel(n));
                    }
                }
                _ if also < 3 => steps.push(HostNote(at)),
                _ => steps.push(ServerNote(at)),
            }
        }
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_script_is_kept_by_layers_that_hold_nothing(steps in any_script(), amending: bool) {
        check_held_nothing(&steps, amending);
    }

    #[test]
    fn any_script_is_kept_around_what_is_held(steps in any_script()) {
        check_held(&steps);
    }
}
