//! What becomes of a line that the server sends.

use bytes::Bytes;
use hoist_proxy_core::json::{EnvelopeScanner, ScannedKind};
use hoist_proxy_core::{Era, Kind, Line, Message, RawJson, RequestId, names};
use tokio::time::Instant;

use super::event::Role;
use super::rename::{SUBSCRIPTION_ID, restored_answer, restored_progress, restored_subscription};
use super::router::{Carries, INTERNAL, Router, coded_error_line, error_line};

/// JSON-RPC's code for a method that there is not.
const METHOD_NOT_FOUND: i64 = -32601;

const NO_STREAM: &str = "the host has no stream open that could carry the request";

impl Router {
    /// Puts a line of the server's on the stream it belongs to. What the server is to be told in
    /// turn, where it asks what no host hears.
    pub(super) fn deliver(&mut self, line: &Line, now: Instant) -> Vec<Line> {
        let body = without_bom(line.body_bytes());
        if line.is_array() {
            return self.batch(&body, now);
        }
        let Ok(message) = Message::parse(line) else {
            self.unreadable(line, body, now);
            return Vec::new();
        };
        match (message.kind(), message.id()) {
            (Kind::Response, Some(id)) => {
                let role = Role::Answer { error: message.error().map(code) };
                self.answer(id, body, role, now);
                Vec::new()
            }
            (Kind::Request, Some(id)) => self.request(id, body, now),
            _ => self.notification(&message, body, now),
        }
    }

    /// An answer goes where its request came from. One that nobody waits for goes nowhere: a
    /// stream must carry no answers but those to its own requests.
    fn answer(&mut self, id: &RequestId, body: Bytes, role: Role, now: Instant) {
        let Some((stream, request)) = self.answered(id) else {
            tracing::debug!("the server answered {id}, which nobody waits for");
            self.abandoned.answered(id);
            return;
        };
        if let Some(asked) = &request.listing
            && let Ok(answer) = Message::parse(&Line::from_wire(body.clone()))
        {
            self.params.listed(asked, &answer);
        }
        if request.begins {
            self.agreed = agreed_version(&body);
        }
        let body = match &request.host_id {
            Some(host_id) => restored_answer(body, host_id),
            None => body,
        };
        self.push(stream, body, role, now);
    }

    /// The answers to a batch, in one line. Over HTTP each message is an event of its own.
    fn batch(&mut self, body: &Bytes, now: Instant) -> Vec<Line> {
        let Ok(array) = RawJson::parse(body.clone()) else { return Vec::new() };
        let elements = array.items().map(|item| Line::from_wire(item.as_bytes().clone()));
        // An array in an array is no message.
        let messages = elements.filter(|line| !line.is_array());
        messages.flat_map(|line| self.deliver(&line, now)).collect()
    }

    /// What parsers may read in different ways, or not at all, still ends the request it seems to
    /// answer.
    fn unreadable(&mut self, line: &Line, body: Bytes, now: Instant) {
        let mut scanner = EnvelopeScanner::new();
        scanner.feed(line.body());
        let seems = scanner.finish();
        let Some(id) = seems.id.filter(|_| seems.kind == ScannedKind::Response) else {
            tracing::debug!("the server wrote a line that is no message");
            return;
        };
        if RawJson::parse(body.clone()).is_ok() {
            return self.answer(&id, body, Role::Answer { error: None }, now);
        }
        let Some((stream, request)) = self.answered(&id) else { return };
        let told =
            error_line(request.host_id.as_ref().unwrap_or(&id), "the server's answer is no JSON");
        self.push(stream, told.body_bytes(), Role::Answer { error: Some(INTERNAL) }, now);
    }

    /// The server asks the host something.
    fn request(&mut self, id: &RequestId, body: Bytes, now: Instant) -> Vec<Line> {
        if self.era == Era::Modern {
            let why = "a host of this revision takes no requests";
            return vec![coded_error_line(id, METHOD_NOT_FOUND, why)];
        }
        self.place(body, Some(id.detached()), now)
    }

    fn notification(&mut self, message: &Message, body: Bytes, now: Instant) -> Vec<Line> {
        let params = message.params();
        let token = params.filter(|_| message.method() == Some("notifications/progress"));
        if let Some(token) = token.and_then(|params| params.get(names::PROGRESS_TOKEN)) {
            return self.progress(token.as_bytes(), body, now);
        }
        if self.era == Era::Legacy {
            return self.place(body, None, now);
        }
        let subscription = params.and_then(|params| params.get(names::META)?.get(SUBSCRIPTION_ID));
        if message.method() == Some(names::CANCELLED) {
            // The one thing a server may cancel is a stream of notifications that it ends.
            let id = params.and_then(|params| params.get("requestId"));
            if let Some(id) = id.and_then(|id| RequestId::parse(id.as_bytes())) {
                self.end_stream_of(&id);
            }
        } else if let Some(id) = subscription.and_then(|id| RequestId::parse(id.as_bytes())) {
            self.subscribed(&id, body, now);
        } else if message.method() == Some("notifications/message") {
            self.log(body, now);
        } else {
            tracing::debug!("the server notifies of what nobody listens to");
        }
        Vec::new()
    }

    /// Progress goes to whoever gave the token. Late progress is for nobody in particular.
    fn progress(&mut self, token: &Bytes, body: Bytes, now: Instant) -> Vec<Line> {
        let token = RequestId::parse(token);
        let owner = token.as_ref().and_then(|token| {
            let stream = *self.by_token.get(token)?;
            let entry = self.streams.get(&stream)?;
            let awaited = entry.awaited.iter().find_map(|request| request.token.as_ref());
            Some((stream, entry.carries, awaited.and_then(|(_, host)| host.clone())))
        });
        match owner {
            Some((stream, Carries::Everything, host_token)) => {
                let body = match &host_token {
                    Some(host_token) => restored_progress(body, host_token),
                    None => body,
                };
                self.push(stream, body, Role::Beside, now);
                Vec::new()
            }
            // It must not reach another caller.
            _ if self.era == Era::Modern => Vec::new(),
            _ => self.place(body, None, now),
        }
    }

    fn subscribed(&mut self, id: &RequestId, body: Bytes, now: Instant) {
        let Some(stream) = self.by_id.get(id).and_then(|streams| streams.front().copied()) else {
            return;
        };
        let Some(entry) = self.streams.get(&stream) else { return };
        if entry.carries == Carries::AnswersOnly {
            return;
        }
        let awaited = entry.awaited.iter().find(|request| request.id.as_ref() == Some(id));
        let body = match awaited.and_then(|request| request.host_id.as_ref()) {
            Some(host_id) => restored_subscription(body, host_id),
            None => body,
        };
        self.push(stream, body, Role::Beside, now);
    }

    /// A log message says nothing of the request it belongs to. Where more than one asked for such,
    /// it is given to none: it might be about another caller's.
    fn log(&mut self, body: Bytes, now: Instant) {
        let mut asked = self.streams.iter().filter(|(_, stream)| {
            stream.carries == Carries::Everything
                && stream.awaited.iter().any(|request| request.logs)
        });
        let (first, second) = (asked.next().map(|(number, _)| *number), asked.next().is_some());
        match first {
            Some(stream) if !second => self.push(stream, body, Role::Beside, now),
            _ => tracing::debug!("a log message of the server's that belongs to no one request"),
        }
    }

    /// Legacy: what belongs to no request goes to the stream that stands by itself, else to a
    /// request's, else it waits.
    fn place(&mut self, body: Bytes, request: Option<RequestId>, now: Instant) -> Vec<Line> {
        if let Some(stream) = self.standing().or_else(|| self.any_open()) {
            self.push(stream, body, Role::Beside, now);
            return Vec::new();
        }
        let unheard = self.waiting.keep(body, request, now);
        unheard.iter().map(|id| error_line(id, NO_STREAM)).collect()
    }

    /// What is to be said to the server about its requests that no host came to hear.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Line> {
        self.waiting.expire(now).iter().map(|id| error_line(id, NO_STREAM)).collect()
    }
}

/// The revision that the answer to `initialize` settles on.
fn agreed_version(answer: &Bytes) -> Option<String> {
    let answer = RawJson::parse(answer.clone()).ok()?;
    Some(answer.get("result")?.get("protocolVersion")?.text()?.into_owned())
}

fn code(error: &RawJson) -> i64 {
    error.get("code").and_then(|code| code.as_str().parse().ok()).unwrap_or(INTERNAL)
}

fn without_bom(body: Bytes) -> Bytes {
    match body.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => body.slice_ref(rest),
        None => body,
    }
}

#[cfg(test)]
#[path = "deliver_tests.rs"]
mod tests;
