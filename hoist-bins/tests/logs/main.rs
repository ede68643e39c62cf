//! `hoist show`, `hoist validate` and `hoist redact`, the built program on real files.

#![cfg(unix)]
#![forbid(unsafe_code)]

mod bad_input;
mod files;
mod follow;
mod redact;
mod runs;
mod show;
mod validate;
