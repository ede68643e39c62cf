//! How keys and constants are spelt, so far as they can be told from names and other values.

/// Whether the name of a member says that its value names somebody or something of somebody's, or
/// is prose: no such value is a constant, however few there are.
pub(super) fn is_personal(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    PERSONAL.iter().any(|word| key.contains(word))
}

const PERSONAL: [&str; 66] = [
    "name",
    "user",
    "owner",
    "author",
    "assignee",
    "creator",
    "sender",
    "recipient",
    "contact",
    "person",
    "people",
    "customer",
    "client",
    "patient",
    "employee",
    "member",
    "account",
    "login",
    "mail",
    "phone",
    "city",
    "town",
    "street",
    "address",
    "zip",
    "postal",
    "county",
    "birth",
    "age",
    "gender",
    "religion",
    "nation",
    "race",
    "diagnos",
    "health",
    "salary",
    "income",
    "pass",
    "token",
    "secret",
    "key",
    "credential",
    "auth",
    "host",
    "path",
    "url",
    "uri",
    "file",
    "folder",
    "dir",
    "repo",
    "branch",
    "project",
    "company",
    "organi",
    "team",
    "group",
    "title",
    "text",
    "desc",
    "message",
    "content",
    "query",
    "comment",
    "note",
    "summary",
];

/// Whether it is spelt as the name of a member in a schema is: letters, no digits.
pub(super) fn is_key_like(key: &str) -> bool {
    (2..=40).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'$'))
}

/// Whether a value is spelt as the words are that an API enumerates: up to four words in lower
/// case, without digits. Names are spelt otherwise, for the most part.
pub(super) fn is_constant_like(text: &str) -> bool {
    (2..=32).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-' | b' '))
        && text.split(['_', '-', ' ']).all(|word| !word.is_empty())
        && text.split(['_', '-', ' ']).count() <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelt_like_a_name_is_no_constant() {
        for constant in ["one_way", "no longer needed", "round-trip", "ok"] {
            assert!(is_constant_like(constant), "{constant}");
        }
        for other in ["Lisbon", "user7", "a", "", "a b c d e", "x@y", "a__b", " a", &"x".repeat(33)]
        {
            assert!(!is_constant_like(other), "{other}");
        }
    }
}
