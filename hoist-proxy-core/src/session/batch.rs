//! JSON-RPC batches (MCP 2025-03-26) in a session with a layer that acts.

use crate::Line;

/// The answers to one batch, as they come in.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    answers: Vec<Slot>,
    /// Every element of the batch has been read.
    complete: bool,
}

#[derive(Debug)]
enum Slot {
    Open,
    Answered(Line),
    /// Its request was cancelled: it gets no answer.
    Left,
}

impl Batch {
    /// A place for the answer to the next request of the batch.
    pub(crate) fn add(&mut self) -> usize {
        self.answers.push(Slot::Open);
        self.answers.len() - 1
    }

    pub(crate) fn answer(&mut self, index: usize, line: Line) {
        if let Some(slot) = self.answers.get_mut(index) {
            *slot = Slot::Answered(line);
        }
    }

    pub(crate) fn leave(&mut self, index: usize) {
        if let Some(slot) = self.answers.get_mut(index) {
            *slot = Slot::Left;
        }
    }

    pub(crate) fn all_read(&mut self) {
        self.complete = true;
    }

    /// Whether nothing more will come.
    pub(crate) fn is_done(&self) -> bool {
        self.complete && !self.answers.iter().any(|s| matches!(s, Slot::Open))
    }

    /// The line that answers the batch, in request order; `None` when there is nothing to answer.
    pub(crate) fn into_line(self) -> Option<Line> {
        let mut body = Vec::new();
        for slot in self.answers {
            if let Slot::Answered(line) = slot {
                body.push(if body.is_empty() { b'[' } else { b',' });
                body.extend_from_slice(crate::line::without_bom(line.body()));
            }
        }
        if body.is_empty() {
            return None;
        }
        body.push(b']');
        Some(Line::from_body(&body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::from_wire(format!("{text}\n"))
    }

    #[test]
    fn answers_leave_together_in_request_order() {
        let mut batch = Batch::default();
        let (a, b, c) = (batch.add(), batch.add(), batch.add());
        batch.answer(c, line("3"));
        batch.all_read();
        assert!(!batch.is_done());
        batch.answer(a, line("1"));
        batch.leave(b);
        assert!(batch.is_done());
        assert_eq!(batch.into_line().unwrap().body(), b"[1,3]");
    }

    #[test]
    fn a_batch_without_answers_gets_none() {
        let mut batch = Batch::default();
        batch.all_read();
        assert!(batch.is_done());
        assert_eq!(batch.into_line(), None);
    }
}
