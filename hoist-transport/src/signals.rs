//! The signals that ask the process to end, and one that must not end it.

use std::io;

/// Resolves once the process is asked to end: by SIGTERM, SIGINT or SIGHUP; where there are no
/// such signals, by Ctrl-C.
///
/// The signals are caught from this call on, so that none is lost between it and the first time
/// the future is polled. From then on they no longer end the process by themselves, even once the
/// future is dropped.
///
/// # Errors
///
/// When the signals cannot be caught.
///
/// # Panics
///
/// Outside a tokio runtime that drives I/O.
///
/// # Cancel safety
///
/// A signal that came while the future was not polled is still seen by it.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let shutdown = hoist_transport::termination()?;
/// tokio::select! {
///     () = shutdown => println!("asked to end"),
///     () = async { /* serve */ } => println!("done"),
/// }
/// # Ok(())
/// # }
/// ```
#[cfg(unix)]
pub fn termination() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// Resolves once the process is asked to end, by Ctrl-C.
///
/// # Errors
///
/// When Ctrl-C cannot be caught.
#[cfg(not(unix))]
pub fn termination() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut ctrl_c = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        let _ = ctrl_c.recv().await;
    })
}

/// From now on, a write past the limit on the size of files (`ulimit -f`) fails, as one to a full
/// disk does, in place of ending the process by SIGXFSZ. Processes started later are not affected.
///
/// # Errors
///
/// When the signal cannot be caught.
///
/// # Panics
///
/// Outside a tokio runtime that drives I/O.
#[cfg(unix)]
pub fn outlive_file_limit() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // A signal that is caught is as good as ignored, and unlike an ignored one it is not handed
    // on to the child. It stays caught when the stream of its arrivals is dropped.
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    signal(kind).map(drop)
}

/// There is no such limit here.
///
/// # Errors
///
/// Never.
#[cfg(not(unix))]
pub fn outlive_file_limit() -> io::Result<()> {
    Ok(())
}
