//! Clients of other SDKs on servers of other SDKs: each sees the same through the proxy as without
//! it, and every line is in the log.

mod by_url;
mod client;
mod combinations;
mod inspector;
mod listen;
mod run;
mod served;
mod servers;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::peers;
use run::{Outcome, Way, run};
use servers::{SERVERS, Server};

/// A program that takes steps: its command line goes on with a file of steps and the server's
/// command.
struct Client {
    command: Vec<OsString>,
    /// How many times it starts the server.
    starts: usize,
}

impl Client {
    /// A client of the TypeScript SDKs.
    fn node(kind: &'static str, starts: usize) -> Self {
        Self { command: vec!["node".into(), peers::npm_client().into(), kind.into()], starts }
    }

    fn rmcp(era: &'static str) -> Self {
        Self { command: vec![peers::rmcp().into(), "client".into(), era.into()], starts: 1 }
    }

    fn run(&self, way: Way, server: &Server) -> Outcome {
        run(way, &(server.command)(), |dir: &Path, words| {
            let steps = dir.join("steps.json");
            fs::write(&steps, server.steps()).expect("it can be written");
            let mut command = Command::new(&self.command[0]);
            command.args(&self.command[1..]).arg(steps).args(words);
            command
        })
    }
}

/// Has a client take each server's steps in every way, and compares.
#[track_caller]
fn same_on_every_server(client: &Client) {
    let failures: Vec<String> =
        SERVERS.iter().flat_map(|server| failures(client, server)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What is wrong on a server in each way.
fn failures(client: &Client, server: &Server) -> Vec<String> {
    let direct = client.run(Way::Direct, server);
    let mut failures: Vec<String> = problem(&direct, client, server).into_iter().collect();
    for &way in server.ways {
        let problem = client.run(way, server).differs_from(&direct);
        failures.extend(problem.map(|problem| format!("{way:?}: {problem}")));
    }
    failures.iter().map(|failure| format!("on {}: {failure}", server.name)).collect()
}

/// What is wrong without a proxy: then the comparison would say nothing.
fn problem(direct: &Outcome, client: &Client, server: &Server) -> Option<String> {
    let Outcome { status, transcript, stderr, wires, .. } = direct;
    if !status.success() {
        return Some(format!("{status}: {transcript}\n{stderr}"));
    }
    if wires.len() != client.starts {
        return Some(format!("the client started the server {} times", wires.len()));
    }
    if direct.calls() < server.calls() {
        return Some(format!("of {} calls only {} crossed", server.calls(), direct.calls()));
    }
    let unseen = server.seen.iter().find(|text| !transcript.contains(**text))?;
    Some(format!("the client has not seen {unseen:?}: {transcript}"))
}

#[test]
fn typescript_v1_sees_the_same() {
    same_on_every_server(&Client::node("v1", 1));
}

#[test]
fn typescript_v2_sees_the_same() {
    same_on_every_server(&Client::node("v2", 1));
}

#[test]
fn typescript_v2_that_probes_with_a_process_of_its_own_sees_the_same() {
    same_on_every_server(&Client::node("v2-auto", 2));
}

#[test]
fn python_that_probes_sees_the_same() {
    let script: &Path = &peers::python_script("client.py");
    let command = vec![peers::python().into(), script.into(), "auto".into()];
    same_on_every_server(&Client { command, starts: 1 });
}

#[test]
fn rmcp_sees_the_same() {
    same_on_every_server(&Client::rmcp("legacy"));
}

#[test]
fn rmcp_that_probes_sees_the_same() {
    same_on_every_server(&Client::rmcp("auto"));
}
