//! `hoist`: every program of Hoist under one roof.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    hoist_bins::program::hoist(std::env::args_os().skip(1).collect())
}
