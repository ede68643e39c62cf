//! Servers behind TLS with a certificate of a private authority, made for each test.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use hoist_proxy_core::{Proxy, testkit};
use hoist_transport::HttpServer;
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{Setup, legacy};

/// The authority's certificate, and what a server of this name shows.
pub(crate) fn authority(name: &str, protocols: &[&[u8]]) -> (String, TlsAcceptor) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (authority.pem(), TlsAcceptor::from(Arc::new(config)))
}

#[tokio::test]
async fn a_private_authority_is_trusted_if_it_is_given() {
    let (pem, tls) = authority("127.0.0.1", &[]);
    let url = |address| format!("https://{address}/mcp");
    let trust = |server: HttpServer| server.root_certificates(pem.as_bytes()).unwrap();
    let mut setup = Setup::behind(Some(tls.clone()), url, legacy, trust).await;
    setup.handshake().await;
    assert_eq!(setup.ask("1", "ping").await["result"], serde_json::json!({}));
    setup.end().await;
    // Without it, and for another name, every request is an error and nothing is sent.
    let mut setup = Setup::behind(Some(tls), url, legacy, |server| server).await;
    let answer = setup.ask("1", "initialize").await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{answer}");
    assert!(setup.end().await.is_empty());
    let (pem, tls) = authority("another.test", &[]);
    let trust = |server: HttpServer| server.root_certificates(pem.as_bytes()).unwrap();
    let mut setup = Setup::behind(Some(tls), url, legacy, trust).await;
    assert!(setup.ask("1", "initialize").await["error"].is_object());
    assert!(setup.end().await.is_empty());
}

#[tokio::test]
async fn what_is_no_certificate_is_refused() {
    let block =
        |text: &str| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    let (good, _) = authority("a.test", &[]);
    for (pem, expected) in [
        (String::new(), "no block that begins"),
        ("hello".to_owned(), "no block that begins"),
        (block("!"), "base64"),
        // What the block holds is base64, and no certificate.
        (block("AAAA"), "certificate 1 in it: "),
        (good.clone() + &block("AAAA"), "certificate 2 in it: "),
        (good[..good.len() / 2].to_owned(), "has no end"),
        ("-----BEGIN CERTIFICATE\n".to_owned() + &good, "broken"),
    ] {
        let server = HttpServer::new("https://h/").unwrap();
        let error = server.root_certificates(pem.as_bytes()).expect_err(&pem).to_string();
        assert!(error.contains(expected) && !error.contains('['), "{pem}: {error}");
    }
}

#[tokio::test]
async fn http_2_is_spoken_where_the_server_offers_it() {
    let (pem, tls) = authority("127.0.0.1", &[b"h2", b"http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let stream = tls.accept(stream).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
            let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| async {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let message: serde_json::Value = serde_json::from_slice(&body).unwrap();
                let answer = format!(r#"{{"id":{},"result":{{}}}}"#, message["id"]);
                let mut answer = hyper::Response::new(Full::new(Bytes::from(answer)));
                let json = http::HeaderValue::from_static("application/json");
                answer.headers_mut().insert(http::header::CONTENT_TYPE, json);
                Ok::<_, Infallible>(answer)
            });
            tokio::spawn(
                hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    let (mut host, downstream) = testkit::host();
    let server = HttpServer::new(&url).unwrap().root_certificates(pem.as_bytes()).unwrap();
    let running = tokio::spawn(Proxy::new(downstream, server).run(std::future::pending()));
    // The first request opens the connection that all others share.
    host.send(r#"{"id":"first","method":"ping"}"#).await;
    host.expect(r#"{"id":"first","result":{}}"#).await;
    for id in 0..50 {
        host.send(&format!(r#"{{"id":{id},"method":"ping"}}"#)).await;
    }
    let mut answers = Vec::new();
    for _ in 0..50 {
        answers.push(host.receive().await);
    }
    answers.sort_unstable();
    let mut expected: Vec<_> =
        (0..50).map(|id| format!(r#"{{"id":{id},"result":{{}}}}"#)).collect();
    expected.sort_unstable();
    assert_eq!(answers, expected);
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    host.close();
    host.expect_end().await;
    running.await.unwrap().unwrap().into_last().unwrap();
}
