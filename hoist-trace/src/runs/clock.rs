//! Times as runs have them: text, often without a zone.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::value::RawValue;

/// Milliseconds since 1970 of a time stamp in ISO 8601; one without a zone is taken as UTC. `None`
/// for what is no time stamp.
pub(super) fn unix_ms(raw: Option<&RawValue>) -> Option<i64> {
    let text: String = serde_json::from_str(raw?.get()).ok()?;
    let time = text.parse::<Timestamp>().ok().or_else(|| {
        let time = text.parse::<DateTime>().ok()?;
        TimeZone::UTC.to_timestamp(time).ok()
    })?;
    Some(time.as_millisecond())
}

/// Tells times relative to the first one.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// The first time, in milliseconds since 1970.
    pub(super) started_ms: Option<i64>,
    /// The latest so far, after the first.
    pub(super) last_ms: u64,
}

impl Clock {
    /// The time that a stamp says, never before an earlier one; without a stamp, the latest so far.
    /// The second is whether it was before an earlier one.
    pub(super) fn read(&mut self, stamp: Option<&RawValue>) -> (u64, bool) {
        let Some(time_ms) = unix_ms(stamp) else { return (self.last_ms, false) };
        let started_ms = *self.started_ms.get_or_insert(time_ms);
        match u64::try_from(time_ms.saturating_sub(started_ms)) {
            Ok(t_ms) if t_ms >= self.last_ms => {
                self.last_ms = t_ms;
                (t_ms, false)
            }
            _ => (self.last_ms, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<i64>) {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        assert_eq!(unix_ms(Some(&raw)), expected, "{text}");
    }

    #[test]
    fn times_with_and_without_a_zone() {
        check(r#""2026-02-22T06:24:17.006479""#, Some(1_771_741_457_006));
        check(r#""2026-02-22T06:24:17.006479Z""#, Some(1_771_741_457_006));
        check(r#""2026-02-22T07:24:17+01:00""#, Some(1_771_741_457_000));
        check(r#""2026-02-22 06:24:17""#, Some(1_771_741_457_000));
        check(r#""soon""#, None);
        check("17", None);
        check("null", None);
        assert_eq!(unix_ms(None), None);
    }

    #[test]
    fn time_does_not_go_back() {
        let mut clock = Clock::default();
        let mut read = |text: &str| {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            clock.read(Some(&raw))
        };
        assert_eq!(read("null"), (0, false));
        assert_eq!(read(r#""2026-02-22T06:24:17""#), (0, false));
        assert_eq!(read(r#""2026-02-22T06:24:19.5""#), (2500, false));
        assert_eq!(read(r#""2026-02-22T06:24:18""#), (2500, true));
        assert_eq!(read(r#""1026-02-22T06:24:18""#), (2500, true));
        assert_eq!(read("null"), (2500, false));
    }
}
