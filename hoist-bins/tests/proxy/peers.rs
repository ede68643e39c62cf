//! Real MCP servers from npm, installed on first use.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{FlockOperation, flock};

/// The folder with the pinned npm packages in its `node_modules`.
///
/// Installed once below Cargo's target directory, under a lock, since several test programs may
/// want it at once. Without a network this fails and names the command that would install it.
pub(crate) fn npm() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(install)
}

fn install() -> PathBuf {
    const MANIFEST: &str = include_str!("../peers/npm/package.json");
    const LOCK: &str = include_str!("../peers/npm/package-lock.json");
    // Another set of packages gets another folder, so that an old one is never half of a new one.
    let name = format!("peers-npm-{:016x}", fnv1a(LOCK.as_bytes()));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("the target directory can be written");
    let lock = File::create(folder.join(".lock")).expect("the folder can be written");
    flock(&lock, FlockOperation::LockExclusive).expect("a lock on a file of our own");
    let done = folder.join(".installed");
    if done.exists() {
        return folder;
    }
    fs::write(folder.join("package.json"), MANIFEST).expect("the folder can be written");
    fs::write(folder.join("package-lock.json"), LOCK).expect("the folder can be written");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(&folder);
    let output = npm.stdin(Stdio::null()).output().unwrap_or_else(|error| {
        panic!("npm cannot be started ({error}); install Node 20 or newer with npm")
    });
    assert!(
        output.status.success(),
        "the servers that tests run against could not be installed; with a network, run\n  \
         (cd {} && npm ci --ignore-scripts)\n{}",
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    fs::write(done, "").expect("the folder can be written");
    folder
}

/// A short name for a text; nothing depends on its strength.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
