//! Python packages, in a virtual environment.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::install::{install, once};

/// The interpreter of an environment that has what these requirements pin.
pub(crate) fn venv(kind: &str, pinned: &str) -> PathBuf {
    const NEEDS: &str = "Python 3.10 or newer with venv (Debian: python3-venv)";
    let folder = once(kind, pinned, |folder| {
        fs::write(folder.join("requirements.txt"), pinned).expect("the folder can be written");
        let venv = ["-m", "venv", "--clear", "venv"];
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let hashes = ["--require-hashes", "-r", "requirements.txt"];
        let by_hand = format!(
            "(cd {} && python3 {} && venv/bin/python -m pip install {})",
            folder.display(),
            venv.join(" "),
            hashes.join(" ")
        );
        let mut python = Command::new("python3");
        install(python.args(venv).current_dir(folder), NEEDS, &by_hand);
        let mut python = Command::new(folder.join("venv/bin/python"));
        install(python.args(pip).args(hashes).current_dir(folder), NEEDS, &by_hand);
    });
    folder.join("venv/bin/python")
}
