//! A client and a server of `rmcp`, for the tests of the proxy.
//!
//! ```text
//! hoist-test-peer-rmcp client legacy|auto STEPS.json COMMAND [ARGUMENT...]
//! hoist-test-peer-rmcp client legacy|auto STEPS.json URL
//! hoist-test-peer-rmcp server [http]
//! ```
//!
//! The client takes the steps of `../steps.md` and prints a line for each.

mod client;
mod server;

use std::error::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["client", era, steps, command, arguments @ ..] => {
            client::run(era, steps, command, arguments).await
        }
        ["server"] => server::run().await,
        ["server", "http"] => server::run_over_http().await,
        _ => Err("client legacy|auto STEPS.json COMMAND [ARGUMENT...], or server [http]".into()),
    }
}
