//! The connections that hosts open.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::service::Service;
use super::tls::Tls;

/// So many connections are open at once at most; further ones wait.
const MAX_CONNECTIONS: usize = 4_096;

/// How long a connection may take to say what it wants, whether it is new or was used before.
const HEAD_PATIENCE: Duration = Duration::from_secs(75);

/// How long the handshake of TLS may take.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);

/// How often sessions are looked after.
const TICK: Duration = Duration::from_secs(5);

/// How long to wait where connections cannot be accepted, for want of files, say.
const RETRY: Duration = Duration::from_millis(100);

pub(super) struct Acceptor {
    socket: TcpListener,
    service: Arc<Service>,
    tls: Option<Tls>,
    connections: Arc<Semaphore>,
    graceful: GracefulShutdown,
}

impl Acceptor {
    pub(super) fn new(socket: TcpListener, service: Arc<Service>, tls: Option<Tls>) -> Self {
        Self {
            socket,
            service,
            tls,
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            graceful: GracefulShutdown::new(),
        }
    }

    /// Accepts until it is to stop, then waits until every connection is closed, for which each
    /// answer that is under way is finished. `_closed` is dropped then.
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>, _closed: watch::Sender<()>) {
        let (mut tick, stopping) = (interval(TICK), stop.clone());
        loop {
            tokio::select! {
                stopped = stop.wait_for(|stopped| *stopped) => {
                    drop(stopped);
                    break;
                }
                now = tick.tick() => self.service.sessions.tick(now),
                () = self.accept(&stopping) => {}
            }
        }
        let Self { socket, graceful, .. } = self;
        drop(socket);
        graceful.shutdown().await;
    }

    async fn accept(&self, stopping: &watch::Receiver<bool>) {
        let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else { return };
        let (stream, peer) = match self.socket.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!("a connection could not be accepted: {error}");
                return sleep(RETRY).await;
            }
        };
        // Events are small, and must not wait for one another.
        let _ = stream.set_nodelay(true);
        let service = Arc::clone(&self.service);
        let watcher = self.graceful.watcher();
        let (tls, stopping) = (self.tls.clone(), stopping.clone());
        tokio::spawn(async move {
            let _permit = permit;
            match tls {
                None => serve(service, stream, peer, watcher).await,
                Some(Tls(acceptor)) => {
                    let secured = secured(&acceptor, stream, stopping).await;
                    if let Some(stream) = secured {
                        serve(service, stream, peer, watcher).await;
                    }
                }
            }
        });
    }
}

/// The connection once it speaks TLS. Nothing where that fails, or nobody is to be answered any more
/// before it does.
async fn secured(
    tls: &TlsAcceptor,
    stream: TcpStream,
    mut stopping: watch::Receiver<bool>,
) -> Option<TlsStream<TcpStream>> {
    tokio::select! {
        _ = stopping.wait_for(|stopping| *stopping) => None,
        shaken = timeout(HANDSHAKE_PATIENCE, tls.accept(stream)) => shaken.ok()?.ok(),
    }
}

async fn serve<S>(service: Arc<Service>, stream: S, peer: SocketAddr, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(service.answer(request, peer.ip()).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .serve_connection(TokioIo::new(stream), answer);
    // That a host goes away is no failure.
    let _ = watcher.watch(connection).await;
}
