//! The proxy with a layer that acts on every request and passes it on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::host::hoist_mcp;

/// The program, which Cargo builds with all tests, but not when it is asked for one of them: then
/// it is built here.
pub(crate) fn acting() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = hoist_mcp().parent().expect("Cargo puts programs in a folder");
        let program = folder.join("examples/hoist-mcp-acting");
        if !is_fresh(&program) {
            build(folder);
        }
        program
    })
}

/// Whether it is younger than every file it was made from, which Cargo lists beside it.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path)?.modified();
    let Ok(built) = changed(program) else { return false };
    let Ok(list) = fs::read_to_string(program.with_extension("d")) else { return false };
    let sources = list.split_once(": ").map_or("", |(_, sources)| sources);
    let is_old = |source: &str| {
        let source = source.trim_end().replace('\0', " ");
        changed(source.as_ref()).is_ok_and(|changed| changed <= built)
    };
    !sources.is_empty() && sources.replace("\\ ", "\0").split(' ').all(is_old)
}

fn build(folder: &Path) {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "-p", "hoist-bins", "--example", "hoist-mcp-acting"]);
    cargo.arg("--target-dir").arg(folder.parent().expect("it lies in the target directory"));
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("Cargo runs these tests, so it is there");
    assert!(status.success(), "{cargo:?} ended with {status}");
}
