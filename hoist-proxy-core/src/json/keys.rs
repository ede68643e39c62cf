//! Finding keys that two parsers may read in two ways.

use std::borrow::Cow;
use std::collections::HashSet;

use smallvec::SmallVec;

use super::tokens::decode;
use crate::Ambiguity;

/// Which keys of an object are MCP's own, so that another letter case is suspicious.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys(pub(super) &'static [&'static str]);

impl Keys {
    /// Checks that a key does not differ from one of these only in letter case.
    pub(super) fn check_case(self, key: &[u8]) -> Result<(), Ambiguity> {
        let known = || self.0.iter().map(|known| known.as_bytes());
        // Almost every key is spelt as it should be, and comparing bytes is cheaper.
        if !known().any(|known| known == key) && known().any(|k| k.eq_ignore_ascii_case(key)) {
            return Err(Ambiguity::LetterCase(text(key)));
        }
        Ok(())
    }
}

/// The keys that were read of the objects that are open, to find one that stands twice.
///
/// Most objects have few, which are looked through and take no allocation. Those past [`FEW`] are
/// in a set, so that an object of many members takes no quadratic time.
#[derive(Default)]
pub(super) struct OpenKeys<'a> {
    objects: SmallVec<[Object; 8]>,
    /// The first keys of each open object, the innermost object's last.
    few: SmallVec<[Cow<'a, [u8]>; 24]>,
    /// The others, by the object they are in.
    many: Option<HashSet<(usize, Cow<'a, [u8]>)>>,
    opened: usize,
}

struct Object {
    number: usize,
    /// Where its keys start in `few`.
    start: usize,
}

/// How many keys of one object are looked through.
const FEW: usize = 16;

impl<'a> OpenKeys<'a> {
    pub(super) fn open_object(&mut self) {
        self.opened += 1;
        self.objects.push(Object { number: self.opened, start: self.few.len() });
    }

    pub(super) fn close_object(&mut self) {
        if let Some(closed) = self.objects.pop() {
            self.few.truncate(closed.start);
        }
    }

    /// Adds a key, decoded, to the innermost object.
    pub(super) fn insert(&mut self, key: Cow<'a, [u8]>) -> Result<(), Ambiguity> {
        let Some(object) = self.objects.last() else { return Ok(()) };
        let few = &self.few[object.start..];
        if few.contains(&key) {
            return Err(Ambiguity::RepeatedKey(text(&key)));
        }
        if few.len() < FEW {
            self.few.push(key);
            return Ok(());
        }
        match self.many.get_or_insert_default().replace((object.number, key)) {
            Some((_, key)) => Err(Ambiguity::RepeatedKey(text(&key))),
            None => Ok(()),
        }
    }
}

fn text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// A key with its quotes, decoded. Most have no escapes and are their own bytes.
pub(super) fn decoded(raw: &[u8], escaped: bool) -> Result<Cow<'_, [u8]>, Ambiguity> {
    if escaped {
        let decoded = decode(raw).ok_or(Ambiguity::NotText)?;
        return Ok(Cow::Owned(decoded.into_owned().into_bytes()));
    }
    Ok(Cow::Borrowed(raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()))
}
