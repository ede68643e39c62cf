//! `hoist show` and `hoist validate`, the built program on real files.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod bad_input;
mod files;
mod follow;
mod show;
mod validate;
