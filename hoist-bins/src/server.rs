//! The server that the options name: a command, or a URL.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use hoist_proxy_core::{BoxFuture, Connection, Error, SessionContext, Upstream};
use hoist_transport::{ChildServer, HttpServer, InvalidServer, ProxySettings, Termination};

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
    #[error("--upstream-header {name}={variable} cannot be sent")]
    Header { name: String, variable: String, source: InvalidServer },
    #[error(
        "--upstream-header {name}={variable}: the environment variable {variable} is not set; the \
         header's value is taken from it"
    )]
    Unset { name: String, variable: String },
    #[error("--upstream-header {name}={variable}: the value of {variable} is not UTF-8")]
    NotText { name: String, variable: String },
    #[error("cannot read --upstream-ca {}", path.display())]
    CaFile { path: PathBuf, source: io::Error },
    #[error("--upstream-ca {} cannot be used", path.display())]
    Ca { path: PathBuf, source: InvalidServer },
}

impl ServerError {
    /// The exit code that says whose fault it is.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::CaFile { .. } => EXIT_FAILED,
            _ => EXIT_USAGE,
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
        let of =
            |source| ServerError::Header { name: name.clone(), variable: variable.clone(), source };
        let (name, variable) = (name.clone(), variable.clone());
        server = match (surroundings.variable)(&variable).map(OsString::into_string) {
            Some(Ok(value)) => server.header(&name, &value).map_err(of)?,
            Some(Err(_)) => return Err(ServerError::NotText { name, variable }),
            None => return Err(ServerError::Unset { name, variable }),
        };
    }
    if let Some(path) = &options.ca {
        let pem = std::fs::read(path)
            .map_err(|source| ServerError::CaFile { path: path.clone(), source })?;
        server = server
            .root_certificates(&pem)
            .map_err(|source| ServerError::Ca { path: path.clone(), source })?;
    }
    server.check().map_err(ServerError::Upstream)?;
    Ok(server)
}

/// What the environment says of proxies, in capitals or not.
fn proxies(variable: fn(&str) -> Option<OsString>) -> ProxySettings {
    let read = |name: &str| {
        [name.to_ascii_lowercase(), name.to_owned()]
            .iter()
            .filter_map(|name| variable(name)?.into_string().ok())
            .find(|value| !value.is_empty())
            .unwrap_or_default()
    };
    let mut proxies = ProxySettings::default();
    proxies.http = read("HTTP_PROXY");
    proxies.https = read("HTTPS_PROXY");
    proxies.all = read("ALL_PROXY");
    proxies.no = read("NO_PROXY");
    proxies
}
