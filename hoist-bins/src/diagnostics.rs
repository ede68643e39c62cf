//! What the libraries report, on standard error, without ever waiting for it.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::Arc;

use hoist_trace::credentials::redact_url;
use hoist_transport::Stderr;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// From now on, writes the warnings and errors of Hoist's libraries to `stderr`, a line each.
///
/// A program calls this once; later calls change nothing.
pub(crate) fn report_to(stderr: Arc<Stderr>) {
    let subscriber = tracing_subscriber::registry().with(ToStderr(stderr));
    // Whoever embeds the program's functions may report in a way of their own.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct ToStderr(Arc<Stderr>);

impl<S: Subscriber> Layer<S> for ToStderr {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let ours = event.metadata().target().starts_with("hoist");
        if *event.metadata().level() <= Level::WARN && ours {
            let mut text = Text::default();
            event.record(&mut text);
            self.0.say(&text.0);
        }
    }
}

/// An event's message, then its other fields.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let result = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
        debug_assert!(result.is_ok(), "writing to a string cannot fail");
    }
}

/// An error with what caused it, on one line. A URL in it, which may be a path or a program that was
/// meant to be something else, shows no credentials.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes: Vec<_> = std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect();
    redact_url(&causes.join(": "))
}

/// Says something on standard error, if anyone listens: a line that starts with the program's name,
/// made fit for a terminal.
pub(crate) fn complain(program: &str, message: &str) {
    let message = redact_url(message);
    let line = format!("{program}: {}\n", crate::text::visible(&message));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
