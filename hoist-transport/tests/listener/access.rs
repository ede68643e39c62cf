//! Who may talk to the listener.

use hoist_transport::{InvalidListener, ListenError};

use crate::client::{Request, get, post};
use crate::setup::{Setup, any_port, initialize};

/// A request that reaches the listener's own rules: there is no such session.
fn knock() -> Request {
    post(r#"{"id":1,"method":"ping"}"#).session("none")
}

/// Such a request got past who may talk.
const LET_IN: u16 = 404;

#[tokio::test]
async fn without_a_token_hosts_must_name_the_listener() {
    let setup = Setup::new().await;
    let port = setup.address.port();
    for fine in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"] {
        for host in [fine.to_owned(), format!("{fine}:{port}")] {
            let answer = setup.ask(&knock().with("Host", &host)).await;
            assert_eq!(answer.status, LET_IN, "{host}");
        }
    }
    let other = format!("localhost:{}", if port == 1 { 2 } else { port - 1 });
    for bad in ["evil.example", "localhost.evil.example", "10.0.0.1", &other, "", "a b", "@", "é"]
    {
        let answer = setup.ask(&knock().with("Host", bad)).await;
        assert!(matches!(answer.status, 400 | 403), "{bad}: {}", answer.status);
    }
    let answer = setup.ask(&knock().with("Host", "evil.example")).await;
    assert_eq!((answer.status, answer.json()["id"].is_null()), (403, true));
    assert!(answer.why().contains("Host"), "{}", answer.why());
    setup.end().await;
}

#[tokio::test]
async fn a_host_is_named_once() {
    let setup = Setup::new().await;
    assert_eq!(setup.ask(&knock().without("Host")).await.status, 403);
    let twice = knock().with("Host", "localhost").and("Host", "evil.example");
    assert_eq!(setup.ask(&twice).await.status, 403);
    let twice = knock().with("Host", "localhost").and("Host", "localhost");
    assert_eq!(setup.ask(&twice).await.status, 403);
    setup.end().await;
}

#[tokio::test]
async fn an_absolute_target_counts_for_more_than_the_host() {
    let setup = Setup::new().await;
    let target = |authority: &str, host: &str| {
        Request::new("GET", &format!("http://{authority}/healthz")).with("Host", host)
    };
    assert_eq!(setup.ask(&target("localhost", "evil.example")).await.status, 200);
    assert_eq!(setup.ask(&target("evil.example", "localhost")).await.status, 403);
    setup.end().await;
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let setup = Setup::new().await;
    for fine in ["http://localhost", "http://127.0.0.1:6274", "https://[::1]:1"] {
        let answer = setup.ask(&knock().with("Origin", fine)).await;
        assert_eq!(answer.status, LET_IN, "{fine}");
    }
    for bad in ["http://evil.example", "null", "", "http://localhost.evil.example", "file://"] {
        for request in [knock(), get("none"), Request::new("GET", "/healthz")] {
            let answer = setup.ask(&request.with("Origin", bad)).await;
            assert_eq!((answer.status, answer.json()["id"].is_null()), (403, true), "{bad}");
        }
    }
    setup.end().await;
}

#[tokio::test]
async fn a_token_must_be_shown() {
    let setup = Setup::with(any_port().token("s3cret").unwrap()).await;
    for right in ["Bearer s3cret", "bearer s3cret"] {
        let answer = setup.ask(&knock().with("Authorization", right)).await;
        assert_eq!(answer.status, LET_IN, "{right}");
    }
    for wrong in ["Bearer s3cre", "Bearer s3crett", "Basic s3cret", "Bearer", "s3cret", ""] {
        for request in [knock(), get("none"), Request::new("GET", "/nothing")] {
            let answer = setup.ask(&request.with("Authorization", wrong)).await;
            assert_eq!(answer.status, 401, "{wrong}");
            assert_eq!(answer.head.header("www-authenticate"), Some("Bearer"));
            assert!(!answer.body.contains("s3c"), "{}", answer.body);
        }
    }
    assert_eq!(setup.ask(&knock()).await.status, 401);
    // Then the name does not matter, but whose page it is does.
    let shown = knock().with("Authorization", "Bearer s3cret");
    assert_eq!(setup.ask(&shown.clone().with("Host", "hoist.example")).await.status, LET_IN);
    let own = shown.clone().with("Host", "hoist.example").with("Origin", "https://hoist.example");
    assert_eq!(setup.ask(&own).await.status, LET_IN);
    assert_eq!(setup.ask(&shown.with("Origin", "https://evil.example")).await.status, 403);
    setup.end().await;
}

#[tokio::test]
async fn a_refused_host_starts_no_server() {
    let mut setup = Setup::with(any_port().token("s3cret").unwrap()).await;
    let refused = setup.ask(&post(&initialize("2025-11-25"))).await;
    assert_eq!(refused.status, 401);
    assert!(!setup.has_begun_another());
    setup.end().await;
}

#[tokio::test]
async fn whether_it_is_up_may_be_asked_without_a_token() {
    let setup = Setup::with(any_port().token("s3cret").unwrap()).await;
    let up = setup.ask(&Request::new("GET", "/healthz")).await;
    assert_eq!((up.status, &*up.body), (200, ""));
    let up = setup.ask(&Request::new("HEAD", "/healthz")).await;
    assert_eq!((up.status, &*up.body), (200, ""));
    let refused = setup.ask(&Request::new("POST", "/healthz").with("Content-Length", "0")).await;
    assert_eq!((refused.status, refused.head.header("allow")), (405, Some("GET, HEAD")));
    setup.end().await;
}

#[tokio::test]
async fn without_a_token_nobody_else_can_reach_it() {
    let everywhere = || hoist_transport::Listener::new("0.0.0.0:0".parse().unwrap());
    let refused = everywhere().bind().await.unwrap_err();
    assert!(matches!(refused, ListenError::NotLoopback { .. }), "{refused}");
    let other = hoist_transport::Listener::new("[::ffff:127.0.0.1]:0".parse().unwrap());
    assert!(matches!(other.bind().await, Err(ListenError::NotLoopback { .. })));
    drop(everywhere().token("t").unwrap().bind().await.unwrap());
    for bad in ["", "two words", "é", "line\nline"] {
        assert!(matches!(any_port().token(bad), Err(InvalidListener::Token)), "{bad:?}");
    }
}

#[tokio::test]
async fn an_address_in_use_is_said_so() {
    let setup = Setup::new().await;
    let refused = hoist_transport::Listener::new(setup.address).bind().await.unwrap_err();
    assert!(refused.to_string().contains(&setup.address.to_string()), "{refused}");
    assert_eq!(setup.url, format!("http://{}/mcp", setup.address));
    setup.end().await;
}
