//! One pass over a message, which every message of a session with an acting layer takes.

use std::ops::Range;

use super::grammar::{number, string, word};
use super::keys::{Keys, OpenKeys, decoded};
use super::tokens::skip_space;
use crate::Ambiguity;
use crate::line::without_bom;

/// What one pass over a message finds: whether it is one JSON value, where the members of its
/// envelope stand, and which of its keys two parsers may read in two ways.
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    pub(crate) id: Option<Range<usize>>,
    pub(crate) method: Option<Range<usize>>,
    pub(crate) params: Option<Range<usize>>,
    pub(crate) result: Option<Range<usize>>,
    pub(crate) error: Option<Range<usize>>,
    /// Few messages have any.
    pub(crate) faults: Option<Box<KeyFaults>>,
}

/// The first key of each part that can be read in two ways.
#[derive(Debug, Default, Clone)]
pub(crate) struct KeyFaults {
    /// Of the envelope: none of those whose place is kept, since such a message is none.
    pub(crate) envelope: Option<Ambiguity>,
    /// Of `params`, its own keys.
    pub(crate) params: Option<Ambiguity>,
    /// Of anything in `params.arguments`.
    pub(crate) arguments: Option<Ambiguity>,
    /// Of `result`, its own keys.
    pub(crate) result: Option<Ambiguity>,
}

/// The keys of a message's envelope.
const ENVELOPE_KEYS: Keys = Keys(&["jsonrpc", "id", "method", "params", "result", "error"]);

/// The keys of the params of MCP's requests and notifications, all revisions; frequent ones first.
const PARAM_KEYS: Keys = Keys(&[
    "name",
    "arguments",
    "_meta",
    "argument",
    "capabilities",
    "clientInfo",
    "content",
    "context",
    "cursor",
    "includeContext",
    "inputResponses",
    "level",
    "maxTokens",
    "message",
    "messages",
    "metadata",
    "model",
    "modelPreferences",
    "notifications",
    "progress",
    "progressToken",
    "protocolVersion",
    "reason",
    "ref",
    "requestId",
    "requestState",
    "requestedSchema",
    "roots",
    "stopSequences",
    "systemPrompt",
    "task",
    "taskId",
    "temperature",
    "total",
    "uri",
]);

/// The keys of results that layers read; frequent ones first.
const RESULT_KEYS: Keys = Keys(&[
    "content",
    "isError",
    "structuredContent",
    "_meta",
    "inputRequests",
    "instructions",
    "nextCursor",
    "requestState",
    "resultType",
    "task",
    "tools",
]);

impl Envelope {
    /// Reads a message: an object with white space around it, and perhaps a byte order mark before
    /// it. What it finds stands where it stands in `message`.
    ///
    /// # Errors
    ///
    /// [`Ambiguity`] when it is no JSON, no object, or has one of the members that are looked for
    /// twice.
    pub(crate) fn read(message: &[u8]) -> Result<Self, Ambiguity> {
        let start = skip_space(message, message.len() - without_bom(message).len());
        let is_object = message.get(start) == Some(&b'{');
        let mut pass = Pass {
            text: message,
            at: start,
            open: Brackets::default(),
            watched: usize::from(is_object),
            keys: OpenKeys::default(),
            envelope: Self::default(),
            member: Member::Other,
            value_at: start,
            repeated: None,
        };
        let valid = pass.value().is_some()
            && skip_space(message, pass.at) == message.len()
            && (message.is_ascii() || str::from_utf8(message).is_ok());
        if !valid {
            return Err(Ambiguity::NotJson);
        }
        if !is_object {
            return Err(Ambiguity::Envelope("outermost value"));
        }
        match pass.repeated {
            Some(key) => Err(Ambiguity::RepeatedKey(key.into())),
            None => Ok(pass.envelope),
        }
    }
}

/// A member of the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

struct Pass<'a> {
    text: &'a [u8],
    at: usize,
    open: Brackets,
    /// Keys of objects that lie this deep, or less deep, are looked at.
    watched: usize,
    keys: OpenKeys<'a>,
    envelope: Envelope,
    /// The member of the envelope at hand, and where its value starts.
    member: Member,
    value_at: usize,
    /// The first member of the envelope that stands twice.
    repeated: Option<&'static str>,
}

impl Pass<'_> {
    /// Reads the value at hand and all that is in it, without recursion; `None` where it breaks
    /// the rules.
    fn value(&mut self) -> Option<()> {
        loop {
            match self.next_byte()? {
                b'{' => {
                    self.enter(true);
                    if self.next_byte()? != b'}' {
                        self.key()?;
                        continue;
                    }
                    self.leave();
                }
                b'[' => {
                    self.enter(false);
                    if self.next_byte()? != b']' {
                        continue;
                    }
                    self.leave();
                }
                b'"' => self.at = string(self.text, self.at)?.0,
                b'-' | b'0'..=b'9' => self.at = number(self.text, self.at)?,
                _ => self.at = word(self.text, self.at)?,
            }
            if !self.goes_on_after_value()? {
                return Some(());
            }
        }
    }

    /// A value has ended: closes what ends with it. Whether another one follows.
    fn goes_on_after_value(&mut self) -> Option<bool> {
        while self.open.depth > 0 {
            if self.open.depth == 1 {
                self.member_ends();
            }
            match (self.next_byte()?, self.open.innermost_is_object()) {
                (b',', true) => {
                    self.at += 1;
                    self.key()?;
                    return Some(true);
                }
                (b',', false) => {
                    self.at += 1;
                    return Some(true);
                }
                (b'}', true) | (b']', false) => self.leave(),
                _ => return None,
            }
        }
        Some(false)
    }

    fn enter(&mut self, object: bool) {
        self.open.push(object);
        if object && self.open.depth <= self.watched {
            self.keys.open_object();
        }
        self.at += 1;
    }

    fn leave(&mut self) {
        if self.open.innermost_is_object() && self.open.depth <= self.watched {
            self.keys.close_object();
        }
        self.open.pop();
        self.at += 1;
    }

    /// Goes to the next byte that is no white space.
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Option<()> {
        if self.next_byte()? != b'"' {
            return None;
        }
        let start = self.at;
        let (end, escaped) = string(self.text, start)?;
        self.at = end;
        if self.next_byte()? != b':' {
            return None;
        }
        self.at += 1;
        if self.open.depth <= self.watched {
            self.look_at_key(start..end, escaped);
        }
        Some(())
    }

    fn look_at_key(&mut self, place: Range<usize>, escaped: bool) {
        let depth = self.open.depth;
        // Whether something is watched further in depends on the key.
        if depth <= 2 {
            self.watched = depth;
        }
        if depth == 1 {
            self.member = Member::Other;
            self.value_at = skip_space(self.text, self.at);
        }
        let key = match decoded(&self.text[place], escaped) {
            Ok(key) => key,
            Err(fault) => return self.fault(fault),
        };
        let known = match (depth, self.member) {
            (1, _) => {
                self.member = match &*key {
                    b"id" => Member::Id,
                    b"method" => Member::Method,
                    b"params" => Member::Params,
                    b"result" => Member::Result,
                    b"error" => Member::Error,
                    _ => Member::Other,
                };
                if matches!(self.member, Member::Params | Member::Result) {
                    self.watched = 2;
                }
                if self.member != Member::Other {
                    // It is spelt as it should be; its second place is found with its value.
                    return;
                }
                ENVELOPE_KEYS
            }
            (2, Member::Params) => {
                if &*key == b"arguments" {
                    self.watched = usize::MAX;
                }
                PARAM_KEYS
            }
            (2, _) => RESULT_KEYS,
            _ => Keys(&[]),
        };
        let checked = known.check_case(&key).and_then(|()| self.keys.insert(key));
        if let Err(fault) = checked {
            self.fault(fault);
        }
    }

    /// A key can be read in two ways.
    fn fault(&mut self, fault: Ambiguity) {
        let faults = self.envelope.faults.get_or_insert_default();
        let part = match (self.open.depth, self.member) {
            (1, _) => &mut faults.envelope,
            (2, Member::Params) => &mut faults.params,
            (2, _) => &mut faults.result,
            _ => &mut faults.arguments,
        };
        part.get_or_insert(fault);
    }

    /// The value of a member of the envelope has ended, if it is the envelope that is read.
    fn member_ends(&mut self) {
        let (place, key) = match self.member {
            Member::Id => (&mut self.envelope.id, "id"),
            Member::Method => (&mut self.envelope.method, "method"),
            Member::Params => (&mut self.envelope.params, "params"),
            Member::Result => (&mut self.envelope.result, "result"),
            Member::Error => (&mut self.envelope.error, "error"),
            Member::Other => return,
        };
        if place.replace(self.value_at..self.at).is_some() {
            self.repeated.get_or_insert(key);
        }
    }
}

/// The brackets that are open, one bit each: an object's is 1. Those of up to 64 levels take no
/// allocation.
#[derive(Debug, Default)]
struct Brackets {
    depth: usize,
    innermost: u64,
    outer: Vec<u64>,
}

impl Brackets {
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.innermost);
        }
        self.innermost = self.innermost << 1 | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.innermost >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.innermost = self.outer.pop().unwrap_or_default();
        }
    }

    fn innermost_is_object(&self) -> bool {
        self.innermost & 1 == 1
    }
}

#[cfg(test)]
#[path = "envelope_tests.rs"]
mod tests;
