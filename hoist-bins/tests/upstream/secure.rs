//! Servers behind TLS with a certificate of a private authority, proxies that want a password, and
//! where the secrets that all of them are given do not appear.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use base64::Engine as _;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::{Proxy, host, legacy, modern, only_log, over_stdio, parsed, serve};

/// Listens on loopback, and says how each request began that came through.
struct Front {
    address: SocketAddr,
    heads: Receiver<String>,
    /// Dropped, it ends all that it serves.
    _runtime: Runtime,
}

impl Front {
    fn new<F>(serve: impl Fn(TcpStream, Sender<String>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (say, heads) = channel();
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // A connection that breaks is the other side's affair.
                tokio::spawn(serve(stream, say.clone()));
            }
        });
        Self { address, heads, _runtime: runtime }
    }

    /// A server behind TLS with this certificate; the server itself is at `url`.
    fn tls(tls: TlsAcceptor, url: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        let server: SocketAddr = address.parse().unwrap();
        Self::new(move |stream, say| {
            let tls = tls.clone();
            async move {
                let mut client = tls.accept(stream).await?;
                let head = read_head(&mut client).await?;
                let _ = say.send(head.clone());
                let mut server = TcpStream::connect(server).await?;
                server.write_all(head.as_bytes()).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            }
        })
    }

    /// A proxy that makes a tunnel to `server` for whoever has the password.
    fn tunnel(server: SocketAddr, user: &str) -> Self {
        let password = basic(user);
        Self::new(move |mut client, say| {
            let password = password.clone();
            async move {
                let head = read_head(&mut client).await?;
                let _ = say.send(head.clone());
                if !head.contains(&password) {
                    let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
                    return client.write_all(refusal).await;
                }
                client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?;
                let mut server = TcpStream::connect(server).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            }
        })
    }

    /// How the requests began that came so far: of each connection the first.
    fn heads(&self) -> Vec<String> {
        self.heads.try_iter().collect()
    }
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(head).unwrap())
}

/// What `Basic` makes of `user:password`.
fn basic(user: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(user)
}

/// What a server of this name shows, and the file of the authority that vouches for it.
fn authority(name: &str, folder: &Path) -> (TlsAcceptor, PathBuf) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let file = folder.join("authority.pem");
    fs::write(&file, authority.pem()).unwrap();
    (TlsAcceptor::from(Arc::new(config)), file)
}

/// Every answer is an error that says this.
#[track_caller]
fn assert_refused(answers: &[String], why: &str) {
    for answer in parsed(answers) {
        let message = answer["error"]["message"].as_str().unwrap_or_default().to_owned();
        // By the server itself, or by the proxy on the way to it.
        let refusals = ["cannot be reached", "gives no way to the server"];
        assert!(refusals.iter().any(|refusal| message.contains(refusal)), "{answer}");
        assert!(message.contains(why), "{answer}");
    }
}

#[test]
fn a_private_authority_is_trusted_if_it_is_given() {
    let (_server, url) = serve(&[]);
    let folder = TempDir::new().unwrap();
    let (tls, ca) = authority("127.0.0.1", folder.path());
    let front = Front::tls(tls, &url);
    let url = format!("https://{}/mcp", front.address);
    for lines in [legacy("2025-11-25"), modern()] {
        let ca = ["--upstream", &url, "--upstream-ca", ca.to_str().unwrap()];
        assert_eq!(host(&ca, &lines), over_stdio(&lines));
        assert_ne!(front.heads(), [""; 0]);
        // Without it, nothing is said to the server at all.
        let answers = host(&["--upstream", &url], &lines);
        assert_eq!(answers.len(), over_stdio(&lines).len());
        assert_refused(&answers, "certificate");
        assert_eq!(front.heads(), [""; 0]);
    }
    // Nor where the certificate is another server's.
    let other = TempDir::new().unwrap();
    let (tls, ca) = authority("another.test", other.path());
    let front = Front::tls(tls, &serve(&[]).1);
    let url = format!("https://{}/mcp", front.address);
    let ca = ["--upstream", &url, "--upstream-ca", ca.to_str().unwrap()];
    assert_refused(&host(&ca, &legacy("2025-11-25")[..1]), "certificate");
    assert_eq!(front.heads(), [""; 0]);
}

#[test]
fn a_server_behind_tls_is_reached_through_a_proxy_that_wants_a_password() {
    let (_server, url) = serve(&[]);
    let folder = TempDir::new().unwrap();
    let (tls, ca) = authority("server.test", folder.path());
    let front = Front::tls(tls, &url);
    let proxy = Front::tunnel(front.address, "user:p@ss-word");
    let arguments =
        ["--upstream", "https://server.test/mcp", "--upstream-ca", ca.to_str().unwrap()];
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let way = format!("http://user:p%40ss-word@{}", proxy.address);
        let lines = legacy("2025-11-25");
        let mut running = Proxy::start(&arguments, &[(name, &way)]);
        assert_eq!(running.talk(&lines), over_stdio(&lines), "{name}");
        running.end();
        // Only the proxy is told its password.
        let heads = proxy.heads();
        assert!(heads.iter().all(|head| head.starts_with("CONNECT server.test:443 ")), "{heads:?}");
        let heads = front.heads();
        assert!(!heads.is_empty());
        let named = |head: &String| head.to_lowercase().contains("proxy-authorization");
        assert!(!heads.iter().any(named), "{heads:?}");
    }
    let way = format!("http://user:wr0ng-word@{}", proxy.address);
    let mut running = Proxy::start(&arguments, &[("HTTPS_PROXY", &way)]);
    assert_refused(&running.talk(&legacy("2025-11-25")[..1]), "proxy");
    assert_eq!(running.end(), "");
    assert_eq!(front.heads(), [""; 0]);
}

/// Runs a proxy that is given secrets of every kind, and fails where one of them can be read.
#[track_caller]
fn assert_told_to_nobody(
    url: &str,
    more: &[&str],
    variables: &[(&str, &str)],
    lines: &[Value],
) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let logs = folder.path().to_str().unwrap();
    let mut arguments = vec!["--record", logs, "--upstream", url, "--upstream-header", "X-Key=KEY"];
    arguments.extend(more);
    let variables = [&[("KEY", "header-secret")], variables].concat();
    let mut proxy = Proxy::start(&arguments, &variables);
    let answers = proxy.talk(lines);
    #[cfg(target_os = "linux")]
    {
        // Others on the machine can read it: it holds what the user wrote, and nothing else.
        let words = fs::read(format!("/proc/{}/cmdline", proxy.process.id())).unwrap();
        let words = String::from_utf8(words).unwrap();
        let words: Vec<&str> = words.trim_end_matches('\0').split('\0').skip(1).collect();
        assert_eq!(words, arguments);
        assert!(!words.iter().any(|word| word.contains("header-secret")), "{words:?}");
    }
    let stderr = proxy.end();
    let log = fs::read_to_string(only_log(folder.path())).unwrap();
    let user = basic("user:pass-word");
    let proxy_user = basic("proxy-user:proxy-pass");
    for secret in ["header-secret", "pass-word", "query-secret", "proxy-pass", &*user, &*proxy_user]
    {
        assert!(!log.contains(secret), "{secret} in {log}");
        assert!(!stderr.contains(secret), "{secret} in {stderr}");
        assert!(!answers.concat().contains(secret), "{secret} in {answers:?}");
    }
    assert!(log.contains("\"server_url\":\"http"), "{log}");
    answers
}

#[test]
fn secrets_appear_nowhere() {
    let lines = legacy("2025-11-25");
    let folder = TempDir::new().unwrap();
    let (tls, ca) = authority("server.test", folder.path());
    let (_server, url) = serve(&[]);
    let front = Front::tls(tls, &url);
    let proxy = Front::tunnel(front.address, "proxy-user:proxy-pass");
    let url = "https://user:pass-word@server.test/mcp?api_key=query-secret";
    let ca = ["--upstream-ca", ca.to_str().unwrap()];
    let way = format!("http://proxy-user:proxy-pass@{}", proxy.address);
    let answers = assert_told_to_nobody(url, &ca, &[("HTTPS_PROXY", &way)], &lines);
    assert_eq!(answers, over_stdio(&lines));
    // The server was told all the same, and nothing of the proxy's.
    for head in front.heads() {
        let told = format!("authorization: Basic {}\r\n", basic("user:pass-word"));
        assert!(head.contains(&told), "{head}");
        assert!(head.contains("x-key: header-secret\r\n"), "{head}");
        assert!(head.contains("/mcp?api_key=query-secret "), "{head}");
    }
    // What goes wrong is said without them: no certificate that is known, a proxy that refuses, or
    // is not there, a server that sends the host elsewhere, or is not there.
    let first = &lines[..1];
    let refused = |url: &str, variables: &[(&str, &str)]| {
        let answers = parsed(&assert_told_to_nobody(url, &[], variables, first));
        assert!(answers[0]["error"].is_object(), "{answers:?}");
    };
    refused(url, &[("HTTPS_PROXY", &way)]);
    let wrong = format!("http://other:proxy-pass@{}", proxy.address);
    refused(url, &[("HTTPS_PROXY", &wrong)]);
    refused(url, &[("HTTPS_PROXY", "http://proxy-user:proxy-pass@127.0.0.1:1")]);
    refused("http://user:pass-word@127.0.0.1:1/mcp?api_key=query-secret", &[]);
    let elsewhere = Front::new(|mut client, _| async move {
        read_head(&mut client).await?;
        let to = "http://user:pass-word@h.test/?api_key=query-secret";
        let head = format!("HTTP/1.1 307 Go\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        client.write_all(head.as_bytes()).await
    });
    refused(&format!("http://user:pass-word@{}/?api_key=query-secret", elsewhere.address), &[]);
}
