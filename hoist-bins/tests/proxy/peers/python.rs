//! The Python SDK, in a virtual environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{install, once};

/// The interpreter that has the pinned packages.
pub(crate) fn python() -> &'static Path {
    const PINNED: &str = include_str!("../../peers/python/requirements.txt");
    const NEEDS: &str = "Python 3.10 or newer with venv (Debian: python3-venv)";
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let folder = once("python", PINNED, |folder| {
            fs::write(folder.join("requirements.txt"), PINNED).expect("the folder can be written");
            let venv = ["-m", "venv", "--clear", "venv"];
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            let pinned = ["--require-hashes", "-r", "requirements.txt"];
            let by_hand = format!(
                "(cd {} && python3 {} && venv/bin/python -m pip install {})",
                folder.display(),
                venv.join(" "),
                pinned.join(" ")
            );
            let mut python = Command::new("python3");
            install(python.args(venv).current_dir(folder), NEEDS, &by_hand);
            let mut python = Command::new(folder.join("venv/bin/python"));
            install(python.args(pip).args(pinned).current_dir(folder), NEEDS, &by_hand);
        });
        folder.join("venv/bin/python")
    })
}

/// A script of the Python peer.
pub(crate) fn python_script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/python").join(name)
}
