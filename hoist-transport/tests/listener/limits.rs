//! What there may be at most.

use crate::client::{Request, delete, get, post};
use crate::setup::{Setup, any_port, initialize, modern, request, result, settle};

#[tokio::test]
async fn past_so_many_sessions_hosts_are_asked_to_wait() {
    let mut setup = Setup::with(any_port().max_sessions(2)).await;
    let (mut one, two) = (setup.begin("2025-11-25").await, setup.begin("2025-11-25").await);
    for ask in [post(&initialize("2025-11-25")), modern("0", "x", "c").1] {
        let refused = setup.ask(&ask).await;
        assert_eq!(refused.status, 503);
        assert_eq!(refused.head.header("retry-after"), Some("1"));
        assert_eq!(refused.json()["id"], 0);
    }
    assert!(!setup.has_begun_another());
    // Those that there are go on, and one that ends makes room once its server has.
    assert_eq!(setup.ask(&post(&request("1", "x")).session("none")).await.status, 404);
    assert_eq!(setup.ask(&delete(&one.id)).await.status, 200);
    assert_eq!(setup.ask(&post(&initialize("2025-11-25"))).await.status, 503);
    one.server.expect_end().await;
    drop(one);
    settle().await;
    let three = setup.begin("2025-11-25").await;
    drop((two, three));
    setup.end().await;
}

#[tokio::test]
async fn a_modern_run_that_is_quiet_makes_room() {
    let mut setup = Setup::with(any_port().max_sessions(1)).await;
    let mut run = setup.client().await;
    run.say(&modern("0", "x", "c").1).await;
    let mut server = setup.server().await.peer;
    server.receive().await;
    // Not while it is used.
    assert_eq!(setup.ask(&post(&initialize("2025-11-25"))).await.status, 503);
    server.expect_nothing().await;
    drop(run);
    assert!(server.receive().await.contains("cancelled"));
    settle().await;
    // Then whoever comes waits until the run's server has ended, and no longer.
    let mut next = setup.client().await;
    next.say(&post(&initialize("2025-11-25"))).await;
    server.expect_end().await;
    assert!(!setup.has_begun_another());
    drop(server);
    setup.server().await.peer.expect(&initialize("2025-11-25")).await;
    setup.end().await;
}

#[tokio::test]
async fn heads_have_an_end() {
    let setup = Setup::new().await;
    // It has said more than 400 KiB, and is not done yet.
    let long = Request::new("GET", "/healthz").with("X", &"x".repeat(418_000)).text();
    let mut client = setup.client().await;
    client.send(long.trim_end()).await;
    assert_eq!(client.head().await.status, 431);
    let mut many = Request::new("GET", "/healthz");
    for n in 0..200 {
        many = many.with(&format!("X-{n}"), "x");
    }
    assert_eq!(setup.ask(&many).await.status, 431);
    let fine = Request::new("GET", "/healthz").with("X", &"x".repeat(10_000));
    assert_eq!(setup.ask(&fine).await.status, 200);
    setup.end().await;
}

#[tokio::test]
async fn a_session_has_so_many_streams() {
    let mut setup = Setup::new().await;
    let mut session = setup.begin("2025-11-25").await;
    // Those count that their hosts have left, too: they may come back.
    for n in 0..4_096 {
        let asked = request(&n.to_string(), "x");
        setup.client().await.say(&post(&asked).session(&session.id)).await;
        session.server.expect(&asked).await;
    }
    settle().await;
    for ask in [get(&session.id), post(&request("-1", "x")).session(&session.id)] {
        let refused = setup.ask(&ask).await;
        assert_eq!((refused.status, refused.head.header("retry-after")), (503, Some("1")));
    }
    session.server.send(&result("0", "done")).await;
    settle().await;
    setup.client().await.open(&get(&session.id)).await;
    drop(session);
    setup.end().await;
}
