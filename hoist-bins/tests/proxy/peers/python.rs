//! The Python SDK.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::venv::venv;

/// The interpreter that has the pinned packages.
pub(crate) fn python() -> &'static Path {
    const PINNED: &str = include_str!("../../peers/python/requirements.txt");
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| venv("python", PINNED))
}

/// A script of the Python peer.
pub(crate) fn python_script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/python").join(name)
}
