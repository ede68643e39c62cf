//! Requests that nobody waits for any more, and that the server may still speak of.

use std::collections::{HashMap, HashSet, VecDeque};

use hoist_proxy_core::RequestId;

use super::router::Awaited;

/// So many are remembered; a server that heeds cancellations answers none of them.
const MAX_REQUESTS: usize = 1_024;

/// The requests whose streams closed before they were answered. Until the server has answered one,
/// or many more have been abandoned, nobody else's may have its id or its progress token: the
/// server may have answered before it heard of the cancellation.
#[derive(Debug, Default)]
pub(super) struct Abandoned {
    /// The requests, with their tokens.
    ids: HashMap<RequestId, Option<RequestId>>,
    tokens: HashSet<RequestId>,
    /// Oldest first; some may have been answered since.
    order: VecDeque<RequestId>,
}

impl Abandoned {
    pub(super) fn add(&mut self, request: &Awaited) {
        let Some(id) = &request.id else { return };
        let token = request.token.as_ref().map(|(token, _)| token.clone());
        self.tokens.extend(token.clone());
        self.ids.insert(id.clone(), token);
        self.order.push_back(id.clone());
        if self.order.len() > MAX_REQUESTS
            && let Some(oldest) = self.order.pop_front()
        {
            self.answered(&oldest);
        }
    }

    /// The server has said its last word about this request.
    pub(super) fn answered(&mut self, id: &RequestId) {
        if let Some(Some(token)) = self.ids.remove(id) {
            self.tokens.remove(&token);
        }
    }

    pub(super) fn has_id(&self, id: &RequestId) -> bool {
        self.ids.contains_key(id)
    }

    pub(super) fn has_token(&self, token: &RequestId) -> bool {
        self.tokens.contains(token)
    }
}
