//! Where a server is: its URL, and where a redirect may lead.

use std::fmt;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

/// A server's URL that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It is no URL.
    #[error("not a URL: {0}")]
    Malformed(String),
    /// It is neither `http` nor `https`.
    #[error("a server's URL starts with http:// or https://")]
    Scheme,
    /// It has no scheme.
    #[error("the URL lacks http:// or https:// in front")]
    NoScheme,
    /// It names no host.
    #[error("the URL names no host")]
    NoHost,
    /// What stands for its port is none. A user part with a bare `/`, `?` or `#` looks so, too.
    #[error(
        "the URL's port is not a number from 1 to 65535 (in a user or a password, / is written \
         %2F, ? is %3F and # is %23)"
    )]
    Port,
}

/// A server's URL, and what its user part says.
#[derive(Clone)]
pub(super) struct Target {
    uri: Uri,
    /// `Authorization` from `user:password@`.
    authorization: Option<HeaderValue>,
}

impl Target {
    /// Takes a URL as it was given: path and query are sent so, to the byte.
    pub(super) fn parse(url: &str) -> Result<Self, InvalidUrl> {
        // What stands behind `#` is for whoever reads the answer.
        let url = url.split('#').next().unwrap_or_default();
        match url.split_once("://") {
            None if !url.starts_with("http:") && !url.starts_with("https:") => {
                return Err(InvalidUrl::NoScheme);
            }
            Some((scheme, _))
                if ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {}
            _ => return Err(InvalidUrl::Scheme),
        }
        let uri: Uri = url.parse().map_err(|e: http::uri::InvalidUri| {
            // It says only what is wrong, not the text, which may hold a password.
            InvalidUrl::Malformed(e.to_string())
        })?;
        let mut parts = uri.into_parts();
        let authority = parts.authority.take().ok_or(InvalidUrl::NoHost)?;
        let (user, host) = match authority.as_str().rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority.as_str()),
        };
        let host: Authority = host.parse().map_err(|_| InvalidUrl::NoHost)?;
        if host.host().is_empty() {
            return Err(InvalidUrl::NoHost);
        }
        port(&host)?;
        let authorization = user.map(basic);
        parts.authority = Some(host);
        parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        let uri = Uri::from_parts(parts).map_err(|e| InvalidUrl::Malformed(e.to_string()))?;
        Ok(Self { uri, authorization })
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// Where a `Location` leads from `from`, resolved as RFC 3986 (5.2) says; `None` where that is
    /// another origin, or no URL, or where nothing was said.
    pub(super) fn redirected(&self, from: &Uri, location: &str) -> Option<Uri> {
        let location = location.split('#').next().unwrap_or_default();
        if location.is_empty() {
            // That is the URL that was asked for, which would only say so again.
            return None;
        }
        let (base, path) = if let Some(whole) = whole(from, location) {
            // What its user part says is not the user's.
            let whole = Self::parse(&whole).ok()?.uri;
            let path = without_dots(whole.path_and_query()?.as_str());
            (whole, path)
        } else {
            let path = match location.as_bytes()[0] {
                b'/' => without_dots(location),
                b'?' => format!("{}{location}", from.path()),
                _ => {
                    let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                    without_dots(&format!("{folder}/{location}"))
                }
            };
            (from.clone(), path)
        };
        let mut parts = base.into_parts();
        parts.path_and_query = Some(path.parse().ok()?);
        let uri = Uri::from_parts(parts).ok()?;
        (origin(&uri)? == origin(&self.uri)?).then_some(uri)
    }
}

/// A reference that names a host, as a whole URL.
fn whole(from: &Uri, reference: &str) -> Option<String> {
    if reference.starts_with("//") {
        return Some(format!("{}:{reference}", from.scheme_str()?));
    }
    has_scheme(reference).then(|| reference.to_owned())
}

/// A path that starts with a slash, and its query, with the path's segments `.` and `..` carried
/// out.
fn without_dots(path_and_query: &str) -> String {
    let (path, query) =
        path_and_query.split_at(path_and_query.find('?').unwrap_or(path_and_query.len()));
    let mut kept = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        if segment == ".." {
            // Above the root is the root.
            kept.pop();
        }
        match segment {
            // At the end they stand for a folder, whose name ends in a slash.
            "." | ".." if segments.peek().is_none() => kept.push(""),
            "." | ".." => {}
            _ => kept.push(segment),
        }
    }
    format!("/{}{query}", kept.join("/"))
}

/// Whether a reference is a whole URL. One that is not may still have `://` in its query.
fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// Scheme, host and port: what a browser calls an origin.
fn origin(uri: &Uri) -> Option<(&str, String, u16)> {
    let scheme = uri.scheme()?;
    let default = if *scheme == Scheme::HTTPS { 443 } else { 80 };
    let port = port(uri.authority()?).ok()?.unwrap_or(default);
    Some((scheme.as_str(), uri.host()?.to_ascii_lowercase(), port))
}

/// The port an authority names; `None` where it names none. What is no number must not pass for
/// none: on the scheme's own port, somebody else may listen.
fn port(authority: &Authority) -> Result<Option<u16>, InvalidUrl> {
    let place = authority.as_str();
    let place = place.rsplit_once('@').map_or(place, |(_user, place)| place);
    let behind_host = place.strip_prefix(authority.host()).ok_or(InvalidUrl::Port)?;
    match behind_host.strip_prefix(':') {
        None if behind_host.is_empty() => Ok(None),
        Some("") => Ok(None),
        // The standard parser takes a sign, too.
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => match port.parse() {
            Ok(port @ 1..) => Ok(Some(port)),
            _ => Err(InvalidUrl::Port),
        },
        _ => Err(InvalidUrl::Port),
    }
}

/// `Authorization: Basic`, for a user part in which `%XX` stands for a byte.
fn basic(user: &str) -> HeaderValue {
    use base64::Engine as _;

    let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
    let bytes: Vec<u8> = percent_encoding::percent_decode_str(&user).collect();
    let text = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(bytes));
    let mut value = HeaderValue::from_str(&text).expect("base64 is visible ASCII");
    value.set_sensitive(true);
    value
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a key.
        write!(f, "Target({:?})", origin(&self.uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Target {
        Target::parse(url).unwrap()
    }

    #[test]
    fn a_url_is_used_as_it_was_given() {
        for (url, expected) in [
            ("http://127.0.0.1:80/mcp/?k=v%20x", "http://127.0.0.1:80/mcp/?k=v%20x"),
            ("https://Example.com", "https://Example.com/"),
            ("http://[::1]:9/a//b/?", "http://[::1]:9/a//b/?"),
            ("http://h/a#b", "http://h/a"),
            ("http://user:p%40ss@h/a", "http://h/a"),
        ] {
            assert_eq!(target(url).uri().to_string(), expected);
        }
    }

    #[test]
    fn the_user_part_becomes_a_header_and_is_never_shown() {
        let target = target("http://user:p%40ss@h/a?key=secret");
        let value = target.authorization().unwrap();
        assert_eq!(value, "Basic dXNlcjpwQHNz");
        assert!(value.is_sensitive());
        assert_eq!(format!("{target:?}"), "Target(Some((\"http\", \"h\", 80)))");
        assert_eq!(basic("user"), "Basic dXNlcjo=");
    }

    #[test]
    fn what_is_no_servers_url_is_refused() {
        assert_eq!(Target::parse("ftp://h/").unwrap_err(), InvalidUrl::Scheme);
        assert_eq!(Target::parse("http:/h/").unwrap_err(), InvalidUrl::Scheme);
        for bare in ["/mcp", "localhost:8930/mcp", "h.test", "user:pw@h", ""] {
            assert_eq!(Target::parse(bare).unwrap_err(), InvalidUrl::NoScheme, "{bare}");
        }
        assert!(matches!(Target::parse("http://h ost/"), Err(InvalidUrl::Malformed(_))));
        for none in ["http:///a", "http://user@/a", "http://:80/a"] {
            assert!(Target::parse(none).is_err(), "{none}");
        }
    }

    #[test]
    fn what_is_no_port_is_never_taken_for_none() {
        for url in [
            "http://h:99999/",
            "http://h:65536",
            "http://h:x/",
            "http://h:-1/",
            "http://h:+80/",
            "http://h:0/",
            "http://h: 80/",
            "http://[::1]:x/",
            "http://[::1]80/",
            "https://user:pw@h:x/mcp",
            // These read as the host `user` at a port.
            "http://user:hu/sh@host",
            "http://user:hu?sh@host",
            "http://user:hu#sh@host",
        ] {
            let error = Target::parse(url).expect_err(url);
            let text = error.to_string();
            assert!(!text.contains("hu") && !text.contains("pw"), "{url}: {text}");
            if !url.contains(['[', ' ']) {
                assert_eq!(error, InvalidUrl::Port, "{url}");
            }
        }
        // An empty port is the scheme's own, and one may be written with zeros in front.
        assert_eq!(origin(target("http://h:/").uri()).unwrap().2, 80);
        assert_eq!(origin(target("https://u@h:08443/").uri()).unwrap().2, 8443);
        let from = target("http://h/");
        assert_eq!(from.redirected(from.uri(), "http://h:99999/x"), None);
    }

    #[test]
    fn a_redirect_stays_within_its_origin() {
        let from = target("https://h:443/a/mcp?x=1");
        for (location, expected) in [
            ("/mcp/", Some("https://h:443/mcp/")),
            ("mcp/?y", Some("https://h:443/a/mcp/?y")),
            ("?y", Some("https://h:443/a/mcp?y")),
            ("https://H/b#c", Some("https://H/b")),
            ("//h/b", Some("https://h/b")),
            ("/mcp/?next=http://other/", Some("https://h:443/mcp/?next=http://other/")),
            ("?next=http://other/", Some("https://h:443/a/mcp?next=http://other/")),
            ("//other/b", None),
            ("//other/b?next=https://h:443/", None),
            ("https://h:444/b", None),
            ("http://h/b", None),
            ("https://evil@h.other/b", None),
            ("https://user:password@h/b", Some("https://h/b")),
            ("ftp://h/", None),
            ("", None),
            ("#x", None),
            ("../b", Some("https://h:443/b")),
            ("./b?c=../d", Some("https://h:443/a/b?c=../d")),
            ("/x/./y/../z", Some("https://h:443/x/z")),
            ("https://h/x/../z", Some("https://h/z")),
            ("//h/x/..", Some("https://h/")),
            ("../../../other", Some("https://h:443/other")),
            ("..//other/b", Some("https://h:443//other/b")),
        ] {
            let uri = from.redirected(from.uri(), location).map(|uri| uri.to_string());
            assert_eq!(uri.as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn dots_in_a_path_are_carried_out() {
        // The examples of RFC 3986, 5.4, whose references are paths.
        let from = target("http://a/b/c/d;p?q");
        for (location, expected) in [
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//a", "http://a/"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("g;x?y#s", "http://a/b/c/g;x?y"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            (".g", "http://a/b/c/.g"),
            ("g..", "http://a/b/c/g.."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
            ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("/x//../y", "http://a/x/y"),
        ] {
            let uri = from.redirected(from.uri(), location).map(|uri| uri.to_string());
            assert_eq!(uri.as_deref(), Some(expected), "{location}");
        }
    }
}
