//! The key of a dataset, and what is drawn from it.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What tokens are made under. Whoever has it can check a guess at what a token stands for.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// A key that is too short to keep anything secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key has {found} bytes; it needs {} or more, drawn at random", Key::MIN_BYTES)]
#[non_exhaustive]
pub struct KeyTooShort {
    /// How many bytes there were.
    pub found: usize,
}

impl Key {
    /// The shortest key that is taken, in bytes.
    pub const MIN_BYTES: usize = 32;

    /// A key from its bytes, which should be random.
    ///
    /// # Errors
    ///
    /// When there are fewer than [`MIN_BYTES`](Self::MIN_BYTES).
    ///
    /// # Panics
    ///
    /// Never: HMAC takes keys of any length.
    pub fn new(bytes: &[u8]) -> Result<Self, KeyTooShort> {
        if bytes.len() < Self::MIN_BYTES {
            return Err(KeyTooShort { found: bytes.len() });
        }
        let mac = Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length");
        Ok(Self(mac))
    }

    /// HMAC-SHA-256 of these parts. Each but the last goes in with its length before it, so that no
    /// two lists of parts are one text.
    pub(super) fn draw(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        if let Some((last, parts)) = parts.split_last() {
            for part in parts {
                mac.update(&(part.len() as u64).to_le_bytes());
                mac.update(part);
            }
            mac.update(last);
        }
        mac.finalize().into_bytes().into()
    }
}

/// Never shows the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_key_is_refused_and_no_key_is_shown() {
        assert_eq!(Key::new(&[7; 31]).unwrap_err(), KeyTooShort { found: 31 });
        let key = Key::new(&[7; 32]).unwrap();
        assert_eq!(format!("{key:?}"), "Key(..)");
    }

    #[test]
    fn parts_are_kept_apart_and_the_key_counts() {
        let key = Key::new(&[7; 32]).unwrap();
        assert_eq!(key.draw(&[b"ab", b"c"]), key.draw(&[b"ab", b"c"]));
        assert_ne!(key.draw(&[b"ab", b"c"]), key.draw(&[b"a", b"bc"]));
        assert_ne!(key.draw(&[b"ab"]), Key::new(&[8; 32]).unwrap().draw(&[b"ab"]));
    }
}
