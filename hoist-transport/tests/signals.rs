//! In a process of its own: signals reach the whole process.
#![cfg(unix)]

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use hoist_transport::Termination;
use rustix::process::{Signal, getpid, kill_process};

#[tokio::test]
async fn each_signal_is_seen_by_all_even_if_it_came_before_the_first_poll() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let termination = Termination::catch().unwrap();
        let requested = termination.requested();
        kill_process(getpid(), signal).unwrap();
        requested.await;
        termination.clone().requested().await;
    }
    let termination = Termination::catch().unwrap();
    let mut requested = pin!(termination.requested());
    let idle = poll_fn(|cx| Poll::Ready(requested.as_mut().poll(cx).is_pending())).await;
    assert!(idle, "no signal is pending");
}
