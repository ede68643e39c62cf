//! The server that the options name: a command, or a URL.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

use hoist_proxy_core::{BoxFuture, Connection, Error, SessionContext, Upstream};
use hoist_trace::credentials::redact_command;
use hoist_transport::{
    ChildServer, HttpServer, InvalidProxy, InvalidServer, ProxySettings, Termination,
};

use crate::cli::{EXIT_USAGE, McpOptions, UpstreamOptions};
use crate::mcp::{EXIT_FAILED, Surroundings};

/// A server of either kind.
#[derive(Debug)]
pub(crate) enum Server {
    Child(ChildServer),
    Http(Box<HttpServer>),
}

impl Upstream for Server {
    fn connect<'a>(
        &'a self,
        session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Connection, Error>> {
        match self {
            Self::Child(server) => server.connect(session),
            Self::Http(server) => server.connect(session),
        }
    }
}

/// What is wrong with a server's URL, or with what is to be sent to it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error("--upstream cannot be used")]
    Upstream(#[source] InvalidServer),
    #[error("{variable} cannot be used")]
    Proxy { variable: String, source: InvalidProxy },
    #[error("{flag} cannot be sent")]
    Header { flag: HeaderFlag, source: InvalidServer },
    #[error(
        "{flag}: the environment variable {} is not set; the header's value is taken from it",
        flag.variable()
    )]
    Unset { flag: HeaderFlag },
    #[error("{flag}: the value of {} is not UTF-8", flag.variable())]
    NotText { flag: HeaderFlag },
    #[error("cannot read --upstream-ca {}", path.display())]
    CaFile { path: PathBuf, source: io::Error },
    #[error("--upstream-ca {} cannot be used", path.display())]
    Ca { path: PathBuf, source: InvalidServer },
}

impl ServerError {
    /// The exit code that says whose fault it is.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            // It is not the command line's fault that the system has no TLS to offer.
            Self::Upstream(InvalidServer::Tls(_)) => EXIT_FAILED,
            _ => EXIT_USAGE,
        }
    }
}

/// An `--upstream-header`. Whoever gives a header's value in place of a variable's name must not
/// find it in the host's logs, so only what looks like two names is shown.
#[derive(Debug, Clone)]
pub(crate) struct HeaderFlag {
    name: String,
    variable: String,
}

impl HeaderFlag {
    /// The longest name that is shown: keys are longer.
    const MAX_SHOWN: usize = 32;

    fn is_shown(&self) -> bool {
        let is_name = |name: &str, others: &[u8]| {
            name.len() <= Self::MAX_SHOWN
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || others.contains(&b))
                && redact_command([name]) == [name]
        };
        let variable = &self.variable;
        is_name(&self.name, b"-_")
            && is_name(variable, b"_")
            && !variable.starts_with(|first: char| first.is_ascii_digit())
    }

    fn variable(&self) -> &str {
        if self.is_shown() { &self.variable } else { "that its right side should name" }
    }
}

impl fmt::Display for HeaderFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_shown() {
            write!(f, "--upstream-header {}={}", self.name, self.variable)
        } else {
            // The names of a header and of a variable.
            f.write_str("--upstream-header NAME=VAR")
        }
    }
}

/// The server to put the proxy in front of.
pub(crate) fn server(
    options: &McpOptions,
    surroundings: &Surroundings,
    termination: &Termination,
) -> Result<Server, ServerError> {
    if let Some(upstream) = &options.upstream {
        let server = http_server(upstream, surroundings)?;
        return Ok(Server::Http(Box::new(server.max_message_bytes(options.max_message_bytes))));
    }
    let mut command = options.command.iter().cloned();
    // The parser takes no command line without one.
    let program = command.next().unwrap_or_default();
    let mut server = ChildServer::new(program, command).grace(options.grace).told_by(termination);
    if let Some(path) = &surroundings.search_path {
        server = server.search_path(path.clone());
    }
    Ok(Server::Child(server))
}

fn http_server(
    options: &UpstreamOptions,
    surroundings: &Surroundings,
) -> Result<HttpServer, ServerError> {
    let mut server = HttpServer::new(&options.url)
        .map_err(ServerError::Upstream)?
        .proxies(proxies(surroundings.variable))
        .restart(options.restart);
    for (name, variable) in &options.headers {
        let flag = HeaderFlag { name: name.clone(), variable: variable.clone() };
        server = match (surroundings.variable)(variable).map(OsString::into_string) {
            Some(Ok(value)) => server
                .header(name, &value)
                .map_err(|source| ServerError::Header { flag, source })?,
            Some(Err(_)) => return Err(ServerError::NotText { flag }),
            None => return Err(ServerError::Unset { flag }),
        };
    }
    if let Some(path) = &options.ca {
        let pem = std::fs::read(path)
            .map_err(|source| ServerError::CaFile { path: path.clone(), source })?;
        server = server
            .root_certificates(&pem)
            .map_err(|source| ServerError::Ca { path: path.clone(), source })?;
    }
    server.check().map_err(|error| match error {
        InvalidServer::Proxy { variable, source } => {
            let spelt = proxy_variable(variable, surroundings.variable);
            let variable = spelt.map_or_else(|| variable.to_owned(), |(name, _)| name);
            ServerError::Proxy { variable, source }
        }
        other => ServerError::Upstream(other),
    })?;
    Ok(server)
}

/// What the environment says of proxies, in capitals or not.
fn proxies(variable: fn(&str) -> Option<OsString>) -> ProxySettings {
    // What is no UTF-8 is no URL of a proxy either, and must not pass for none.
    let read = |name: &str| {
        let found = proxy_variable(name, variable);
        found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let mut proxies = ProxySettings::default();
    proxies.http = read("HTTP_PROXY");
    proxies.https = read("HTTPS_PROXY");
    proxies.all = read("ALL_PROXY");
    proxies.no = read("NO_PROXY");
    proxies
}

/// A variable of this name, or of the same in small letters, that says something.
fn proxy_variable(
    name: &str,
    variable: fn(&str) -> Option<OsString>,
) -> Option<(String, OsString)> {
    [name.to_ascii_lowercase(), name.to_owned()]
        .into_iter()
        .filter_map(|name| variable(&name).map(|value| (name, value)))
        .find(|(_, value)| !value.is_empty())
}
