//! `hoist-mcp` with a layer that acts on every request, both ways, and passes it on.
//!
//! What holds for the proxy must hold while a layer acts, too; tests run this program for that. If
//! `HOIST_ACTED` names a file, the number of requests the layer was given is appended to it at the
//! end.

#![forbid(unsafe_code)]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hoist_bins::cli::{Environment, Invocation, mcp_options};
use hoist_bins::mcp::{Surroundings, run_with};
use hoist_proxy_core::{
    Acts, BoxFuture, Direction, Error, Interceptor, Next, Request, Response, layer_fn,
};

struct PassOn(Arc<AtomicU64>);

impl Interceptor for PassOn {
    fn name(&self) -> &'static str {
        "pass-on"
    }

    fn acts(&self) -> Acts {
        Acts::nothing()
            .on_every(Direction::ToServer)
            .on_every(Direction::ToHost)
            .on_notifications()
    }

    fn call<'a>(
        &'a self,
        request: Request,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { next.run(request).await })
    }
}

fn main() -> ExitCode {
    let environment = Environment { home: std::env::var_os("HOME").map(PathBuf::from) };
    let words = std::env::args_os().skip(1).collect();
    let acted = Arc::new(AtomicU64::new(0));
    let code = match mcp_options("hoist-mcp", words, &environment) {
        Ok(Invocation::Run(options)) => {
            let counter = Arc::clone(&acted);
            let layer = layer_fn(move |_session| Ok(Box::new(PassOn(Arc::clone(&counter)))));
            run_with(options, &Surroundings::of_process("hoist-mcp"), vec![Box::new(layer)])
        }
        Ok(Invocation::Print(_)) => 0,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            2
        }
    };
    if let Some(path) = std::env::var_os("HOIST_ACTED")
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path)
    {
        let _ = writeln!(file, "{}", acted.load(Ordering::Relaxed));
    }
    ExitCode::from(code)
}
