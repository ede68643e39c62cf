//! A program on the Rust SDK `rmcp`, built from a crate that is no part of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::install::install;

/// The program, which is a client or a server.
pub(crate) fn rmcp() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/rmcp");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peers-rmcp");
        // Cargo itself sees to it that nothing is built twice, nor by two at once.
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--locked"]).current_dir(&crate_folder);
        cargo.arg("--target-dir").arg(&target);
        let by_hand = format!(
            "(cd {} && cargo build --locked --target-dir {})",
            crate_folder.display(),
            target.display()
        );
        install(&mut cargo, "Cargo", &by_hand);
        target.join("debug/hoist-test-peer-rmcp")
    })
}
