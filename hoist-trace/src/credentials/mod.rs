//! Taking credentials out of command lines and URLs, for what is written down about a server.
//!
//! Best effort: a value is taken for a credential by the name it stands under, by its place (a
//! URL's user, `-u user:password`), or by its shape (`ghp_…`, `sk-…`, a JWT). A bare secret of no
//! known shape stays, so credentials belong into a server's environment. Where a name leaves doubt,
//! the value goes.

mod names;
mod shapes;
mod shell;
mod text;
mod url;

use std::ffi::OsStr;

use names::{is_secret_name, is_user_flag};

/// What stands in place of a credential.
pub const REDACTED: &str = "<redacted>";

/// How deep commands inside arguments inside commands are looked into.
const MAX_DEPTH: u8 = 6;

/// A command line with the values of what looks like credentials replaced by [`REDACTED`]. What is
/// not UTF-8 becomes U+FFFD.
///
/// # Examples
///
/// ```
/// use hoist_trace::credentials::redact_command;
///
/// let command = ["docker", "run", "-e", "GITHUB_TOKEN=x", "server", "--api-key", "y", "--port", "80"];
/// assert_eq!(
///     redact_command(command).join(" "),
///     "docker run -e GITHUB_TOKEN=<redacted> server --api-key <redacted> --port 80",
/// );
/// ```
pub fn redact_command<I>(command: I) -> Vec<String>
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let mut words = Words::new(0, false);
    command.into_iter().map(|word| words.redact(&word.as_ref().to_string_lossy())).collect()
}

/// A URL without its user and password, the values of query and fragment parameters that look like
/// credentials replaced by [`REDACTED`].
///
/// ```
/// use hoist_trace::credentials::redact_url;
///
/// let url = "https://me:pw@example.com/mcp?api_key=x&page=2";
/// assert_eq!(redact_url(url), "https://example.com/mcp?api_key=<redacted>&page=2");
/// ```
pub fn redact_url(url: &str) -> String {
    shapes::redact(&url::redact(url, ""))
}

/// What the word before says about the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Anything,
    /// The value of an option or header that names a credential.
    Secret,
    /// The value of an option that names a user, perhaps with a password.
    User,
    /// A header.
    Header,
    /// Text for a shell.
    Shell,
}

/// The words of one command, in order.
struct Words {
    expect: Expect,
    depth: u8,
    /// Whether the words stand in a shell's text, where an assignment ends at white space.
    in_shell: bool,
    /// The option or header the expected value belongs to.
    name: String,
}

impl Words {
    fn new(depth: u8, in_shell: bool) -> Self {
        Self { expect: Expect::Anything, depth, in_shell, name: String::new() }
    }

    fn redact(&mut self, word: &str) -> String {
        let expected = std::mem::replace(&mut self.expect, Expect::Anything);
        let is_secret_flag = word.starts_with('-') && is_secret_name(option_name(word));
        match expected {
            // `--token --api-key x`, or a value that starts with a dash and reads like a flag:
            // which of the two cannot be told, so both go, and x.
            Expect::Secret if is_secret_flag => {
                self.look_ahead(word);
                return REDACTED.to_owned();
            }
            Expect::Secret => {
                if text::is_auth_scheme(word) {
                    self.expect = Expect::Secret;
                    return word.to_owned();
                }
                if names::is_plain_value(&self.name, word) {
                    return text::redact(word, self.depth, self.in_shell);
                }
                return REDACTED.to_owned();
            }
            Expect::User if !is_secret_flag => return text::redact_user(word, self.depth),
            Expect::Header if is_header_name(word) && is_secret_name(word) => {
                self.expect_secret(word);
                return word.to_owned();
            }
            Expect::Shell => return text::redact(word, self.depth, true),
            _ => {}
        }
        self.look_ahead(word);
        text::redact(word, self.depth, self.in_shell)
    }

    fn look_ahead(&mut self, word: &str) {
        if word.contains('=') {
            return;
        }
        if let Some(name) = word.strip_suffix(':') {
            if is_secret_name(name) {
                self.expect_secret(name);
            }
            return;
        }
        if !word.starts_with('-') {
            return;
        }
        let name = option_name(word);
        if is_secret_name(name) {
            self.expect_secret(name);
        } else if is_user_flag(word) {
            self.expect = Expect::User;
        } else if matches!(word, "-H" | "--header" | "--headers") {
            self.expect = Expect::Header;
        } else if is_shell_flag(word) {
            self.expect = Expect::Shell;
        }
    }

    fn expect_secret(&mut self, name: &str) {
        self.expect = Expect::Secret;
        name.clone_into(&mut self.name);
    }
}

/// A header's name alone, its value being the next word.
fn is_header_name(word: &str) -> bool {
    let name = word.strip_suffix(':').unwrap_or(word);
    name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

fn option_name(word: &str) -> &str {
    word.trim_start_matches('-')
}

/// `-c` as shells have it, alone or behind other letters (`-lc`, `-ec`).
fn is_shell_flag(word: &str) -> bool {
    let letters = option_name(word);
    word.eq_ignore_ascii_case("-command")
        || (word.len() <= 5
            && !word.starts_with("--")
            && letters.ends_with('c')
            && letters.bytes().all(|b| b.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
