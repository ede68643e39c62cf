//! Who speaks with whom, and in which revision.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{Text, object};
use crate::episode::Implementation;

/// What the messages say of host and server.
#[derive(Debug, Default)]
pub(super) struct Peers {
    pub(super) host: Option<Implementation>,
    pub(super) server: Option<Implementation>,
    /// The revision the session goes by, once the server has agreed to one.
    pub(super) protocol_version: Option<String>,
    /// The revision the last modern request named.
    asked_version: Option<String>,
}

impl Peers {
    /// A request of the host's.
    pub(super) fn request(&mut self, method: &str, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(default, borrow, rename = "clientInfo")]
            client_info: Option<&'a RawValue>,
        }
        // Modern requests all say it; once it is known they need not be read again.
        if method != "initialize" && self.host.is_some() {
            return;
        }
        let Some(raw) = params else { return };
        let Ok(params) = object::<Params<'_>>(raw.get()) else { return };
        let meta = meta(raw);
        let info = params.client_info.or_else(|| meta.as_ref().and_then(|meta| meta.client));
        if let Some(info) = info.and_then(implementation) {
            self.host = Some(info);
        }
        if let Some(version) = meta.and_then(|meta| meta.version) {
            self.asked_version = Some(version.0.into_owned());
        }
    }

    /// The server's answer to `initialize`.
    pub(super) fn initialized(&mut self, result: &RawValue) {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(default, borrow, rename = "serverInfo")]
            server_info: Option<&'a RawValue>,
            #[serde(default, borrow, rename = "protocolVersion")]
            version: Option<Text<'a>>,
        }
        let Ok(members) = object::<Members<'_>>(result.get()) else { return };
        if let Some(info) = members.server_info.and_then(implementation) {
            self.server = Some(info);
        }
        if let Some(Text(version)) = members.version {
            self.protocol_version = Some(version.into_owned());
        }
    }

    /// The server's answer to `server/discover`: it is modern. An error settles nothing; the host
    /// goes on with `initialize`.
    pub(super) fn discovered(&mut self, result: &RawValue) {
        if let Some(info) = meta(result).and_then(|meta| meta.server).and_then(implementation) {
            self.server = Some(info);
        }
        if let Some(version) = &self.asked_version {
            self.protocol_version = Some(version.clone());
        }
    }

    /// A result of the server's: the request that named a revision was served in it.
    pub(super) fn worked(&mut self, result: &RawValue) {
        let Some(version) = &self.asked_version else { return };
        if self.protocol_version.is_none() {
            self.protocol_version = Some(version.clone());
        }
        if self.server.is_none() {
            self.server = meta(result).and_then(|meta| meta.server).and_then(implementation);
        }
    }

    /// Whether the host is Hoist's own program that makes calls with no model.
    pub(super) fn host_is_a_procedure(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.name == "hoist-procedure")
    }
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(default, borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "io.modelcontextprotocol/serverInfo")]
    server: Option<&'a RawValue>,
    #[serde(default, borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Text<'a>>,
}

fn implementation(raw: &RawValue) -> Option<Implementation> {
    object(raw.get()).ok()
}

/// The `_meta` of parameters or of a result.
fn meta(of: &RawValue) -> Option<Meta<'_>> {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(default, borrow, rename = "_meta")]
        meta: Option<Meta<'a>>,
    }
    object::<Members<'_>>(of.get()).ok()?.meta
}
