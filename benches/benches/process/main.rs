//! The built programs against a plain pipe, in the same run.
//!
//! ```sh
//! cargo bench -p hoist-benches --bench process
//! cargo bench -p hoist-benches --bench process -- --rounds 9
//! ```
//!
//! The server behind each is `bench-echo`, which does next to nothing. Targets take turns, round by
//! round, so that what else the machine does falls on all of them; each figure is compared with
//! that of the pipe in the same round. Without `--bench`, under `cargo test --benches`, one small
//! round shows that all of it runs.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program's output")]

mod affinity;
mod driver;
mod table;
mod targets;

use std::process::ExitCode;

use crate::driver::Load;
use crate::targets::{Target, targets};

fn main() -> ExitCode {
    let mut args = pico_args::Arguments::from_env();
    let measures = args.contains("--bench");
    let rounds = args.opt_value_from_str("--rounds");
    let unknown = args.finish();
    let rounds = match rounds {
        Ok(rounds) if unknown.is_empty() => rounds.unwrap_or(5).max(1),
        Ok(_) => return usage(&format!("{unknown:?} is nothing this bench takes")),
        Err(error) => return usage(&error.to_string()),
    };
    let result = if measures { measure(rounds, &Load::FULL) } else { measure(1, &Load::SMALL) };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("process: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(what: &str) -> ExitCode {
    eprintln!("{what}\n\nUsage: cargo bench -p hoist-benches --bench process [-- --rounds N]");
    ExitCode::from(2)
}

fn measure(rounds: usize, load: &Load) -> Result<(), Box<dyn std::error::Error>> {
    let logs = tempfile::tempdir()?;
    let targets = targets(logs.path())?;
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        let load = load.split(' ').next().unwrap_or_default();
        eprintln!("load of the machine before the start: {load} (a quiet one has less than 0.2)");
    }
    let mut figures = vec![Vec::new(); targets.len()];
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        for (target, figures) in targets.iter().zip(&mut figures) {
            figures.push(load.run(target)?);
        }
    }
    let names: Vec<&str> = targets.iter().map(Target::name).collect();
    println!("{}", table::render(&names, &figures));
    Ok(())
}
