//! Which names name credentials.

/// Words that make a name a credential's.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "apikeys",
    "authorization",
    "authtoken",
    "bearer",
    "cookie",
    "cookies",
    "cred",
    "creds",
    "credential",
    "credentials",
    "jwt",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pat",
    "pw",
    "pwd",
    "secret",
    "secrets",
    "token",
    "userpass",
    "userpwd",
];

/// Ends of run-together names, such as `GITHUBTOKEN` and `PGPASSWORD`.
const SECRET_ENDS: &[&str] = &[
    "accesskey",
    "accountkey",
    "apikey",
    "apisecret",
    "authkey",
    "masterkey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "subscriptionkey",
    "token",
];

/// Words behind which a name no longer names the credential itself: a file, a kind, a limit.
const HARMLESS_AFTER: &[&str] = &[
    "algorithm",
    "audience",
    "budget",
    "cache",
    "cmd",
    "command",
    "count",
    "dir",
    "directory",
    "domain",
    "endpoint",
    "env",
    "expiration",
    "expires",
    "expiry",
    "file",
    "filename",
    "format",
    "header",
    "helper",
    "host",
    "id",
    "issuer",
    "jar",
    "length",
    "lifetime",
    "limit",
    "limits",
    "location",
    "manager",
    "mode",
    "name",
    "names",
    "path",
    "policy",
    "port",
    "prefix",
    "prompt",
    "provider",
    "rate",
    "region",
    "scope",
    "scopes",
    "server",
    "size",
    "stdin",
    "store",
    "through",
    "ttl",
    "type",
    "uri",
    "url",
    "usage",
    "version",
];

/// Words before a credential that make an option a switch.
const SWITCH_WORDS: &[&str] = &[
    "allow", "ask", "disable", "enable", "hide", "mask", "no", "print", "prompt", "require",
    "show", "skip", "without",
];

/// Words before `key` that make it something other than a credential.
const HARMLESS_KEYS: &[&str] = &[
    "cache",
    "column",
    "config",
    "foreign",
    "group",
    "hot",
    "host",
    "idempotency",
    "index",
    "lookup",
    "map",
    "object",
    "partition",
    "primary",
    "public",
    "routing",
    "row",
    "sort",
    "unique",
];

/// Words before `tokens` that make it credentials rather than a quantity.
const SECRET_TOKENS: &[&str] = &["access", "api", "auth", "bearer", "refresh", "secret", "user"];

/// Whether what stands under this name (of an option, variable, header or member) is a credential.
pub(super) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let found = words.iter().enumerate().rposition(|(at, _)| is_secret_word(&words, at));
    let Some(at) = found else { return false };
    let is_switch = words[..at].iter().any(|w| SWITCH_WORDS.contains(&w.as_str()));
    let is_about = words[at + 1..].iter().any(|w| HARMLESS_AFTER.contains(&w.as_str()));
    !is_switch && !is_about
}

fn is_secret_word(words: &[String], at: usize) -> bool {
    let before = || words[..at].last().map_or("", String::as_str);
    match words[at].as_str() {
        "key" => !HARMLESS_KEYS.contains(&before()),
        "keys" => matches!(before(), "api" | "access" | "secret" | "auth"),
        "tokens" => SECRET_TOKENS.contains(&before()),
        // `--auth-server` is no credential whatever stands behind.
        "auth" => at + 1 == words.len(),
        word => SECRET_WORDS.contains(&word) || SECRET_ENDS.iter().any(|end| word.ends_with(end)),
    }
}

/// Whether a URL's parameter of this name is a credential: some short names are only there.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    const ALSO: &[&str] = &["code", "sig", "signature", "assertion", "sas"];
    is_secret_name(name) || words(name).last().is_some_and(|word| ALSO.contains(&word.as_str()))
}

/// Options that take `user:password`.
pub(super) fn is_user_flag(word: &str) -> bool {
    matches!(
        word,
        "-u" | "-U"
            | "--user"
            | "--proxy-user"
            | "--login"
            | "--username"
            | "--basic"
            | "--http-user"
            | "--credentials-user"
    )
}

/// Whether a value under a credential's name is none: a switch's value, or where a key lies.
pub(super) fn is_plain_value(name: &str, value: &str) -> bool {
    const SWITCH: &[&str] = &["", "true", "false", "yes", "no", "on", "off"];
    const KINDS: &[&str] =
        &["none", "basic", "bearer", "digest", "oauth", "oauth2", "iam", "auto", "token"];
    let words = words(name);
    let last = words.last().map_or("", String::as_str);
    let lower = value.to_ascii_lowercase();
    SWITCH.contains(&lower.as_str())
        || (last == "auth" && KINDS.contains(&lower.as_str()))
        || (matches!(last, "key" | "credentials" | "creds") && is_path(value))
}

/// Surely a path. A secret in base 64 may have slashes too, so one is not enough.
fn is_path(value: &str) -> bool {
    const ENDS: &[&str] = &[".crt", ".json", ".key", ".p12", ".pem", ".pfx", ".pub", ".txt"];
    let one_word = !value.contains(char::is_whitespace);
    one_word
        && (["./", "../", "~/"].iter().any(|start| value.starts_with(start))
            || ENDS.iter().any(|end| value.to_ascii_lowercase().ends_with(end)))
}

/// The words of `someName`, `SOME_NAME`, `some-name`, `HTTPHeader`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let chars: Vec<char> = name.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let previous = at.checked_sub(1).map(|at| chars[at]);
        let next_is_lower = chars.get(at + 1).is_some_and(|c| c.is_lowercase());
        let starts_word = c.is_uppercase()
            && previous.is_some_and(|p| {
                p.is_lowercase() || p.is_numeric() || (p.is_uppercase() && next_is_lower)
            });
        if starts_word {
            words.push(String::new());
        }
        words.last_mut().expect("there is always one").extend(c.to_lowercase());
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials() {
        for name in [
            "token",
            "api-key",
            "apiKey",
            "API_KEY",
            "apikey",
            "X-Api-Key",
            "client_secret",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "MYSQL_PWD",
            "OPENAI_KEY",
            "_authToken",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "openai.api-key",
            "GITHUB_TOKEN_PROD",
            "API_KEY_1",
            "sessionToken",
            "auth",
            "pass",
            "AccountKey",
            "Shared Access Key",
            "bearer-token",
            "access_tokens",
            "HAuthorization",
            "eTOKEN",
            "X-RapidAPI-Key",
            "NPM_TOKEN",
            "private-key",
            "key",
            "passphrase",
            "dbPassword",
            "oauth2Bearer",
            "SECRET",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "",
            "port",
            "tokenizer",
            "max-tokens",
            "maxTokens",
            "keyboard",
            "no-auth",
            "monkey",
            "key-file",
            "token-file",
            "password-stdin",
            "author",
            "auth-type",
            "authenticate",
            "primary-key",
            "path",
            "token-url",
            "client-id",
            "secret-name",
            "bypass",
            "compass",
            "passthrough",
            "cookie-jar",
            "require-auth",
            "keys",
            "hotkey",
            "max_new_tokens",
            "tokens",
            "turkey",
            "API_KEY_FILE",
            "AWS_ACCESS_KEY_ID",
            "no-password",
            "sort-key",
            "patch",
            "domain",
            "header",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
