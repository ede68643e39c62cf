//! An interceptor that counts the calls of each tool, and lets one tool not be called.
//!
//! The lesson: a layer makes one interceptor for each session; the interceptor says what it acts on
//! and is then called around those requests. Refusing is answering without going inward: the server
//! never sees the call. The answer is an ordinary result with `isError`, which a model reads and
//! can act on, where a JSON-RPC error may end its run.
//!
//! ```sh
//! cargo build -p hoist-bins
//! echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lookup"}}' \
//!   | cargo run -q -p hoist-examples --bin count_and_refuse -- lookup target/debug/hoist-mcp-demo
//! cargo test -p hoist-examples --bin count_and_refuse
//! ```

#![forbid(unsafe_code)]
#![expect(clippy::print_stderr, reason = "standard output belongs to the protocol")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use hoist_proxy_core::{
    Acts, BoxFuture, Direction, Error, Finish, Interceptor, Layer, Next, Proxy, RawJson, Request,
    Response, SessionContext,
};
use hoist_transport::{ChildServer, Stdio, Termination};

/// Counts the calls of each tool, and refuses those of one.
struct CountAndRefuse {
    refused: String,
}

impl Layer for CountAndRefuse {
    fn layer(&self, _session: &SessionContext) -> Result<Box<dyn Interceptor>, Error> {
        Ok(Box::new(Session { refused: self.refused.clone(), calls: Mutex::default() }))
    }
}

/// The interceptor of one session.
struct Session {
    refused: String,
    calls: Mutex<BTreeMap<String, u64>>,
}

impl Interceptor for Session {
    fn name(&self) -> &'static str {
        "count-and-refuse"
    }

    fn acts(&self) -> Acts {
        // A call that the server might read in another way than this layer goes no further, or
        // `{"name":"harmless","name":"delete_all"}` would get past it.
        Acts::nothing().on(Direction::ToServer, "tools/call").refusing_ambiguous()
    }

    fn call<'a>(
        &'a self,
        request: Request,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        let tool = request.name().unwrap_or_default();
        let refused = tool == self.refused;
        // Calls of several exchanges interleave, so the state is behind a lock. It is never held
        // across an await.
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry(tool).or_default() += 1;
        Box::pin(async move {
            if refused { Ok(refusal(&self.refused)?) } else { next.run(request).await }
        })
    }

    fn finish(&self, _finish: Finish) -> BoxFuture<'_, ()> {
        for (tool, calls) in &*self.calls.lock().unwrap_or_else(PoisonError::into_inner) {
            eprintln!("{calls} x {tool}");
        }
        Box::pin(std::future::ready(()))
    }
}

/// What the model is told in place of a result.
fn refusal(tool: &str) -> Result<Response, Error> {
    let text = RawJson::string(&format!("The tool {tool} is switched off. Do without it."));
    let result = format!(r#"{{"content":[{{"type":"text","text":{text}}}],"isError":true}}"#);
    Ok(Response::result(RawJson::parse(result).map_err(Error::other)?))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [refused, program, args @ ..] = &words[..] else {
        eprintln!("Usage: count_and_refuse TOOL SERVER [ARGUMENT...]");
        return Ok(ExitCode::from(2));
    };
    let termination = Termination::catch()?;
    let host = Stdio::new().watched_by(&termination);
    let server = ChildServer::new(program, args).told_by(&termination);
    let layer = CountAndRefuse { refused: refused.clone() };
    Proxy::new(host, server).layer(layer).run(termination.requested()).await?.into_last()?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use hoist_proxy_core::testkit;

    use super::*;

    fn call(id: u32, tool: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#
        )
    }

    #[tokio::test]
    async fn the_refused_tool_is_answered_and_never_called_and_others_pass() {
        let layer = CountAndRefuse { refused: "delete_all".to_owned() };
        let mut session = testkit::session(vec![Box::new(layer)]);

        session.host.send(&call(1, "delete_all")).await;
        let answer = session.host.receive().await;
        assert!(answer.contains(r#""id":1,"#) && answer.contains(r#""isError":true"#), "{answer}");
        session.server.expect_nothing().await;

        session.host.send(&call(2, "look_up")).await;
        session.server.expect(&call(2, "look_up")).await;
        session.server.send(r#"{"jsonrpc":"2.0","id":2,"result":{"n":1.0}}"#).await;
        session.host.expect(r#"{"jsonrpc":"2.0","id":2,"result":{"n":1.0}}"#).await;
        session.end().await;
    }

    #[tokio::test]
    async fn a_call_that_names_two_tools_is_not_forwarded() {
        let layer = CountAndRefuse { refused: "delete_all".to_owned() };
        let mut session = testkit::session(vec![Box::new(layer)]);
        let both = r#"{"id":1,"method":"tools/call","params":{"name":"a","name":"delete_all"}}"#;
        session.host.send(both).await;
        assert!(session.host.receive().await.contains("-32600"));
        session.server.expect_nothing().await;
        session.end().await;
    }
}
