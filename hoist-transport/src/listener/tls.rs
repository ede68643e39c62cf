//! TLS for hosts, and the random numbers that come with it.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use tokio_rustls::TlsAcceptor;

/// What is wrong with how hosts are to be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidListener {
    /// No header can hold the token.
    #[error("a token is one word of visible ASCII characters")]
    Token,
    /// There is no certificate in PEM form.
    #[error("no certificate in PEM form can be read")]
    Certificate(#[source] Option<pem::Error>),
    /// There is no private key in PEM form.
    #[error("no private key in PEM form can be read")]
    Key(#[source] pem::Error),
    /// The certificate and the key cannot be used together.
    #[error("the certificate and the key cannot be used")]
    Tls(#[source] rustls::Error),
}

/// What connections over TLS are made with.
#[derive(Clone)]
pub(super) struct Tls(pub(super) TlsAcceptor);

impl Tls {
    pub(super) fn new(certificates: &[u8], key: &[u8]) -> Result<Self, InvalidListener> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.map_err(|error| InvalidListener::Certificate(Some(error)))?;
        if chain.is_empty() {
            return Err(InvalidListener::Certificate(None));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(InvalidListener::Key)?;
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(InvalidListener::Tls)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

/// A text of 128 random bits; none where the system has no randomness to give.
pub(super) fn unguessable() -> Option<String> {
    let mut bytes = [0; 16];
    ring::default_provider().secure_random.fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_differ() {
        let (one, other) = (unguessable().unwrap(), unguessable().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }

    #[test]
    fn what_is_no_certificate_or_key_is_refused() {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        assert!(Tls::new(cert.as_bytes(), key.as_bytes()).is_ok());
        let kind = |cert: &str, key: &str| Tls::new(cert.as_bytes(), key.as_bytes()).err();
        assert!(matches!(kind("", &key), Some(InvalidListener::Certificate(None))));
        assert!(matches!(kind(&cert, ""), Some(InvalidListener::Key(_))));
        let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let other = other.signing_key.serialize_pem();
        assert!(matches!(kind(&cert, &other), Some(InvalidListener::Tls(_))));
    }
}
