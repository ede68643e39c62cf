//! The signals that ask the process to end, and one that must not end it.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask the process to end, caught.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Caught(Vec<Signal>);

#[cfg(unix)]
impl Caught {
    pub(crate) fn catch() -> io::Result<Self> {
        let may_be_ignored = [SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()];
        // Whoever had them ignored wants that for everything it starts: `nohup`, a shell's `&`.
        // Caught signals are set back to their defaults in the child, ignored ones stay ignored.
        let ignored = ignored();
        let heeded = may_be_ignored.into_iter().filter(|kind| !is_in(*kind, ignored));
        let kinds = std::iter::once(SignalKind::terminate()).chain(heeded);
        Ok(Self(kinds.map(signal).collect::<io::Result<_>>()?))
    }

    /// Resolves once for every signal; several of one kind may count as one. Cancelling it loses
    /// none.
    pub(crate) async fn next(&mut self) {
        std::future::poll_fn(|cx| {
            if self.0.iter_mut().any(|signal| signal.poll_recv(cx).is_ready()) {
                return std::task::Poll::Ready(());
            }
            std::task::Poll::Pending
        })
        .await;
    }
}

/// The signals that are ignored, a bit for each.
#[cfg(target_os = "linux")]
fn ignored() -> u64 {
    // Without /proc they are caught, as on other systems.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_in(&status)
}

/// Elsewhere only calls that are not to be had without unsafe code would tell.
#[cfg(all(unix, not(target_os = "linux")))]
fn ignored() -> u64 {
    0
}

#[cfg(target_os = "linux")]
fn ignored_in(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(unix)]
fn is_in(kind: SignalKind, mask: u64) -> bool {
    // Signals count from 1, bits from 0.
    let bit = u32::try_from(kind.as_raw_value() - 1).ok();
    bit.and_then(|bit| mask.checked_shr(bit)).is_some_and(|mask| mask & 1 == 1)
}

/// Ctrl-C, caught.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct Caught(tokio::signal::windows::CtrlC);

#[cfg(not(unix))]
impl Caught {
    pub(crate) fn catch() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    pub(crate) async fn next(&mut self) {
        let _ = self.0.recv().await;
    }
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

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        let mask = ignored_in("Name:\tsh\nSigBlk:\t0000000000000007\nSigIgn:\t0000000000000003\n");
        assert!(is_in(SignalKind::hangup(), mask) && is_in(SignalKind::interrupt(), mask));
        assert!(!is_in(SignalKind::quit(), mask) && !is_in(SignalKind::terminate(), mask));
        assert_eq!(ignored_in(""), 0);
        assert_eq!(ignored_in("SigIgn:\twhat\n"), 0);
    }

    #[test]
    fn this_process_ignores_what_rust_has_it_ignore() {
        assert!(is_in(SignalKind::pipe(), ignored()));
    }
}
