//! Hosts over TLS, with a certificate of a private authority made for each test.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::client::{Client, Request, post};
use crate::setup::{Setup, agreed, any_port, initialize};

/// An authority's certificate, and the PEM texts of a server of this name.
fn authority(name: &str) -> (CertificateDer<'static>, String, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    (authority.der().clone(), certificate.pem(), key.serialize_pem())
}

fn connector(authority: CertificateDer<'static>, protocols: &[&[u8]]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn hosts_are_served_over_tls() {
    let (root, certificates, key) = authority("localhost");
    let listener = any_port().tls(certificates.as_bytes(), key.as_bytes()).unwrap();
    let mut setup = Setup::with(listener).await;
    assert_eq!(setup.url, format!("https://{}/mcp", setup.address));
    let tcp = TcpStream::connect(setup.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let connector = connector(root, &[b"h2", b"http/1.1"]);
    let tls = connector.connect(name.clone(), tcp).await.unwrap();
    assert_eq!(tls.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let mut client = Client::over(tls);
    client.say(&post(&initialize("2025-11-25"))).await;
    let mut server = setup.server().await.peer;
    server.expect(&initialize("2025-11-25")).await;
    server.send(&agreed("2025-11-25")).await;
    assert!(client.head().await.header("mcp-session-id").is_some());
    assert_eq!(client.message().await, agreed("2025-11-25"));
    // Who is not let in over TLS is not let in at all.
    client.expect_end().await;
    assert_eq!(client.ask(&Request::new("GET", "/").with("Host", "evil")).await.status, 403);

    // A host that does not trust the authority says nothing.
    let (other, ..) = authority("localhost");
    let tcp = TcpStream::connect(setup.address).await.unwrap();
    assert!(self::connector(other, &[]).connect(name, tcp).await.is_err());
    drop(server);
    setup.end().await;
}

#[tokio::test]
async fn a_host_without_tls_is_told_nothing_and_holds_up_nobody() {
    let (root, certificates, key) = authority("localhost");
    let listener = any_port().tls(certificates.as_bytes(), key.as_bytes()).unwrap();
    let setup = Setup::with(listener).await;
    let mut plain = setup.client().await;
    plain.send(&Request::new("GET", "/healthz").text()).await;
    let mut silent = setup.client().await;
    let tcp = TcpStream::connect(setup.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let tls = connector(root, &[]).connect(name, tcp).await.unwrap();
    let mut client = Client::over(tls);
    assert_eq!(client.ask(&Request::new("GET", "/healthz")).await.status, 200);
    // Whatever comes back is no HTTP: an alert, or nothing.
    let mut said = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut plain.stream, &mut said).await;
    assert!(said.len() < 16 && !said.starts_with(b"HTTP"), "{said:?}");
    // Nor does it hold up the end.
    setup.end().await;
    silent.expect_closed().await;
}
