//! A JSON text as one line.

use bytes::Bytes;

/// The same JSON without line ends, which in JSON can only be white space. Every other byte stays.
pub(super) fn one_line(text: Bytes) -> Bytes {
    let trimmed = text.trim_ascii();
    let text = if trimmed.len() == text.len() { text } else { text.slice_ref(trimmed) };
    if memchr::memchr2(b'\n', b'\r', &text).is_none() {
        return text;
    }
    let mut bytes = Vec::from(text);
    for byte in &mut bytes {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_spaces() {
        for (text, expected) in [
            ("{\"a\":1}", "{\"a\":1}"),
            (" \n{\r\n \"a\": [\n1\r]\n}\n\n", "{   \"a\": [ 1 ] }"),
            ("\"\\n\u{2028}\u{85}\"", "\"\\n\u{2028}\u{85}\""),
            ("\n", ""),
        ] {
            assert_eq!(one_line(Bytes::from(text)), expected);
        }
    }
}
