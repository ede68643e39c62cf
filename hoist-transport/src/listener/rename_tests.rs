use std::collections::{HashMap, VecDeque};

use proptest::prelude::*;

use super::super::router::Place;
use super::super::testing::{Bench, answer, at, message, request};
use super::*;

#[test]
fn a_request_that_clashes_with_none_keeps_its_bytes() {
    let mut bench = Bench::modern();
    let text = r#"{ "id" : 1.0,"method":"tools/call", "params":{"_meta":{"progressToken":1e0}} }"#;
    let (_, line) = bench.ask(text);
    assert_eq!(line, text);
    // An id and a token are not the same kind of thing.
    let text = r#"{"id":2,"method":"x","params":{"_meta":{"progressToken":"1"}}}"#;
    assert_eq!(bench.ask(text).1, text);
}

#[test]
fn an_id_in_use_is_renamed_and_restored_as_it_was_spelt() {
    let mut bench = Bench::modern();
    let (one, _) = bench.ask(&request("1", "a"));
    let (two, line) = bench.ask(&request("1.0", "b"));
    let renamed = at(&line, &["id"]).unwrap();
    assert_eq!(line, request(&renamed, "b"));
    bench.server(&answer(&renamed, "two"));
    bench.server(&answer("1", "one"));
    bench.expect_last(one, &[&answer("1", "one")]);
    bench.expect_last(two, &[&answer("1.0", "two")]);
    // What closes is cancelled under the name that the server knows.
    let (first, _) = bench.ask(&request("3", "a"));
    let (second, line) = bench.ask(&request("3", "b"));
    assert_eq!(bench.drop(second), [at(&line, &["id"]).unwrap()]);
    assert_eq!(bench.drop(first), ["3"]);
}

#[test]
fn a_host_may_use_the_names_that_we_give() {
    let mut bench = Bench::modern();
    let taken = r#""hoist-listen-1""#;
    let (own, _) = bench.ask(&request(taken, "a"));
    let (one, _) = bench.ask(&request("1", "b"));
    let (two, line) = bench.ask(&request("1", "c"));
    let renamed = at(&line, &["id"]).unwrap();
    let (late, line) = bench.ask(&request(&renamed, "d"));
    let again = at(&line, &["id"]).unwrap();
    for (id, what) in [(taken, "own"), ("1", "one"), (&*renamed, "two"), (&*again, "late")] {
        bench.server(&answer(id, what));
    }
    bench.expect_last(own, &[&answer(taken, "own")]);
    bench.expect_last(one, &[&answer("1", "one")]);
    bench.expect_last(two, &[&answer("1", "two")]);
    bench.expect_last(late, &[&answer(&renamed, "late")]);
}

#[test]
fn subscriptions_keep_the_id_that_their_host_gave() {
    let mut bench = Bench::modern();
    let listen = request("1", "subscriptions/listen");
    let (one, _) = bench.ask(&listen);
    let (two, line) = bench.ask(&listen);
    let renamed = at(&line, &["id"]).unwrap();
    let said = |id: &str| {
        format!(
            r#"{{"method":"n","params":{{"a":1.0,"_meta":{{"io.modelcontextprotocol/subscriptionId":{id},"b":[]}}}}}}"#
        )
    };
    let over = |id: &str, subscription: &str| {
        format!(
            r#"{{"id":{id},"result":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription}}}}}}}"#
        )
    };
    bench.server(&said(&renamed));
    bench.server(&said("1"));
    bench.server(&over(&renamed, &renamed));
    bench.expect(one, &[&said("1")]);
    bench.expect_last(two, &[&said("1"), &over("1", "1")]);
}

#[test]
fn an_answer_that_can_be_read_in_two_ways_is_restored_too() {
    let mut bench = Bench::modern();
    let (_one, _) = bench.ask(&request("1", "a"));
    let (two, line) = bench.ask(&request("1", "b"));
    let renamed = at(&line, &["id"]).unwrap();
    bench.server(&format!(r#"{{"id":{renamed},"result":{{}},"result":1}}"#));
    bench.expect_last(two, &[r#"{"id":1,"result":{},"result":1}"#]);
}

/// What one caller does.
#[derive(Debug, Clone)]
enum Step {
    /// Asks under one of a few ids, with one of a few tokens.
    Ask { caller: usize, id: usize, token: usize },
    /// The server says how far the request at this place among those it has is.
    Progress(usize),
    /// The server answers the request at this place among those it has.
    Answer(usize),
    /// A caller closes the stream of one of its requests.
    Close { caller: usize, which: usize },
}

const IDS: [&str; 5] = ["0", "1", "\"1\"", "1.0", "\"hoist-listen-1\""];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, 0..IDS.len(), 0..IDS.len())
            .prop_map(|(caller, id, token)| Step::Ask { caller, id, token }),
        2 => any::<usize>().prop_map(Step::Progress),
        3 => any::<usize>().prop_map(Step::Answer),
        1 => (0..3_usize, any::<usize>()).prop_map(|(caller, which)| Step::Close { caller, which }),
    ]
}

/// A request as its caller knows it.
#[derive(Debug)]
struct Asked {
    place: Place,
    id: &'static str,
    token: &'static str,
    /// What only it may be told.
    secret: usize,
    got: Vec<String>,
    has_ended: bool,
}

fn progress(token: &str, secret: usize) -> String {
    format!(
        r#"{{"method":"notifications/progress","params":{{"progressToken":{token},"m":{secret}}}}}"#
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever ids and tokens callers use at once, each is told its own answers, in its own words,
    /// and nothing else.
    #[test]
    fn callers_with_the_same_ids_get_their_own_answers(steps in prop::collection::vec(step(), 1..60)) {
        let mut bench = Bench::modern();
        let mut callers: [Vec<Asked>; 3] = Default::default();
        // What the server has to answer, under the names it knows: id, token, secret.
        let mut server: VecDeque<(String, String, usize)> = VecDeque::new();
        let mut expected: HashMap<usize, Vec<String>> = HashMap::new();
        let mut closed: Vec<usize> = Vec::new();
        for (secret, step) in steps.into_iter().enumerate() {
            match step {
                Step::Ask { caller, id, token } => {
                    let (id, token) = (IDS[id], IDS[token]);
                    let text = format!(
                        r#"{{"id":{id},"method":"m","params":{{"_meta":{{"progressToken":{token}}},"s":{secret}}}}}"#
                    );
                    let (place, line) = bench.ask(&text);
                    let server_id = at(&line, &["id"]).unwrap();
                    let server_token = at(&line, &["params", "_meta", "progressToken"]).unwrap();
                    // The server never has two requests of one id.
                    let same = |text: &str| RequestId::parse(text.as_bytes());
                    for (id, token, _) in &server {
                        prop_assert_ne!(same(id), same(&server_id));
                        prop_assert_ne!(same(token), same(&server_token));
                    }
                    server.push_back((server_id, server_token, secret));
                    callers[caller].push(Asked {
                        place, id, token, secret, got: Vec::new(), has_ended: false,
                    });
                }
                Step::Progress(which) if !server.is_empty() => {
                    let (_, token, secret) = &server[which % server.len()];
                    bench.server(&progress(token, *secret));
                    expected.entry(*secret).or_default().push("progress".into());
                }
                Step::Answer(which) if !server.is_empty() => {
                    let (id, _, secret) = server.remove(which % server.len()).unwrap();
                    bench.server(&answer(&id, &secret.to_string()));
                    expected.entry(secret).or_default().push("answer".into());
                }
                Step::Close { caller, which } if !callers[caller].is_empty() => {
                    let which = which % callers[caller].len();
                    let asked = callers[caller].swap_remove(which);
                    bench.drop(asked.place);
                    closed.push(asked.secret);
                }
                _ => {}
            }
            for asked in callers.iter_mut().flatten() {
                let (taken, has_ended) = bench.take(asked.place);
                asked.got.extend(taken);
                asked.has_ended |= has_ended;
            }
        }
        for asked in callers.iter().flatten() {
            let expected: Vec<String> = expected
                .remove(&asked.secret)
                .unwrap_or_default()
                .iter()
                .map(|kind| match &**kind {
                    "progress" => progress(asked.token, asked.secret),
                    _ => answer(asked.id, &asked.secret.to_string()),
                })
                .collect();
            prop_assert_eq!(&asked.got, &expected);
            let is_answered = expected.last().is_some_and(|last| last.contains("result"));
            prop_assert_eq!(asked.has_ended, is_answered);
        }
        prop_assert_eq!(bench.router.streams.len(), callers.iter().flatten().filter(|a| !a.has_ended).count());
    }

    /// A request that is renamed differs in its id and its token only.
    #[test]
    fn renaming_changes_nothing_else(id in 0..IDS.len(), token in 0..IDS.len()) {
        let mut bench = Bench::modern();
        let text = format!(
            r#"{{"a":1.0,"id":{},"params":{{"_meta":{{"b":1e400,"progressToken":{}}},"c":"\u0061"}},"method":"m"}}"#,
            IDS[id], IDS[token],
        );
        bench.ask(&text);
        let (_, line) = bench.ask(&text);
        let (new_id, new_token) =
            (at(&line, &["id"]).unwrap(), at(&line, &["params", "_meta", "progressToken"]).unwrap());
        let (old, new) = (message(&text), message(&line));
        prop_assert_ne!(old.id(), new.id());
        let expected = text
            .replace(&format!(r#""id":{}"#, IDS[id]), &format!(r#""id":{new_id}"#))
            .replace(
                &format!(r#""progressToken":{}"#, IDS[token]),
                &format!(r#""progressToken":{new_token}"#),
            );
        prop_assert_eq!(line, expected);
    }
}
