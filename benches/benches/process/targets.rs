//! What is measured.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command that answers as the server does, whatever stands in front of it.
#[derive(Debug)]
pub(crate) struct Target {
    name: &'static str,
    command: Vec<OsString>,
}

impl Target {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command
    }
}

/// The targets. The second is what the others are compared with.
pub(crate) fn targets(logs: &Path) -> io::Result<Vec<Target>> {
    let echo = PathBuf::from(env!("CARGO_BIN_EXE_bench-echo"));
    let folder = echo.parent().expect("Cargo puts programs in a folder");
    build(folder)?;
    let exe = |name: &str| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let target = |name, words: &[&OsString]| {
        let mut command: Vec<OsString> = words.iter().map(|word| (*word).clone()).collect();
        command.push(echo.clone().into());
        Target { name, command }
    };
    let (hoist_mcp, acting) = (exe("hoist-mcp").into(), exe("examples/hoist-mcp-acting").into());
    let [dashes, record] = ["--", "--record"].map(OsString::from);
    let pipe = ["sh", "-c", "cat | \"$0\" | cat"].map(OsString::from);
    Ok(vec![
        target("server alone", &[]),
        target("pipe: `cat \\| server \\| cat`", &[&pipe[0], &pipe[1], &pipe[2]]),
        target("hoist-mcp", &[&hoist_mcp, &dashes]),
        target("hoist-mcp --record", &[&hoist_mcp, &record, &logs.into(), &dashes]),
        target("a layer that acts on every call", &[&acting, &dashes]),
    ])
}

/// Builds what is measured as users get it, and not as the benches' own dependencies would have it.
fn build(folder: &Path) -> io::Result<()> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "-q", "-p", "hoist-bins", "--bin", "hoist-mcp", "--example"]);
    cargo.arg("hoist-mcp-acting");
    cargo.args(if cfg!(debug_assertions) { &[][..] } else { &["--release"] });
    cargo.arg("--target-dir").arg(folder.parent().expect("it lies in the target directory"));
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{cargo:?} failed"))) }
}
