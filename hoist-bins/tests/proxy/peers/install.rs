//! Installing what the tests run against, once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};

/// A folder below Cargo's target directory that was filled once with what `pinned` says.
///
/// Filled under a lock, since several test programs may want it at once. Another set of packages
/// gets another folder, so that an old one is never half of a new one.
pub(crate) fn once(kind: &str, pinned: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let name = format!("peers-{kind}-{:016x}", fnv1a(pinned.as_bytes()));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("the target directory can be written");
    let _lock = locked(&folder);
    let done = folder.join(".installed");
    if !done.exists() {
        fill(&folder);
        fs::write(done, "").expect("the folder can be written");
    }
    folder
}

/// Holds a folder for as long as the file is open.
pub(crate) fn locked(folder: &Path) -> File {
    let lock = File::create(folder.join(".lock")).expect("the folder can be written");
    flock(&lock, FlockOperation::LockExclusive).expect("a lock on a file of our own");
    lock
}

/// Runs a step of an installation; says how to repeat it by hand if it fails.
#[track_caller]
pub(crate) fn install(command: &mut Command, needs: &str, by_hand: &str) {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| {
        panic!("{} cannot be started ({error}); install {needs}", command.get_program().display())
    });
    assert!(
        output.status.success(),
        "what the tests run against could not be installed; it needs {needs}, and a network the \
         first time. Run\n  {by_hand}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A short name for a text; nothing depends on its strength.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
