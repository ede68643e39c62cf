//! Hosts by URL: the listener that the options name, and what is said of its sessions.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hoist_proxy_core::{Error, Proxy, SessionEvent, Upstream};
use hoist_transport::{InvalidListener, Listener, Listening, Stderr, Termination};

use crate::cli::ListenOptions;
use crate::diagnostics::with_causes;

/// How long the sessions may take to end once the proxy is asked to.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// How long what is still said to hosts may take to leave.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// What is wrong with how hosts are to be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListenerError {
    #[error("cannot read {flag} {}", path.display())]
    File { flag: &'static str, path: PathBuf, source: io::Error },
    #[error("{flag} {} cannot be used", path.display())]
    Invalid { flag: &'static str, path: PathBuf, source: InvalidListener },
    #[error(
        "--listen needs --listen-token-file, since {0} is no loopback address: whoever reaches it could use the server"
    )]
    NeedsToken(std::net::SocketAddr),
}

/// The listener to put the proxy behind.
pub(crate) fn listener(options: &ListenOptions) -> Result<Listener, ListenerError> {
    let mut listener = Listener::new(options.address)
        .idle(options.idle)
        .max_sessions(options.max_sessions)
        .max_body_bytes(options.max_body_bytes);
    if let Some(path) = &options.token_file {
        const FLAG: &str = "--listen-token-file";
        let token = read(FLAG, path)?;
        let token = String::from_utf8_lossy(&token);
        listener = listener.token(token.trim()).map_err(invalid(FLAG, path))?;
    } else if !options.address.ip().is_loopback() {
        return Err(ListenerError::NeedsToken(options.address));
    }
    if let Some((certificates, key)) = &options.tls {
        const FLAG: &str = "--listen-tls-cert";
        let (chain, secret) = (read(FLAG, certificates)?, read("--listen-tls-key", key)?);
        listener = listener.tls(&chain, &secret).map_err(|source| match source {
            InvalidListener::Key(_) => invalid("--listen-tls-key", key)(source),
            source => invalid(FLAG, certificates)(source),
        })?;
    }
    Ok(listener)
}

fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, ListenerError> {
    std::fs::read(path).map_err(|source| ListenerError::File {
        flag,
        path: path.to_owned(),
        source,
    })
}

fn invalid(flag: &'static str, path: &Path) -> impl Fn(InvalidListener) -> ListenerError {
    let path = path.to_owned();
    move |source| ListenerError::Invalid { flag, path: path.clone(), source }
}

/// Says where hosts connect: to scripts, and to whoever looks.
pub(crate) fn announce(url: &str, stderr: &Stderr) {
    stderr.say(&format!("hosts connect to {url}"));
    // Whoever does not read it can do without it.
    let mut stdout = io::stdout();
    let _ = writeln!(stdout, "{url}").and_then(|()| stdout.flush());
}

/// Says of each session when it begins and when it ends.
pub(crate) fn tell(stderr: &Arc<Stderr>) -> impl Fn(SessionEvent<'_>) + Send + Sync + 'static {
    let stderr = Arc::clone(stderr);
    move |event| {
        let message = match event {
            SessionEvent::Began { session } => match &session.host.session {
                Some(name) => format!("session {} began, of host session {name}", session.id),
                None => format!("session {} began", session.id),
            },
            SessionEvent::Ended { session, ended } => match ended.exit_code {
                None | Some(0) => format!("session {} ended", session.id),
                Some(code) => {
                    format!("session {} ended; the server's exit status is {code}", session.id)
                }
            },
            SessionEvent::Failed { session, error } => {
                let shown: &dyn std::error::Error = match error {
                    Error::LayerSetup { source, .. } => source,
                    error => error,
                };
                format!("session {} did not begin: {}", session.id, with_causes(shown))
            }
            _ => return,
        };
        stderr.say(&message);
    }
}

/// Serves until a signal asks the process to end, then until every session has ended, within
/// bounds.
pub(crate) async fn run<U: Upstream + 'static>(
    proxy: Proxy<Listening, U>,
    closed: impl Future<Output = ()>,
    termination: &Termination,
    stderr: &Stderr,
) -> Result<(), Error> {
    let late = async {
        termination.requested().await;
        tokio::time::sleep(END_PATIENCE).await;
    };
    tokio::select! {
        report = proxy.run(termination.requested()) => {
            let _ = report?;
        }
        () = late => stderr.say("sessions that have not ended by now are given up"),
    }
    let _ = tokio::time::timeout(CLOSE_PATIENCE, closed).await;
    Ok(())
}
