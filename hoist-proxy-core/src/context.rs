//! What is known of a session before anything crossed it.

use std::fmt;
use std::time::SystemTime;

use tokio::time::Instant;

use crate::Host;

/// A session's name: 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting with a dot.
///
/// The same rule holds wherever the name lands in a path, which is why there is no other way to
/// make one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

/// A text that cannot name a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session id is 1 to 128 of A-Z a-z 0-9 . _ - and does not start with a dot, got {0:?}")]
pub struct InvalidSessionId(String);

impl SessionId {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 128;

    /// Checks a name.
    ///
    /// # Errors
    ///
    /// [`InvalidSessionId`] with what was given, cut to 128 characters.
    pub fn new(name: &str) -> Result<Self, InvalidSessionId> {
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if name.is_empty()
            || name.len() > Self::MAX_BYTES
            || name.starts_with('.')
            || !name.bytes().all(legal)
        {
            return Err(InvalidSessionId(name.chars().take(Self::MAX_BYTES).collect()));
        }
        Ok(Self(name.to_owned()))
    }

    /// The name Hoist gives: the UTC start time to the millisecond and the process id, then the
    /// session's number where one process serves many.
    ///
    /// ```
    /// use hoist_proxy_core::SessionId;
    /// use std::time::{Duration, UNIX_EPOCH};
    ///
    /// let at = UNIX_EPOCH + Duration::from_millis(1_790_198_400_123);
    /// assert_eq!(SessionId::at(at, 4242, None).as_str(), "20260923T212000.123Z-4242");
    /// assert_eq!(SessionId::at(at, 4242, Some(7)).as_str(), "20260923T212000.123Z-4242-7");
    /// ```
    pub fn at(started: SystemTime, process_id: u32, number: Option<u64>) -> Self {
        let time = jiff::Timestamp::try_from(started).map_or_else(
            |_| "unknown".to_owned(),
            |t| t.strftime("%Y%m%dT%H%M%S.%3fZ").to_string(),
        );
        match number {
            Some(number) => Self(format!("{time}-{process_id}-{number}")),
            None => Self(format!("{time}-{process_id}")),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is known of a session before anything crossed it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionContext {
    /// The session's name.
    pub id: SessionId,
    /// When the session started: what crossings' times are measured from.
    pub started: Instant,
    /// The same moment by the wall clock.
    pub started_at: SystemTime,
    /// What is known of the host.
    pub host: Host,
}

impl SessionContext {
    /// A session of this name that starts now.
    pub fn new(id: SessionId) -> Self {
        Self { id, started: Instant::now(), started_at: SystemTime::now(), host: Host::default() }
    }

    /// The same, of this host.
    #[must_use]
    pub fn of_host(mut self, host: Host) -> Self {
        self.host = host;
        self
    }

    /// What stands for the session where a path has a place for it: the name of the host session,
    /// else the session's own.
    pub fn label(&self) -> &SessionId {
        self.host.session.as_ref().unwrap_or(&self.id)
    }

    /// When the session started, in milliseconds since 1970-01-01T00:00:00Z (0 before it).
    pub fn started_unix_ms(&self) -> u64 {
        let since = self.started_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_are_safe_in_a_path() {
        for good in ["a", "20260923T212000.123Z-4242", "A_b-c.d", &"x".repeat(128)] {
            assert_eq!(SessionId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", ".hidden", "..", "a/b", "a\\b", "ü", "a b", "a\n", &"x".repeat(129)] {
            assert!(SessionId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_session_goes_by_the_name_its_host_gave() {
        let name = |name| SessionId::new(name).unwrap();
        let session = SessionContext::new(name("own"));
        assert_eq!(session.label(), &name("own"));
        assert_eq!(session.of_host(Host::in_session(name("host"))).label(), &name("host"));
    }

    #[test]
    fn the_given_name_is_a_legal_one() {
        let id = SessionId::at(SystemTime::now(), u32::MAX, Some(u64::MAX));
        assert_eq!(SessionId::new(id.as_str()).unwrap(), id);
    }
}
