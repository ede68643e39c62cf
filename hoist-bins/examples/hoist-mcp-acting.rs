//! `hoist-mcp` with a layer that acts on every request, both ways, and passes it on.
//!
//! What holds for the proxy must hold while a layer acts, too; tests run this program for that. If
//! `HOIST_ACTED` names a file, a line is added to it for each request the layer is given, so that
//! a test can see that it acted even when the program is killed.

#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use hoist_bins::cli::{Environment, Invocation, mcp_options};
use hoist_bins::mcp::{Surroundings, run_with};
use hoist_proxy_core::{
    Acts, BoxFuture, Direction, Error, Interceptor, Next, Request, Response, layer_fn,
};

struct PassOn(Option<Arc<File>>);

impl Interceptor for PassOn {
    fn name(&self) -> &'static str {
        "pass-on"
    }

    fn acts(&self) -> Acts {
        Acts::nothing().on_every(Direction::ToServer).on_every(Direction::ToHost).on_notifications()
    }

    fn call<'a>(
        &'a self,
        request: Request,
        next: Next<'a>,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        if let Some(mut file) = self.0.as_deref() {
            let _ = writeln!(file, "{}", request.method());
        }
        Box::pin(async move { next.run(request).await })
    }
}

fn main() -> ExitCode {
    let environment = Environment { home: std::env::var_os("HOME").map(PathBuf::from) };
    let words = std::env::args_os().skip(1).collect();
    let acted = std::env::var_os("HOIST_ACTED")
        .and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok())
        .map(Arc::new);
    let code = match mcp_options("hoist-mcp", words, &environment) {
        Ok(Invocation::Run(options)) => {
            let layer = layer_fn(move |_session| Ok(Box::new(PassOn(acted.clone()))));
            run_with(options, &Surroundings::of_process("hoist-mcp"), vec![Box::new(layer)])
        }
        Ok(Invocation::Print(_)) => 0,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            2
        }
    };
    ExitCode::from(code)
}
