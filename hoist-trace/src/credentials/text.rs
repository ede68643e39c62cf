//! One argument.

use serde_json::Value;

use super::names::{is_plain_value, is_secret_name};
use super::{MAX_DEPTH, REDACTED, Words, shapes, shell, url};

/// An argument with the credentials inside it replaced. In a shell's text an assignment ends at
/// white space; elsewhere it takes all of the argument.
pub(super) fn redact(text: &str, depth: u8, in_shell: bool) -> String {
    if depth > MAX_DEPTH {
        return REDACTED.to_owned();
    }
    if let Some(json) = redact_json(text, depth) {
        return json;
    }
    let many_words = text.trim().contains(char::is_whitespace);
    if many_words && in_shell {
        return shell::redact(text, depth, true);
    }
    // Before assignments: a password may hold a word that would make it a credential's name.
    if let Some(redacted) = redact_bare_user(text) {
        return redacted;
    }
    if let Some(redacted) = redact_assignment(text, depth) {
        return redacted;
    }
    if let Some(rest) = text.strip_prefix("-u").filter(|rest| rest.contains(':')) {
        return format!("-u{}", redact_user(rest, depth));
    }
    if many_words {
        return shell::redact(text, depth, false);
    }
    redact_flat(text)
}

/// What can be found without words: URLs, lists of assignments, shapes.
pub(super) fn redact_flat(text: &str) -> String {
    let text = url::redact(text, &format!("{REDACTED}@"));
    shapes::redact(&redact_list(&text))
}

/// `user:password`, or anything else.
pub(super) fn redact_user(text: &str, depth: u8) -> String {
    match text.split_once(':') {
        // Docker's `-u 1000:1000`.
        Some((user, group)) if is_number(user) && is_number(group) => text.to_owned(),
        Some((user, password)) if !password.starts_with("//") => format!("{user}:{REDACTED}"),
        _ => redact(text, depth, false),
    }
}

/// How a credential in an `Authorization` header is introduced.
pub(super) fn is_auth_scheme(word: &str) -> bool {
    ["basic", "bearer", "digest", "token", "apikey", "negotiate"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// `NAME=value`, `--name=value`, `Name: value`; `None` for anything else.
fn redact_assignment(text: &str, depth: u8) -> Option<String> {
    if text.split_once(' ').is_some_and(|(scheme, _)| is_auth_scheme(scheme)) {
        let (scheme, _) = text.split_once(' ')?;
        return Some(format!("{scheme} {REDACTED}"));
    }
    let at = text.find(['=', ':'])?;
    let (name, value) = (&text[..at], &text[at + 1..]);
    let in_list = name.contains([',', ';']);
    let is_prose = name.contains(char::is_whitespace) && !is_secret_name(name);
    if in_list || is_prose || value.starts_with("//") {
        return None;
    }
    let sign = &text[at..=at];
    // Of `//registry/:_authToken` the end counts.
    let label = last_name(name);
    if is_secret_name(label) {
        let trimmed = value.trim_start();
        if is_plain_value(label, trimmed) {
            return Some(text.to_owned());
        }
        let space = &value[..value.len() - trimmed.len()];
        return Some(format!("{name}{sign}{space}{REDACTED}"));
    }
    // A list may have its credential further on; the whole of it is looked at.
    let clean = redact(value, depth + 1, false);
    (clean != value).then(|| redact_list(&format!("{name}{sign}{clean}")))
}

/// Lists such as `Server=db;Password=x` and `host:6380,password=x`.
fn redact_list(text: &str) -> String {
    if !text.contains([';', ',']) || text.contains(REDACTED) && !text.contains(['=', ':']) {
        return text.to_owned();
    }
    let mut redacted = String::with_capacity(text.len());
    let mut in_secret = false;
    for piece in text.split_inclusive([';', ',']) {
        let body = piece.trim_end_matches([';', ',']);
        let end = &piece[body.len()..];
        match body.find(['=', ':']) {
            Some(at) => {
                let (name, value) = (&body[..at], &body[at + 1..]);
                let label = last_name(name);
                in_secret = is_secret_name(label) && !is_plain_value(label, value.trim());
                if in_secret {
                    redacted.extend([name, &body[at..=at], REDACTED, end]);
                } else {
                    redacted.push_str(piece);
                }
            }
            // The rest of a value that has a separator in it.
            None if in_secret => {}
            None => redacted.push_str(piece),
        }
    }
    redacted
}

/// What a value stands under: the end of `//registry/:_authToken`, `{'apiKey'`, `{\"apiKey\"`.
fn last_name(text: &str) -> &str {
    let separators = ['{', '?', '&', '/', ':', '"', '\'', '\\'];
    text.rsplit(separators).find(|name| !name.trim().is_empty()).unwrap_or(text)
}

/// `user:password@tcp(host)/db` and `user:password@host:1234`, which have no scheme.
fn redact_bare_user(text: &str) -> Option<String> {
    let (user, rest) = text.split_once(':')?;
    let (_, host) = rest.rsplit_once('@')?;
    let named = user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let has_port = host.split_once(':').is_some_and(|(name, port)| {
        !name.contains('/') && name != "sha256" && port.starts_with(|c: char| c.is_ascii_digit())
    });
    let is_host = has_port || host.starts_with("tcp(") || host.starts_with("unix(");
    (named && !rest.starts_with("//") && is_host).then(|| format!("{user}:{REDACTED}@{host}"))
}

fn redact_json(text: &str, depth: u8) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[', '"']) {
        return None;
    }
    let before: Value = serde_json::from_str(text).ok()?;
    let mut after = before.clone();
    redact_value(&mut after, depth);
    // What has no credentials stays as it was written.
    Some(if after == before { text.to_owned() } else { after.to_string() })
}

fn redact_value(value: &mut Value, depth: u8) {
    match value {
        Value::String(text) => *text = redact(text, depth + 1, false),
        Value::Array(items) => {
            // A list of texts may be a command.
            let mut words = Words::new(depth + 1, false);
            for item in items {
                match item {
                    Value::String(text) => *text = words.redact(text),
                    other => redact_value(other, depth),
                }
            }
        }
        Value::Object(members) => {
            // `{"name":"TOKEN","value":"x"}`
            let named = ["name", "key"]
                .iter()
                .any(|name| members.get(*name).and_then(Value::as_str).is_some_and(is_secret_name));
            for (name, member) in members.iter_mut() {
                let secret = if name == "key" && named { false } else { is_secret_name(name) };
                if secret || (named && name == "value") {
                    redact_all(name, member);
                } else {
                    redact_value(member, depth);
                }
            }
        }
        _ => {}
    }
}

fn redact_all(name: &str, value: &mut Value) {
    match value {
        Value::String(text) if is_plain_value(name, text) => {}
        Value::String(_) | Value::Number(_) => *value = REDACTED.into(),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_all("", item)),
        Value::Object(members) => members.values_mut().for_each(|member| redact_all("", member)),
        _ => {}
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
