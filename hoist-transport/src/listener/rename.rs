//! Ids and progress tokens of callers that share a server.
//!
//! Each caller counts from where it likes, so two of them may use one id at once. The later one's is
//! then another on the server's side, and what the server says of it is put back.

use bytes::Bytes;
use hoist_proxy_core::json::object_set;
use hoist_proxy_core::{Line, Message, RawJson, RequestId, names};

use super::router::{Awaited, Router};

/// The `_meta` key of a notification that came of a subscription.
pub(super) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

impl Router {
    /// A modern request as the server is to get it, and how its answer is awaited. It is the same
    /// line unless its id or its progress token is in use.
    pub(super) fn admit(&mut self, message: &Message) -> (Line, Awaited) {
        let is_listing = message.method() == Some(names::TOOLS_LIST);
        let mut awaited = Awaited {
            id: message.id().map(RequestId::detached),
            listing: is_listing.then(|| message.clone()),
            ..Awaited::default()
        };
        let mut text = None;
        let raw = || RawJson::parse(message.line().body_bytes()).ok();
        if let Some(id) = &awaited.id
            && (self.by_id.contains_key(id) || self.abandoned.has_id(id))
            && let Some(object) = raw()
        {
            let other = self.unused();
            text = Some(object_set(&object, "id", &other));
            awaited.host_id =
                RequestId::parse(other.as_bytes()).and_then(|other| awaited.id.replace(other));
        }
        let meta = message.params().and_then(|params| params.get(names::META));
        awaited.logs = meta.as_ref().is_some_and(|meta| meta.get(LOG_LEVEL).is_some());
        let token = meta.as_ref().and_then(|meta| meta.get(names::PROGRESS_TOKEN));
        if let Some(token) = token.and_then(|token| RequestId::parse(token.as_bytes())) {
            let token = token.detached();
            awaited.token = Some((token.clone(), None));
            if (self.by_token.contains_key(&token) || self.abandoned.has_token(&token))
                && let Some(object) = text.take().or_else(raw)
            {
                let other = self.unused();
                text = Some(in_meta(&object, "params", names::PROGRESS_TOKEN, &other));
                awaited.token =
                    RequestId::parse(other.as_bytes()).map(|other| (other, Some(token)));
            }
        }
        let line =
            text.map_or_else(|| message.line().clone(), |text| Line::from_body(text.as_bytes()));
        (line, awaited)
    }

    /// An id, or a token, that nobody uses.
    fn unused(&mut self) -> RawJson {
        loop {
            self.renamed += 1;
            let name = RawJson::string(&format!("hoist-listen-{}", self.renamed));
            let Some(id) = RequestId::parse(name.as_bytes()) else { return name };
            let is_used = self.by_id.contains_key(&id)
                || self.by_token.contains_key(&id)
                || self.abandoned.has_id(&id)
                || self.abandoned.has_token(&id);
            if !is_used {
                return name;
            }
        }
    }
}

/// `object` with a member of `object[holder]._meta` set.
fn in_meta(object: &RawJson, holder: &str, key: &str, value: &RawJson) -> RawJson {
    let Some(inner) = object.get(holder) else { return object.clone() };
    let Some(meta) = inner.get(names::META) else { return object.clone() };
    let inner = object_set(&inner, names::META, &object_set(&meta, key, value));
    object_set(object, holder, &inner)
}

fn edited(body: Bytes, edit: impl FnOnce(&RawJson) -> RawJson) -> Bytes {
    match RawJson::parse(body.clone()) {
        Ok(object) => edit(&object).as_bytes().clone(),
        Err(_) => body,
    }
}

fn raw(id: &RequestId) -> RawJson {
    RawJson::parse(id.raw().to_owned()).unwrap_or_else(|_| RawJson::string(id.raw()))
}

/// An answer under the id its host knows.
pub(super) fn restored_answer(body: Bytes, host_id: &RequestId) -> Bytes {
    edited(body, |object| {
        let object = object_set(object, "id", &raw(host_id));
        let subscription =
            object.get("result").and_then(|result| result.get(names::META)?.get(SUBSCRIPTION_ID));
        match subscription {
            Some(_) => in_meta(&object, "result", SUBSCRIPTION_ID, &raw(host_id)),
            None => object,
        }
    })
}

/// A notification of the subscription that its host knows by this id.
pub(super) fn restored_subscription(body: Bytes, host_id: &RequestId) -> Bytes {
    edited(body, |object| in_meta(object, "params", SUBSCRIPTION_ID, &raw(host_id)))
}

/// Progress under the token its host knows.
pub(super) fn restored_progress(body: Bytes, host_token: &RequestId) -> Bytes {
    edited(body, |object| match object.get("params") {
        Some(params) => {
            let params = object_set(&params, names::PROGRESS_TOKEN, &raw(host_token));
            object_set(object, "params", &params)
        }
        None => object.clone(),
    })
}

#[cfg(test)]
#[path = "rename_tests.rs"]
mod tests;
