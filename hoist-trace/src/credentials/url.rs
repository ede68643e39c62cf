//! URLs inside texts.

use super::names::is_secret_parameter;
use super::{REDACTED, names};

/// `text` with every URL in it redacted; `user` is what takes the place of a user and password.
pub(super) fn redact(text: &str, user: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        redacted.push_str(before);
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>'))
            .unwrap_or(after.len());
        // A list of hosts or URLs (`a://x,b://y`) goes on with the next.
        let end = after.find("://").map_or(end, |next| {
            end.min(after[..next].rfind([',', ';', '=', '&', '|']).map_or(end, |comma| comma + 1))
        });
        redact_one(&after[..end], user, &mut redacted);
        rest = &after[end..];
    }
    redacted.push_str(rest);
    redacted
}

/// A URL behind its `://`.
fn redact_one(url: &str, user: &str, redacted: &mut String) {
    let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
    let mut at = url[..authority].rfind('@');
    if at.is_none() {
        // A slash that should have been escaped in a password: what stands before it is then no
        // host with a port.
        let behind_address = url[..authority].rfind(']').map_or(0, |at| at + 1);
        let port = url[behind_address..authority].split_once(':').map(|(_, port)| port);
        if port.is_some_and(|port| !port.bytes().all(|b| b.is_ascii_digit())) {
            at = url.rfind('@');
        }
    }
    let url = match at {
        Some(at) => {
            redacted.push_str(user);
            &url[at + 1..]
        }
        None => url,
    };
    let query = url.find(['?', '#']).unwrap_or(url.len());
    redacted.push_str(&url[..query]);
    for part in url[query..].split_inclusive(['?', '#', '&', ';']) {
        redact_parameter(part, redacted);
    }
}

/// `name=value`, with the separator behind it.
fn redact_parameter(part: &str, redacted: &mut String) {
    let Some((name, value)) = part.split_once('=') else {
        redacted.push_str(part);
        return;
    };
    redacted.push_str(name);
    redacted.push('=');
    let end = value.len() - usize::from(value.ends_with(['?', '#', '&', ';']));
    let secret = is_secret_parameter(&decoded(name)) && !names::is_plain_value("", &value[..end]);
    redacted.push_str(if secret { REDACTED } else { &value[..end] });
    redacted.push_str(&value[end..]);
}

/// A parameter's name without its percent signs, as far as they stand for ASCII.
fn decoded(name: &str) -> String {
    let mut decoded = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let escaped =
            rest.get(1..3).filter(|_| c == '%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let (shown, len) = match escaped.filter(u8::is_ascii) {
            Some(byte) => (char::from(byte), 3),
            None => (c, c.len_utf8()),
        };
        decoded.push(shown);
        rest = &rest[len..];
    }
    decoded
}
