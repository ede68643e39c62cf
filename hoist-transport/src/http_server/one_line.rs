//! A JSON text as a line.

use bytes::{Buf as _, Bytes, BytesMut};
use hoist_proxy_core::Line;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The same JSON as one line: line ends in it, which can only be white space there, become spaces,
/// and white space around it goes, as does a byte order mark in front, which hosts over stdio do not
/// expect. Every other byte stays. Text that nobody shares, and that has room for one byte more, is
/// not copied: messages may be long.
pub(crate) fn one_line(text: Bytes) -> Line {
    let mut bytes = text.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    let begins = bytes.trim_ascii_start();
    let begins = begins.strip_prefix(BOM).map_or(begins, <[u8]>::trim_ascii_start);
    let start = bytes.len() - begins.len();
    bytes.advance(start);
    bytes.truncate(bytes.trim_ascii_end().len());
    if memchr::memchr2(b'\n', b'\r', &bytes).is_some() {
        for byte in &mut bytes[..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    bytes.extend_from_slice(b"\n");
    Line::from_wire(bytes.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_become_spaces() {
        for (text, expected) in [
            ("{\"a\":1}", "{\"a\":1}\n"),
            (" \n{\r\n \"a\": [\n1\r]\n}\n\n", "{   \"a\": [ 1 ] }\n"),
            ("\"\\n\u{2028}\u{85}\"", "\"\\n\u{2028}\u{85}\"\n"),
            ("\n", "\n"),
            ("\u{feff}{}", "{}\n"),
            (" \u{feff}\n [\"\u{feff}\"]", "[\"\u{feff}\"]\n"),
        ] {
            // Shared memory and memory of its own.
            assert_eq!(one_line(Bytes::from_static(text.as_bytes())).wire(), expected);
            let own = BytesMut::from(text.as_bytes()).freeze();
            assert_eq!(one_line(own).wire(), expected);
        }
    }

    #[test]
    fn what_nobody_shares_is_not_copied() {
        let mut text = BytesMut::with_capacity(100);
        text.extend_from_slice(b"{\"a\":\n1}");
        let place = text.as_ptr();
        assert_eq!(one_line(text.freeze()).wire().as_ptr(), place);
    }
}
