//! In a process of its own: signals reach the whole process.
#![cfg(unix)]

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use hoist_transport::termination;
use rustix::process::{Signal, getpid, kill_process};

#[tokio::test]
async fn each_signal_is_seen_even_if_it_came_before_the_first_poll() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut shutdown = pin!(termination().unwrap());
        kill_process(getpid(), signal).unwrap();
        shutdown.as_mut().await;
    }
    let mut shutdown = pin!(termination().unwrap());
    let idle = poll_fn(|cx| Poll::Ready(shutdown.as_mut().poll(cx).is_pending())).await;
    assert!(idle, "no signal is pending");
}
