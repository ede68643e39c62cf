//! Batches, taken apart: with a layer that acts, every element crosses on its own.

use bytes::{BufMut, BytesMut};

use super::batch::Batch;
use super::ledger::Answered;
use super::read::{Exchanges, Reply};
use super::unambiguous::seems;
use crate::json::{ScannedKind, elements};
use crate::line::without_bom;
use crate::{Ambiguity, Direction, Kind, Line, Message, RequestId};

/// A batch whose elements cross one after the other.
pub(super) struct Unpacking {
    direction: Direction,
    batch: u64,
    lines: std::vec::IntoIter<Line>,
}

impl Exchanges<'_> {
    /// A batch: with a layer that acts, every element crosses on its own.
    pub(super) fn array(&mut self, direction: Direction, line: &Line) {
        let body = line.body_bytes();
        let text = body.slice_ref(without_bom(body.trim_ascii_start()));
        if serde_json::from_slice::<&serde_json::value::RawValue>(&text).is_err() {
            if self.core.strict && direction == Direction::ToServer {
                return self.refuse(line, Ambiguity::NotJson, Reply::Line);
            }
            return self.forward(direction, line.clone());
        }
        let lines: Vec<Line> = elements(&text).map(|span| element_line(&text[span])).collect();
        let concerns_layers = match direction {
            Direction::ToServer => !lines.is_empty(),
            Direction::ToHost => lines.iter().any(|l| self.concerns_layers(direction, l)),
        };
        if !concerns_layers {
            for element in &lines {
                self.ordinary_answer(direction, element);
            }
            return self.forward(direction, line.clone());
        }
        let batch = self.core.next_serial();
        self.batches.insert(batch, Batch::default());
        self.unpacking = Some(Unpacking { direction, batch, lines: lines.into_iter() });
    }

    /// Takes the next element of the batch that was read last; false when there is none. Between
    /// two of them what the first one started has its turn, as between two lines.
    pub(crate) fn next_element(&mut self) -> bool {
        let Some(Unpacking { direction, batch, lines }) = &mut self.unpacking else {
            return false;
        };
        let (direction, batch) = (*direction, *batch);
        if let Some(line) = lines.next() {
            self.element(direction, batch, &line);
            return true;
        }
        self.unpacking = None;
        if let Some(batch) = self.batches.get_mut(&batch) {
            batch.all_read();
        }
        self.batch_done(direction.reverse(), batch);
        true
    }

    fn element(&mut self, direction: Direction, batch: u64, line: &Line) {
        let parsed = Message::parse(line);
        let is_object = line.body().starts_with(b"{");
        let wants_answer = direction == Direction::ToServer
            && match &parsed {
                Ok(message) => message.kind() == Kind::Request,
                Err(_) if self.core.strict || !is_object => true,
                Err(_) => seems(line).kind == ScannedKind::Request,
            };
        let reply = if wants_answer {
            let index = self.batches.get_mut(&batch).map_or(0, Batch::add);
            Reply::Batch { batch, index }
        } else {
            Reply::Line
        };
        match parsed {
            // No message at all: JSON-RPC wants an error in its place.
            Err(ambiguity) if wants_answer && !is_object => {
                self.refuse(line, ambiguity, reply);
            }
            parsed => self.message(direction, line, parsed, reply),
        }
    }

    /// Whether an element of a server's batch is more than passed on.
    fn concerns_layers(&self, direction: Direction, line: &Line) -> bool {
        let awaited = |id: &RequestId| self.core.state().ledger.is_awaited(direction.reverse(), id);
        let Ok(message) = Message::parse(line) else {
            let seems = seems(line);
            return seems.kind == ScannedKind::Response && seems.id.as_ref().is_some_and(awaited);
        };
        match (message.kind(), message.id(), message.method()) {
            (Kind::Response, Some(id), _) => awaited(id),
            (Kind::Request, _, Some(method)) => self.core.acts_on(direction, method),
            _ => true,
        }
    }

    /// An element of a batch that goes on whole may answer a request nobody here waits for.
    fn ordinary_answer(&mut self, direction: Direction, line: &Line) {
        let seems = seems(line);
        if let (ScannedKind::Response, Some(id)) = (seems.kind, &seems.id) {
            let answered = self.core.state().ledger.answered(direction.reverse(), id);
            debug_assert!(!matches!(answered, Answered::Deliver(_)), "nobody waits for it");
        }
    }
}

/// An element of a batch as the line it would have been on its own.
fn element_line(element: &[u8]) -> Line {
    let mut wire = BytesMut::with_capacity(element.len() + 1);
    wire.put_slice(element);
    wire.put_u8(b'\n');
    Line::from_wire(wire.freeze())
}
