//! The commands that read sessions, the built program on real files.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod bad_input;
mod diff;
mod export;
mod files;
mod follow;
#[path = "../proxy/peers/install.rs"]
mod install;
mod redact;
mod runs;
mod show;
mod validate;
#[path = "../proxy/peers/venv.rs"]
mod venv;
