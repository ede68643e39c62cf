//! Requests of the revision that has no session: each names its version in `params._meta`.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::calls::{self, Reply};
use super::message::{Request, object, string};
use super::results;
use super::revision::Revision;
use super::server::Server;
use super::wire::{
    INVALID_PARAMS, META_CLIENT_CAPABILITIES, META_PROTOCOL_VERSION, Outcome, RpcError,
    SERVER_DISCOVER, SUBSCRIPTIONS_LISTEN, TOOLS_CALL, TOOLS_LIST, UNSUPPORTED_PROTOCOL_VERSION,
};

/// What a request says of itself.
#[derive(Default, Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    client_capabilities: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    fn of(params: Option<&'a RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "_meta")]
            meta: Option<&'a RawValue>,
        }
        let params = params.and_then(object::<Params<'_>>);
        params.and_then(|params| params.meta).and_then(object).unwrap_or_default()
    }
}

/// Whether a request names its protocol version, as only modern ones do.
pub(super) fn names_its_version(params: Option<&RawValue>) -> bool {
    Meta::of(params).protocol_version.is_some()
}

/// Answers a request.
pub(super) fn answer(server: &Server, request: &Request<'_>) -> Reply {
    if let Err(error) = check_meta(&Meta::of(request.params)) {
        return Outcome::Err(error).into();
    }
    match &*request.method {
        SERVER_DISCOVER => Outcome::Ok(results::discover(server.world())).into(),
        TOOLS_LIST => calls::list(server, request.params, Revision::MODERN).into(),
        TOOLS_CALL => calls::call(server, request.params, Revision::MODERN),
        SUBSCRIPTIONS_LISTEN => listen(request.params),
        method => Outcome::Err(RpcError::unknown_method(method)).into(),
    }
}

/// The version comes first: what else `_meta` must hold is the version's to say.
fn check_meta(meta: &Meta<'_>) -> Result<(), RpcError> {
    let missing = |key: &str| {
        RpcError::new(INVALID_PARAMS, format!("_meta lacks {key}, or it is not of its type"))
    };
    let requested =
        meta.protocol_version.and_then(string).ok_or_else(|| missing(META_PROTOCOL_VERSION))?;
    if requested != Revision::MODERN.name() {
        let data = json!({ "supported": [Revision::MODERN.name()], "requested": requested });
        return Err(RpcError::new(UNSUPPORTED_PROTOCOL_VERSION, "unsupported protocol version")
            .with_data(data));
    }
    match meta.client_capabilities {
        Some(capabilities) if capabilities.get().starts_with('{') => Ok(()),
        _ => Err(missing(META_CLIENT_CAPABILITIES)),
    }
}

fn listen(params: Option<&RawValue>) -> Reply {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        notifications: Option<&'a RawValue>,
    }
    let params = params.and_then(object::<Params<'_>>);
    match params.and_then(|params| params.notifications) {
        Some(notifications) if notifications.get().starts_with('{') => Reply::Listen,
        _ => Outcome::Err(RpcError::new(INVALID_PARAMS, "notifications must be an object")).into(),
    }
}
