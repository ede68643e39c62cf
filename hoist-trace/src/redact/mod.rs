//! Copies of sessions that can be shared: pseudonymised.
//!
//! Every word and number of a session is replaced by a token, but for those that a stated rule
//! leaves in clear ([`Rule`]). A token has the form of what it replaces: letters for letters, in the
//! same case, digits for digits, the same length, the same punctuation. It is made of the key and of
//! the word alone, one to one, so values that were equal are equal in the copy, wherever they stand,
//! an id is found in prose as it was, and different values stay different. Shapes, lengths, order,
//! times and errors stay.
//!
//! That is pseudonymised and not more: how often values occur, which are equal, how long they are
//! and when things happened can still be seen. `docs/privacy.md` says what that gives away.
//!
//! What stays in clear depends on the whole dataset, hence two passes: [`Survey`] counts,
//! [`Redactor`] writes. Nothing here reads or writes a file.

mod cipher;
mod clear;
mod json;
mod key;
mod letters;
mod paths;
mod public;
mod redactor;
mod scan;
mod schema;
mod shapes;
mod survey;
mod text;
mod words;

pub use clear::{Clear, Rule, Source};
pub use json::Changed;
pub use key::{Key, KeyTooShort};
pub use redactor::{Kept, KeptAt, Redactor, Report, line_of};
pub use survey::Survey;
pub use words::Replaced;
