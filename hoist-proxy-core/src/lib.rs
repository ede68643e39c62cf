#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod connection;
mod context;
#[cfg(doc)]
pub mod docs;
mod era;
mod error;
mod exchange;
mod id;
mod interceptor;
pub mod json;
mod layer;
mod line;
mod message;
mod proxy;
mod session;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
mod wire_error;

pub use connection::{
    Aside, Closing, Connection, Downstream, Ended, Frame, Framing, Host, Part, ReadLines, TooLong,
    Upstream, WhenEnded, WriteLines,
};
pub use context::{InvalidSessionId, SessionContext, SessionId};
pub use era::{Era, modern_version, names};
pub use error::{Ambiguity, Breakage, Cause, Error};
pub use exchange::{Exchange, Next, Request, Response};
pub use id::RequestId;
pub use interceptor::{
    Acts, Body, Crossing, Direction, Emit, Finish, Hold, Interceptor, Notification, Pass, Side,
    WhenBroken,
};
pub use json::{InvalidJson, RawJson};
pub use layer::{InterceptorFn, Layer, interceptor_fn, layer_fn};
pub use line::{Line, Terminator};
pub use message::{Kind, Message};
pub use proxy::{DEFAULT_MAX_MESSAGE_BYTES, MAX_EXCHANGES, MAX_HELD, Proxy, Report, SessionEvent};
pub use wire_error::{INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, wire_error};

/// A future on the heap, as the traits here return them.
pub use futures::future::BoxFuture;
