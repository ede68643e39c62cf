//! What a server answered, found again by what it was asked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::BufRead;
use std::time::Duration;

use bytes::Bytes;
use hoist_proxy_core::json::object_remove;
use hoist_proxy_core::{Kind, Line, Message, RawJson, RequestId, names};

use crate::canonical::{canonical_json, members};
use crate::log::{Entry, LogError, LogReader, Origin, ReadReport};

/// What was asked: the method, and the params by what they say.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) method: String,
    params: String,
}

impl Question {
    /// What a request asks. Who asks, with which token and in which revision, does not count.
    pub(super) fn of(request: &Message) -> Option<Self> {
        let method = request.method()?.to_owned();
        let params = match &*method {
            // Hosts differ in these, and there is one answer.
            names::INITIALIZE | names::DISCOVER => String::new(),
            _ => request.params().map_or_else(String::new, |params| {
                let params = object_remove(params, names::META);
                let text = canonical_json(params.as_str());
                // A host may leave out what another spells out.
                if matches!(&*text, "{}" | "null") { String::new() } else { text }
            }),
        };
        Some(Self { method, params })
    }

    /// The tool and its arguments, for a call.
    pub(super) fn call(&self) -> Option<(String, String)> {
        if self.method != names::TOOLS_CALL {
            return None;
        }
        let params = members(&self.params)?;
        let name = serde_json::from_str(params.get("name")?.get()).ok()?;
        let arguments = params.get("arguments").map_or("{}", |arguments| arguments.get());
        Some((name, arguments.to_owned()))
    }
}

/// An answer of the server's, and what it said before it.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The id it was asked under.
    pub(super) id: RequestId,
    /// The progress token that came with the request.
    pub(super) token: Option<RequestId>,
    /// Notifications that came before the answer.
    pub(super) before: Vec<RawJson>,
    /// The answer; none for a request that was open to the end.
    pub(super) message: Option<RawJson>,
    /// How long it took.
    pub(super) after: Duration,
}

/// The answers that sessions recorded.
#[derive(Debug, Default)]
pub struct Recording {
    answers: HashMap<Question, Vec<Answer>>,
    /// The calls, in the order in which they were first made.
    calls: Vec<(String, String)>,
}

/// A request that waits for its answer in the log.
struct Open {
    question: Question,
    answer: Answer,
    asked_ms: u64,
}

impl Recording {
    /// Adds what a log holds. Lines that are no entries are passed over; what [`LogReader::report`]
    /// says of them at the end is returned.
    ///
    /// # Errors
    ///
    /// [`LogError`] when the log cannot be read any further; what was read before is kept.
    pub fn add<R: BufRead>(&mut self, mut reader: LogReader<R>) -> Result<ReadReport, LogError> {
        let mut open: Vec<Open> = Vec::new();
        for entry in &mut reader {
            match entry {
                Ok(entry) => self.entry(&entry, &mut open),
                Err(error) if error.is_bad_line() => {}
                Err(error) => return Err(error),
            }
        }
        // A stream of notifications is open until its host closes it.
        for Open { question, answer, .. } in open {
            if question.method == names::LISTEN {
                self.keep(question, answer);
            }
        }
        Ok(reader.report())
    }

    /// Adds what another holds, behind what this one does.
    pub fn append(&mut self, other: Self) {
        for call in other.calls {
            if !self.calls.contains(&call) {
                self.calls.push(call);
            }
        }
        for (question, answers) in other.answers {
            self.answers.entry(question).or_default().extend(answers);
        }
    }

    /// How many requests it has answers to.
    pub fn answers(&self) -> usize {
        self.answers.values().map(Vec::len).sum()
    }

    fn entry(&mut self, entry: &Entry, open: &mut Vec<Open>) {
        let Some(text) = entry.message() else { return };
        let Ok(value) = RawJson::parse(Bytes::copy_from_slice(text.as_bytes())) else { return };
        let elements: Vec<RawJson> =
            if value.is_array() { value.items().collect() } else { vec![value] };
        for element in elements {
            let line = Line::from_wire(element.as_bytes().clone());
            let Ok(message) = Message::parse(&line) else { continue };
            match entry.from {
                Origin::Client | Origin::Proxy => asked(&message, entry.t_ms, open),
                Origin::Server => self.answered(&message, &element, entry.t_ms, open),
                Origin::Context => {}
            }
        }
    }

    fn answered(&mut self, message: &Message, text: &RawJson, t_ms: u64, open: &mut Vec<Open>) {
        match (message.kind(), message.id()) {
            (Kind::Response, Some(id)) => {
                let Some(at) = open.iter().position(|open| open.answer.id == *id) else { return };
                let Open { question, mut answer, asked_ms } = open.remove(at);
                answer.after = Duration::from_millis(t_ms.saturating_sub(asked_ms));
                answer.message = Some(text.clone());
                self.keep(question, answer);
            }
            (Kind::Notification, _) => {
                let token = message.params().and_then(|params| params.get(names::PROGRESS_TOKEN));
                let token = token.and_then(|token| RequestId::parse(token.as_bytes()));
                let owner = match &token {
                    Some(token) => {
                        open.iter_mut().find(|open| open.answer.token.as_ref() == Some(token))
                    }
                    // What belongs to no request is told with the one that it came during.
                    None => match &mut open[..] {
                        [only] => Some(only),
                        _ => None,
                    },
                };
                if let Some(owner) = owner {
                    owner.answer.before.push(text.clone());
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, question: Question, answer: Answer) {
        if let Some(call) = question.call()
            && !self.answers.contains_key(&question)
        {
            self.calls.push(call);
        }
        self.answers.entry(question).or_default().push(answer);
    }

    /// The answer to the so-manieth time a question is asked, from 0; the last one from then on,
    /// unless only what was recorded counts.
    pub(super) fn answer(&self, question: &Question, time: usize, strict: bool) -> Option<&Answer> {
        let answers = self.answers.get(question)?;
        if strict { answers.get(time) } else { answers.get(time).or_else(|| answers.last()) }
    }

    pub(super) fn knows(&self, method: &str) -> bool {
        self.answers.keys().any(|question| question.method == method)
    }

    /// The recorded call whose arguments differ least, of the same tool where there is one.
    pub(super) fn nearest(&self, name: &str, arguments: &str) -> Option<(&str, &str)> {
        let distance =
            |(other, recorded): &&(String, String)| (other != name, differing(arguments, recorded));
        self.calls.iter().min_by_key(distance).map(|(name, arguments)| (&**name, &**arguments))
    }
}

fn asked(message: &Message, t_ms: u64, open: &mut Vec<Open>) {
    let (Some(id), Some(question)) = (message.id(), Question::of(message)) else { return };
    if message.kind() != Kind::Request {
        return;
    }
    let meta = message.params().and_then(|params| params.get(names::META));
    let token = meta.and_then(|meta| meta.get(names::PROGRESS_TOKEN));
    let answer = Answer {
        id: id.detached(),
        token: token
            .and_then(|token| RequestId::parse(token.as_bytes()))
            .map(|token| token.detached()),
        before: Vec::new(),
        message: None,
        after: Duration::ZERO,
    };
    open.push(Open { question, answer, asked_ms: t_ms });
}

/// How many members of two objects differ.
fn differing(one: &str, other: &str) -> usize {
    let (Some(one), Some(other)) = (members(one), members(other)) else { return usize::MAX };
    let is_same = |key: &Cow<'_, str>| match (one.get(key), other.get(key)) {
        (Some(one), Some(other)) => canonical_json(one.get()) == canonical_json(other.get()),
        _ => false,
    };
    let missing = other.keys().filter(|key| !one.contains_key(*key)).count();
    one.keys().filter(|key| !is_same(key)).count() + missing
}
