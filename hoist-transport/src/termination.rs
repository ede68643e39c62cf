//! What asks the process to end, and how insistently.

use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(unix)]
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use crate::signals::Caught;

/// The signals that ask the process to end: SIGTERM, SIGINT, SIGHUP and SIGQUIT; where there are
/// no such signals, Ctrl-C.
///
/// The first of them is a request, which [`requested`](Self::requested) waits for. What follows it
/// shows a host that insists; [`ChildServer::told_by`](crate::ChildServer::told_by) heeds that.
///
/// On Linux SIGINT, SIGHUP and SIGQUIT stay ignored, for children too, where they were ignored
/// before (`nohup`, a shell's `&`).
///
/// # Examples
///
/// ```
/// use hoist_transport::Termination;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let termination = Termination::catch()?;
/// tokio::select! {
///     () = termination.requested() => println!("asked to end"),
///     () = async { /* serve */ } => println!("done"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Termination {
    requests: watch::Receiver<Requests>,
    #[cfg(unix)]
    host: HostInput,
}

/// What has been asked for so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Requests {
    pub(crate) signals: u32,
    /// Whether one of them came when the host had closed its end already.
    pub(crate) after_host: bool,
}

/// A duplicate of the host's end of our input, once there is one.
#[cfg(unix)]
type HostInput = Arc<OnceLock<OwnedFd>>;

impl Termination {
    /// Catches the signals from this call on, so that none is lost before somebody waits for it.
    /// From then on they no longer end the process by themselves, even once this is dropped.
    ///
    /// # Errors
    ///
    /// When the signals cannot be caught.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime that drives I/O. A task of that runtime counts the signals.
    pub fn catch() -> io::Result<Self> {
        let mut caught = Caught::catch()?;
        let (count, requests) = watch::channel(Requests::default());
        #[cfg(unix)]
        let host = HostInput::default();
        let termination = Self {
            requests,
            #[cfg(unix)]
            host: Arc::clone(&host),
        };
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = caught.next() => {}
                    () = count.closed() => return,
                }
                #[cfg(unix)]
                let left = host.get().is_some_and(crate::unix_fd::has_hung_up);
                #[cfg(not(unix))]
                let left = false;
                count.send_modify(|requests| {
                    requests.signals = requests.signals.saturating_add(1);
                    requests.after_host |= left;
                });
            }
        });
        Ok(termination)
    }

    /// Resolves once the process is asked to end; at once if it was before.
    ///
    /// # Cancel safety
    ///
    /// No request is lost: it is there for whoever waits next.
    pub fn requested(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut requests = self.requests.clone();
        async move {
            if requests.wait_for(|requests| requests.signals > 0).await.is_err() {
                // The runtime that counts is gone, so nothing can be requested any more.
                std::future::pending::<()>().await;
            }
        }
    }

    /// From now on looks at the host's end of this input when a signal comes. Only the first
    /// input is looked at.
    #[cfg(unix)]
    pub(crate) fn watch_host(&self, input: OwnedFd) {
        let _ = self.host.set(input);
    }

    /// What is asked for from now on, and what was before.
    pub(crate) fn follow(&self) -> Follow {
        let mut requests = self.requests.clone();
        requests.mark_changed();
        Follow(Some(requests))
    }
}

/// Learns of every request.
#[derive(Debug, Default)]
pub(crate) struct Follow(Option<watch::Receiver<Requests>>);

impl Follow {
    /// What has been asked for, once that is something new. Cancelling it loses nothing.
    pub(crate) async fn next(&mut self) -> Requests {
        if let Some(requests) = &mut self.0
            && requests.changed().await.is_ok()
        {
            return *requests.borrow_and_update();
        }
        std::future::pending().await
    }
}
