//! Servers behind TLS with a certificate of a private authority, made for each test.

use std::sync::Arc;

use hoist_transport::HttpServer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
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
