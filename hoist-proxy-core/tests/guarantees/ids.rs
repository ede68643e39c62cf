//! *Ids*: the proxy's own never collide with the host's, and every id is forwarded as it is.

use hoist_proxy_core::testkit;
use hoist_proxy_core::{Acts, Direction, Line};

use crate::util::{
    Act, act, amends, answer, answer_own, call, cancel, cross, handshake, id_of, looks_up, lookup,
    passes, passes_all, ping, session,
};

fn amended(id: &str) -> String {
    answer(id).replace("[]", r#"[{"type":"text","text":"x"}]"#)
}

#[tokio::test(start_paused = true)]
async fn ids_match_by_value_and_type() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    // Of each pair the first is awaited by the layer; an answer to the second is to nobody.
    let pairs = [("1", "\"1\""), ("\"a\"", "\"A\""), ("0.5", "\"0.5\""), ("null", "\"null\"")];
    for (asked, other) in pairs {
        cross(&mut session.host, &mut session.server, &call(asked)).await;
        cross(&mut session.server, &mut session.host, &answer(other)).await;
        session.server.send(&answer(asked)).await;
        session.host.expect(&amended(asked)).await;
    }
    assert_eq!(layer.ran.count(), pairs.len());
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn odd_ids_are_forwarded_and_matched_as_they_are() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    let huge = format!("\"{}\"", "i".repeat(5000));
    let ids = [
        "null",
        "1.5",
        "-0",
        "1e400",
        "12345678901234567890",
        "123456789012345678901234567890",
        "\"\"",
        "\"\\ud83d\"",
        "\"\\u0000\"",
        &huge,
    ];
    for id in ids {
        cross(&mut session.host, &mut session.server, &call(id)).await;
        session.server.send(&answer(id)).await;
        session.host.expect(&amended(id)).await;
    }
    assert_eq!(layer.ran.count(), ids.len());
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_with_a_null_id_goes_on() {
    let layer = passes();
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(1)).await;
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#;
    cross(&mut session.server, &mut session.host, error).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

/// A host request with the id `hoist-1` while it is in flight, whoever acts on it.
#[tokio::test(start_paused = true)]
async fn an_id_the_host_has_in_flight_is_not_used() {
    for theirs in [ping("\"hoist-1\""), call("\"hoist-1\"").replace("\"t\"", "\"theirs\"")] {
        let layer = act("looks-up", |request, next| {
            Box::pin(async move {
                if request.name().as_deref() == Some("t") {
                    next.run(lookup(0)).await?;
                }
                next.run(request).await
            })
        });
        let mut session = session(&[&layer]);
        handshake(&mut session).await;
        cross(&mut session.host, &mut session.server, &theirs).await;
        session.host.send(&call(1)).await;
        let own = session.server.receive().await;
        assert_eq!(id_of(&own), "\"hoist-2\"");
        cross(&mut session.server, &mut session.host, &answer("\"hoist-1\"")).await;
        session.server.send(&answer("\"hoist-2\"")).await;
        session.server.expect(&call(1)).await;
        cross(&mut session.server, &mut session.host, &answer(1)).await;
        assert!(layer.ran.count() >= 1);
        session.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_takes_an_id_in_flight_waits_for_it() {
    let layer = looks_up(1);
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let own = session.server.receive().await;
    assert_eq!(id_of(&own), "\"hoist-1\"");
    // Two of the host's under the same id: the second waits for the first as well.
    session.host.send(&ping("\"hoist-1\"")).await;
    session.host.send(&ping("\"hoist\\u002d1\"")).await;
    session.server.expect_nothing().await;
    session.server.send(&answer("\"hoist-1\"")).await;
    session.server.expect(&call(1)).await;
    session.server.expect(&ping("\"hoist-1\"")).await;
    session.host.expect_nothing().await;
    cross(&mut session.server, &mut session.host, &answer("\"hoist-1\"")).await;
    session.server.expect(&ping("\"hoist\\u002d1\"")).await;
    cross(&mut session.server, &mut session.host, &answer("\"hoist-1\"")).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_may_use_an_own_id_once_it_is_answered() {
    let layer = looks_up(1);
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    answer_own(&mut session.server).await;
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    cross(&mut session.host, &mut session.server, &ping("\"hoist-1\"")).await;
    cross(&mut session.server, &mut session.host, &answer("\"hoist-1\"")).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn own_answers_that_come_twice_or_late_never_reach_the_host() {
    let layer = looks_up(1);
    let mut session = session(&[&layer]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    answer_own(&mut session.server).await;
    session.server.send(&answer("\"hoist-1\"")).await;
    session.server.send(r#"{"id":"hoist-1","result":1,"result":2}"#).await;
    session
        .server
        .send(r#"{"jsonrpc":"2.0","id":"hoist\u002d1","error":{"code":1,"message":"x"}}"#)
        .await;
    session.server.expect(&call(1)).await;
    session.host.expect_nothing().await;
    // One that only looks like it goes on.
    for id in ["\"hoist-01\"", "\"hoist-99\"", "\"hoist-\"", "1e0"] {
        cross(&mut session.server, &mut session.host, &answer(id)).await;
    }
    assert_eq!(layer.ran.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_proxies_in_series_keep_their_own_ids_apart() {
    // The inner proxy's host is the outer proxy: its requests come with ids `hoist-<n>`.
    let outer = looks_up(2);
    let inner = looks_up(3);
    let mut near = session(&[&outer]);
    let mut far = session(&[&inner]);
    handshake(&mut near).await;
    handshake(&mut far).await;
    near.host.send(&call(7)).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let request = near.server.receive().await;
        far.host.send(&request).await;
        for _ in 0..3 {
            ids.push(id_of(&answer_own(&mut far.server).await));
        }
        far.server.expect(&request).await;
        far.server.send(&answer(id_of(&request))).await;
        near.server.send(&far.host.receive().await).await;
    }
    near.host.expect(&answer(7)).await;
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 9);
    assert_eq!((outer.ran.count(), inner.ran.count()), (1, 3));
    near.end().await;
    far.end().await;
}

#[tokio::test(start_paused = true)]
async fn reused_ids_in_flight_get_one_answer_each_in_order() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    // An ordinary one, then one acted on, then an ordinary one again.
    for line in [ping(1), call(1), ping(1)] {
        cross(&mut session.host, &mut session.server, &line).await;
    }
    for _ in 0..3 {
        session.server.send(&answer(1)).await;
    }
    for line in [answer(1), amended("1"), answer(1)] {
        session.host.expect(&line).await;
    }
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_twice_or_to_nobody_is_passed_on() {
    let layer = amends("x");
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &call(7)).await;
    cross(&mut session.server, &mut session.host, &answer(0)).await;
    cross(&mut session.server, &mut session.host, &answer("\"nobody\"")).await;
    session.server.send(&answer(7)).await;
    session.host.expect(&amended("7")).await;
    cross(&mut session.server, &mut session.host, &answer(7)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_two_directions_have_ids_of_their_own() {
    let layer = passes_all();
    let mut session = session(&[&layer]);
    cross(&mut session.host, &mut session.server, &ping(1)).await;
    cross(&mut session.server, &mut session.host, &ping(1)).await;
    cross(&mut session.host, &mut session.server, &answer(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    // A cancellation of the server's own does not touch the host's request.
    cross(&mut session.host, &mut session.server, &ping(2)).await;
    cross(&mut session.server, &mut session.host, &cancel(2)).await;
    cross(&mut session.server, &mut session.host, &answer(2)).await;
    assert_eq!(layer.ran.count(), 4);
    session.end().await;
}

/// Nobody acts: whatever ids there are, nothing is held against them.
#[tokio::test(start_paused = true)]
async fn hoist_ids_of_others_cross_passively() {
    let mut session = testkit::session(Vec::new());
    cross(&mut session.host, &mut session.server, &ping("\"hoist-1\"")).await;
    cross(&mut session.server, &mut session.host, &answer("\"hoist-1\"")).await;
    cross(&mut session.server, &mut session.host, &answer("\"hoist-1\"")).await;
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_uses_hoist_ids_for_its_own_requests_is_answered() {
    let layer: Act = looks_up(1);
    let both = passes().acts(Acts::nothing().on_every(Direction::ToHost));
    let mut session = session(&[&layer, &both]);
    handshake(&mut session).await;
    session.host.send(&call(1)).await;
    let own = session.server.receive().await;
    assert_eq!(id_of(&own), "\"hoist-1\"");
    cross(&mut session.server, &mut session.host, &ping("\"hoist-1\"")).await;
    cross(&mut session.host, &mut session.server, &answer("\"hoist-1\"")).await;
    session.server.send_line(Line::from_wire(format!("{}\n", answer("\"hoist-1\"")))).await;
    session.server.expect(&call(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!((layer.ran.count(), both.ran.count()), (1, 1));
    session.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_id_whose_first_request_a_layer_answered_itself_is_free_again() {
    let layer = act("hasty", |request, next| {
        Box::pin(async move {
            let mut run = next.run(request);
            crate::util::let_leave(&mut run).await;
            Ok(hoist_proxy_core::Response::error(-1, "too slow"))
        })
    });
    let mut session = session(&[&layer]);
    session.host.send(&call(1)).await;
    session.host.receive().await;
    session.server.expect(&call(1)).await;
    session.server.expect(&cancel(1)).await;
    // The server heeds the cancellation and answers only what comes later.
    cross(&mut session.host, &mut session.server, &ping(1)).await;
    cross(&mut session.server, &mut session.host, &answer(1)).await;
    assert_eq!(layer.ran.count(), 1);
    session.end().await;
}
