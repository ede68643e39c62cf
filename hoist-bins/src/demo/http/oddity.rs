//! The ways in which the demo server by URL is hard to deal with.

/// In what way the server is not what a client would wish for. Each is within the protocol, or seen
/// in servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// Answers are events of a stream.
    Sse,
    /// A stream ends before its answer, which is given to a GET that resumes it.
    DropStreams,
    /// Events come in pieces of a few bytes, their data over several lines.
    SplitEvents,
    /// A session is gone after its third request.
    ExpireSessions,
    /// The server is at another path of the same origin.
    Redirect,
    /// Answers claim to be compressed.
    Gzip,
    /// There is no stream for what the server says on its own.
    NoGet,
}

impl Oddity {
    /// The words for them.
    pub const NAMES: &'static [&'static str] =
        &["sse", "drop-streams", "split-events", "expire-sessions", "redirect", "gzip", "no-get"];

    /// The oddity of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Sse,
            Self::DropStreams,
            Self::SplitEvents,
            Self::ExpireSessions,
            Self::Redirect,
            Self::Gzip,
            Self::NoGet,
        ];
        Self::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}
