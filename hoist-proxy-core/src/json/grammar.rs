//! The parts of a JSON text that hold no others, by the letter of RFC 8259.
//!
//! Each function is told where a part starts and says where it ends: behind its last byte, or
//! `None` where the text breaks the rules. They accept what `serde_json` accepts as raw text: a
//! number of any size, a lone surrogate. Whether a string is UTF-8 is the caller's to check.

/// Where a string ends, and whether it has escapes. Its opening quote stands at `at`.
pub(super) fn string(text: &[u8], at: usize) -> Option<(usize, bool)> {
    let mut at = at + 1;
    let mut escaped = false;
    loop {
        at = plain_text(text, at);
        match text.get(at)? {
            b'"' => return Some((at + 1, escaped)),
            b'\\' => {
                escaped = true;
                at = escape(text, at + 1)?;
            }
            _control => return None,
        }
    }
}

/// The first place at or behind `at` with a quote, a backslash or a control character.
///
/// Most bytes of a message pass here, so eight are looked at in one step: a byte of `found` has its
/// highest bit set where the text's is one of these. (Behind the first one others may seem to be.)
fn plain_text(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = ONES << 7;
    let below = |bytes: u64, limit: u64| bytes.wrapping_sub(ONES * limit) & !bytes & HIGHEST;
    while let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let eight = u64::from_le_bytes(*eight);
        let found = below(eight, 0x20)
            | below(eight ^ (ONES * u64::from(b'"')), 1)
            | below(eight ^ (ONES * u64::from(b'\\')), 1);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while text.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | ..0x20)) {
        at += 1;
    }
    at
}

/// Where an escape ends whose backslash stands before `at`.
fn escape(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = text.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

/// Where a number ends; its first byte is a digit or a minus.
pub(super) fn number(text: &[u8], mut at: usize) -> Option<usize> {
    if text.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match text.get(at)? {
        b'0' => at + 1,
        _ => digits(text, at)?,
    };
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = text.get(at) {
            at += 1;
        }
        at = digits(text, at)?;
    }
    Some(at)
}

/// Where the digits end that start at `at`; there must be one at least.
fn digits(text: &[u8], at: usize) -> Option<usize> {
    let count = text.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(at + count)
}

/// Where `true`, `false` or `null` ends.
pub(super) fn word(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let word = [&b"true"[..], b"false", b"null"].into_iter().find(|word| rest.starts_with(word))?;
    Some(at + word.len())
}
