//! Servers that are reached through a proxy.

use std::cell::Cell;

use hoist_transport::{HttpServer, ProxySettings};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::server::{Setup, legacy};
use crate::tls::authority;

#[tokio::test]
async fn an_http_proxy_is_sent_the_whole_url() {
    // What stands for the server plays the proxy: nobody else is of that name.
    let proxy = Cell::new(None);
    let mut setup = Setup::behind(
        None,
        |address| {
            proxy.set(Some(address));
            "http://server.test/mcp?k=v".to_owned()
        },
        legacy,
        |server| {
            let mut proxies = ProxySettings::default();
            proxies.http = format!("http://user:p%40ss@{}", proxy.get().unwrap());
            server.proxies(proxies)
        },
    )
    .await;
    setup.handshake().await;
    setup.ask("1", "ping").await;
    for request in setup.end().await {
        assert_eq!(request.path, "http://server.test/mcp?k=v");
        assert_eq!(request.header("host"), Some("server.test"));
        assert_eq!(request.header("proxy-authorization"), Some("Basic dXNlcjpwQHNz"));
    }
}

/// A proxy that tunnels whatever is asked for to one server, and says what it was asked.
async fn tunnel(to: std::net::SocketAddr) -> (String, mpsc::Receiver<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (say, asked) = mpsc::channel(16);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let say = say.clone();
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                let mut head = Vec::new();
                loop {
                    let mut line = String::new();
                    stream.read_line(&mut line).await.unwrap();
                    if line.trim().is_empty() {
                        break;
                    }
                    head.push(line.trim().to_owned());
                }
                say.send(head).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 Fine\r\n\r\n").await.unwrap();
                let mut server = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    });
    (format!("http://user:p%40ss@{address}"), asked)
}

#[tokio::test]
async fn a_server_behind_tls_is_reached_through_a_tunnel() {
    let (pem, tls) = authority("server.test", &[]);
    let mut at = None;
    // The server is only reached by the proxy, which alone knows where that name is.
    let setup = Setup::behind(
        Some(tls),
        |address| {
            at = Some(address);
            "http://127.0.0.1:1/".to_owned()
        },
        legacy,
        |server| server,
    )
    .await;
    let (proxy, mut asked) = tunnel(at.unwrap()).await;
    let mut proxies = ProxySettings::default();
    proxies.https = proxy;
    let server = HttpServer::new("https://server.test/mcp")
        .unwrap()
        .root_certificates(pem.as_bytes())
        .unwrap()
        .proxies(proxies);
    let (mut host, downstream) = hoist_proxy_core::testkit::host();
    let proxy = hoist_proxy_core::Proxy::new(downstream, server);
    let running = tokio::spawn(proxy.run(std::future::pending()));
    host.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    host.expect(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    host.close();
    host.expect_end().await;
    running.await.unwrap().unwrap().into_last().unwrap();
    let head = asked.recv().await.unwrap();
    assert_eq!(head[0], "CONNECT server.test:443 HTTP/1.1");
    let credentials = "proxy-authorization: basic dXNlcjpwQHNz";
    assert!(head.iter().any(|line| line.eq_ignore_ascii_case(credentials)), "{head:?}");
    // The server itself is told nothing of them.
    let requests = setup.requests();
    assert!(requests.iter().all(|r| r.header("proxy-authorization").is_none()), "{requests:?}");
}

/// What the host is told of a request to a server behind a proxy.
async fn told(url: &str, proxies: ProxySettings) -> String {
    let server = HttpServer::new(url).unwrap().proxies(proxies);
    let (mut host, downstream) = hoist_proxy_core::testkit::host();
    let proxy = hoist_proxy_core::Proxy::new(downstream, server);
    let running = tokio::spawn(proxy.run(std::future::pending()));
    host.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    let answer = host.receive().await;
    host.close();
    host.expect_end().await;
    running.await.unwrap().unwrap().into_last().unwrap();
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    answer["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_proxy_that_gives_no_way_is_told_from_the_server() {
    // Nobody listens on a port that was just given back.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // One that refuses whatever is asked for.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refusing = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).await.unwrap() > 2 {
                line.clear();
            }
            let answer = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
    });
    for (url, address, expected) in [
        ("http://server.test/", closed, "gives no way to the server: "),
        ("https://server.test/", closed, "gives no way to the server: "),
        ("https://server.test/", refusing, "proxy authorization required"),
        ("http://server.test/", refusing, "the proxy before the server answered HTTP 407"),
    ] {
        let mut proxies = ProxySettings::default();
        proxies.all = format!("http://user:s3cret@{address}");
        let said = told(url, proxies).await;
        assert!(said.contains(expected) && !said.contains("s3cret"), "{url}: {said}");
        assert!(!said.contains("server cannot be reached"), "{url}: {said}");
        let names_it = said.contains(&address.to_string());
        assert!(names_it || said.contains("407"), "{url}: {said}");
    }
}
