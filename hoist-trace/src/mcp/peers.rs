//! Who speaks with whom, and in which revision.

use serde_json::value::RawValue;

use super::lenient::Members;
use super::wire::object;
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
    /// A request of the host's. An error is what could not be read of it; the rest was.
    pub(super) fn request(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), serde_json::Error> {
        // Modern requests all say it; once it is known they need not be read again.
        if method != "initialize" && self.host.is_some() {
            return Ok(());
        }
        let Some(raw) = params else { return Ok(()) };
        let Some(members) = Members::of(raw.get()) else { return Ok(()) };
        let meta = Meta::of(raw);
        let info = members.get("clientInfo").or_else(|| meta.as_ref().and_then(|meta| meta.client));
        let (info, fault) = info.map_or((None, None), implementation);
        self.host = info.or_else(|| self.host.take());
        if let Some(version) = meta.and_then(|meta| meta.version) {
            self.asked_version = Some(version);
        }
        fault.map_or(Ok(()), Err)
    }

    /// The server's answer to `initialize`. An error is what could not be read of it.
    pub(super) fn initialized(&mut self, result: &RawValue) -> Result<(), serde_json::Error> {
        let Some(members) = Members::of(result.get()) else { return Ok(()) };
        let (info, fault) = members.get("serverInfo").map_or((None, None), implementation);
        self.server = info.or_else(|| self.server.take());
        self.protocol_version =
            members.text("protocolVersion").or_else(|| self.protocol_version.take());
        fault.map_or(Ok(()), Err)
    }

    /// The server's answer to `server/discover`: it is modern. An error settles nothing; the host
    /// goes on with `initialize`.
    pub(super) fn discovered(&mut self, result: &RawValue) {
        self.server = server_of(result).or_else(|| self.server.take());
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
            self.server = server_of(result);
        }
    }

    /// Whether the host is Hoist's own program that makes calls with no model.
    pub(super) fn host_is_a_procedure(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.name == "hoist-procedure")
    }
}

/// The `_meta` of parameters or of a result.
struct Meta<'a> {
    client: Option<&'a RawValue>,
    server: Option<&'a RawValue>,
    version: Option<String>,
}

impl<'a> Meta<'a> {
    fn of(outer: &'a RawValue) -> Option<Self> {
        let meta = Members::of(Members::of(outer.get())?.get("_meta")?.get())?;
        Some(Self {
            client: meta.get("io.modelcontextprotocol/clientInfo"),
            server: meta.get("io.modelcontextprotocol/serverInfo"),
            version: meta.text("io.modelcontextprotocol/protocolVersion"),
        })
    }
}

/// Who a result says the server is.
fn server_of(result: &RawValue) -> Option<Implementation> {
    Meta::of(result)?.server.and_then(|info| implementation(info).0)
}

/// Who somebody says it is, and what is wrong with that.
fn implementation(raw: &RawValue) -> (Option<Implementation>, Option<serde_json::Error>) {
    match object(raw.get()) {
        Ok(info) => (Some(info), None),
        Err(fault) => {
            let members = Members::of(raw.get());
            let read = members.as_ref().and_then(|members| {
                let version = members.text("version").unwrap_or_default();
                members.text("name").map(|name| Implementation { name, version })
            });
            (read, Some(fault))
        }
    }
}
