//! The key that tokens are made under.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use hoist_trace::redact::Key;

use super::Error;
use crate::{private, text};

/// A key, and what the user should know of it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) key: Key,
    /// Whether it is in a file.
    pub(super) kept: bool,
    pub(super) notices: Vec<String>,
}

/// A key for this run alone.
pub(super) fn fresh() -> Result<Found, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::NoRandom)?;
    let key = Key::new(&bytes).map_err(|why| Error::Key { path: "".into(), why })?;
    Ok(Found { key, kept: false, notices: Vec::new() })
}

/// The key in a file, which is made if it is missing.
pub(super) fn from_file(path: &Path) -> Result<Found, Error> {
    let mut notices = Vec::new();
    let bytes = match fs::read(path) {
        Ok(bytes) => {
            if is_open_to_others(path) {
                let file = text::file(path);
                notices.push(format!("others can read the key {file}; give it the mode 0600"));
            }
            bytes
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let bytes = made(path)?;
            let file = text::file(path);
            notices.push(format!("made a new key in {file}; do not pass it on with the copies"));
            bytes
        }
        Err(source) => return Err(Error::io("read the key", path)(source)),
    };
    let key = Key::new(&bytes).map_err(|why| Error::Key { path: path.to_owned(), why })?;
    Ok(Found { key, kept: true, notices })
}

fn made(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::NoRandom)?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut text: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    text.push('\n');
    let mut file = private::new_file(path).map_err(Error::io("make the key", path))?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(source) = written {
        // Half a key would be taken for one.
        let _ = fs::remove_file(path);
        return Err(Error::io("write the key", path)(source));
    }
    Ok(text.into_bytes())
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_path: &Path) -> bool {
    false
}
