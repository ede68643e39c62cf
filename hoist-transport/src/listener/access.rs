//! Who may talk to the listener.

use std::net::{IpAddr, SocketAddr};

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use subtle::ConstantTimeEq as _;

/// What requests must have.
#[derive(Debug)]
pub(super) struct Access {
    /// Where the listener is.
    pub(super) address: SocketAddr,
    pub(super) token: Option<Token>,
}

/// A secret that hosts show.
#[derive(Clone)]
pub(super) struct Token(pub(super) String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Denied {
    Host,
    Origin,
    Token,
}

impl Denied {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Host => "the Host header does not name the address that the proxy listens on",
            Self::Origin => "pages of other sites may not use the proxy",
            Self::Token => "send Authorization: Bearer with the proxy's token",
        }
    }
}

impl Access {
    /// Whether the request may come from where it seems to: its `Host` and its `Origin`.
    pub(super) fn check_site(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        let host = host(uri, headers);
        // With a token, a page that was led here by a false name still lacks the token.
        if self.token.is_none() && !host.as_ref().is_some_and(|host| self.is_ours(host)) {
            return Err(Denied::Host);
        }
        let is_own = |site: &Authority| {
            is_loopback_name(site.host())
                || self.is_ours(site)
                || host.as_ref().is_some_and(|host| host.host().eq_ignore_ascii_case(site.host()))
        };
        // Each of them, should there be several: another program may heed another one.
        let is_allowed = |origin: &HeaderValue| {
            let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
            origin.as_ref().and_then(Uri::authority).is_some_and(is_own)
        };
        if headers.get_all(ORIGIN).iter().all(is_allowed) { Ok(()) } else { Err(Denied::Origin) }
    }

    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Denied> {
        let Some(Token(token)) = &self.token else { return Ok(()) };
        let given = headers.get(AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
        let given = match given.split_at_checked(7) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"bearer ") => rest.trim_ascii(),
            _ => return Err(Denied::Token),
        };
        // The time it takes must not tell how much of it is right.
        if bool::from(given.ct_eq(token.as_bytes())) { Ok(()) } else { Err(Denied::Token) }
    }

    /// Whether this names the address the listener is at, with its port or none.
    fn is_ours(&self, authority: &Authority) -> bool {
        let is_port =
            authority.port().is_none_or(|port| port.as_str() == self.address.port().to_string());
        let name = authority.host();
        let is_name = literal(name) == Some(self.address.ip())
            || (self.address.ip().is_loopback() && is_loopback_name(name));
        is_port && is_name
    }
}

/// The names of one's own machine.
fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || literal(name).is_some_and(|ip| {
            ip == IpAddr::from([127, 0, 0, 1]) || ip == IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])
        })
}

fn literal(name: &str) -> Option<IpAddr> {
    name.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// What the request calls this server.
fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let mut named = headers.get_all(HOST).iter();
    match (uri.authority(), named.next(), named.next()) {
        (Some(authority), ..) => Some(authority.clone()),
        (None, Some(host), None) => Authority::try_from(host.as_bytes()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str, token: Option<&str>) -> Access {
        Access {
            address: address.parse().unwrap(),
            token: token.map(|token| Token(token.to_owned())),
        }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn site(access: &Access, pairs: &[(&'static str, &str)]) -> Result<(), Denied> {
        access.check_site(&Uri::from_static("/mcp"), &headers(pairs))
    }

    #[test]
    fn without_a_token_only_its_own_names_reach_it() {
        let access = access("127.0.0.1:8931", None);
        for host in
            ["127.0.0.1:8931", "127.0.0.1", "localhost:8931", "LOCALHOST", "[::1]:8931", "[::1]"]
        {
            assert_eq!(site(&access, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "127.0.0.1:8932",
            "localhost:80",
            "evil.example",
            "evil.example:8931",
            "127.0.0.2",
            "",
            "localhost.evil.example",
        ] {
            assert_eq!(site(&access, &[("host", host)]), Err(Denied::Host), "{host}");
        }
        assert_eq!(site(&access, &[]), Err(Denied::Host));
        assert_eq!(site(&access, &[("host", "localhost"), ("host", "evil")]), Err(Denied::Host));
        let absolute = Uri::from_static("http://evil.example/mcp");
        let headers = headers(&[("host", "localhost")]);
        assert_eq!(access.check_site(&absolute, &headers), Err(Denied::Host));
    }

    #[test]
    fn another_loopback_address_is_reached_by_its_own_name_too() {
        let access = access("127.0.0.9:8931", None);
        for host in ["127.0.0.9:8931", "127.0.0.9", "localhost"] {
            assert_eq!(site(&access, &[("host", host)]), Ok(()), "{host}");
        }
        assert_eq!(site(&access, &[("host", "127.0.0.8")]), Err(Denied::Host));
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let with = |access: &Access, origin| {
            site(access, &[("host", "127.0.0.1:8931"), ("origin", origin)])
        };
        for access in [access("127.0.0.1:8931", None), access("0.0.0.0:8931", Some("t"))] {
            for origin in ["http://localhost:6274", "http://127.0.0.1:8931", "http://[::1]:3000"] {
                assert_eq!(with(&access, origin), Ok(()), "{origin}");
            }
            for origin in ["http://evil.example", "https://localhost.evil.example", "null", "x"] {
                assert_eq!(with(&access, origin), Err(Denied::Origin), "{origin}");
            }
        }
        let both = [("origin", "http://localhost"), ("origin", "http://evil.example")];
        let both = [&[("host", "localhost")][..], &both].concat();
        assert_eq!(site(&access("127.0.0.1:8931", None), &both), Err(Denied::Origin));
        let access = access("0.0.0.0:443", Some("t"));
        let own = [("host", "hoist.example"), ("origin", "https://hoist.example")];
        assert_eq!(site(&access, &own), Ok(()));
        assert_eq!(site(&access, &[("host", "anything")]), Ok(()));
    }

    #[test]
    fn a_token_must_be_shown_where_there_is_one() {
        let access_ = access("127.0.0.1:1", Some("s3cret"));
        let with = |value| access_.check_token(&headers(&[("authorization", value)]));
        for right in ["Bearer s3cret", "bearer s3cret", "BEARER  s3cret"] {
            assert_eq!(with(right), Ok(()), "{right}");
        }
        for wrong in ["Bearer s3cre", "Bearer s3crett", "Bearer", "Basic s3cret", "s3cret", ""] {
            assert_eq!(with(wrong), Err(Denied::Token), "{wrong}");
        }
        assert_eq!(access_.check_token(&HeaderMap::new()), Err(Denied::Token));
        assert_eq!(access("127.0.0.1:1", None).check_token(&HeaderMap::new()), Ok(()));
        assert!(!format!("{access_:?}").contains("s3cret"));
    }
}
