//! Requests of the revisions that start with `initialize`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{self, Reply};
use super::message::{Request, object, string};
use super::results;
use super::revision::Revision;
use super::server::Server;
use super::wire::{INITIALIZE, INVALID_PARAMS, Outcome, PING, RpcError, TOOLS_CALL, TOOLS_LIST};

/// Answers `initialize`, and gives the revision the two sides speak from now on.
pub(super) fn initialize(
    server: &Server,
    params: Option<&RawValue>,
) -> Result<(Revision, String), RpcError> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "protocolVersion")]
        protocol_version: Option<&'a RawValue>,
    }
    let params = params.and_then(object::<Params<'_>>);
    let requested = params.and_then(|params| params.protocol_version).and_then(string);
    let requested = requested.ok_or_else(|| {
        RpcError::new(INVALID_PARAMS, "initialize needs the string protocolVersion")
    })?;
    let revision = Revision::negotiate(&requested);
    Ok((revision, results::initialize(server.world(), revision)))
}

/// Answers any other request.
pub(super) fn answer(server: &Server, request: &Request<'_>, revision: Revision) -> Reply {
    match &*request.method {
        PING => Outcome::Ok("{}".to_owned()).into(),
        TOOLS_LIST => calls::list(server, request.params, revision).into(),
        TOOLS_CALL => calls::call(server, request.params, revision),
        method => {
            debug_assert_ne!(method, INITIALIZE, "initialize changes the connection");
            Outcome::Err(RpcError::unknown_method(method)).into()
        }
    }
}
