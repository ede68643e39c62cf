//! Packages from npm: real servers, and the clients of the TypeScript SDKs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::install::{fnv1a, install, locked, once};

/// The folder with the pinned npm packages in its `node_modules`.
pub(crate) fn npm() -> &'static Path {
    const MANIFEST: &str = include_str!("../../peers/npm/package.json");
    const LOCK: &str = include_str!("../../peers/npm/package-lock.json");
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        once("npm", LOCK, |folder| {
            fs::write(folder.join("package.json"), MANIFEST).expect("the folder can be written");
            fs::write(folder.join("package-lock.json"), LOCK).expect("the folder can be written");
            let mut npm = Command::new("npm");
            npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(folder);
            let by_hand = format!("(cd {} && npm ci --ignore-scripts)", folder.display());
            install(&mut npm, "Node 20 or newer with npm", &by_hand);
        })
    })
}

/// The script with the clients, beside the packages, where alone Node looks for them.
pub(crate) fn npm_client() -> &'static Path {
    const CLIENT: &str = include_str!("../../peers/npm/client.mjs");
    static PLACED: OnceLock<PathBuf> = OnceLock::new();
    PLACED.get_or_init(|| {
        let folder = npm();
        let script = folder.join(format!("client-{:016x}.mjs", fnv1a(CLIENT.as_bytes())));
        let _lock = locked(folder);
        if !script.exists() {
            let unfinished = script.with_extension("new");
            fs::write(&unfinished, CLIENT).expect("the folder can be written");
            fs::rename(unfinished, &script).expect("the folder can be written");
        }
        script
    })
}
