//! An MCP server that does as little as it can, to measure what is in front of it.
//!
//! It answers `tools/call` with a text of as many bytes as the argument `bytes` asks for, in the
//! order it is asked, and writes whenever its input runs dry.

#![forbid(unsafe_code)]

use std::io::{self, BufRead, BufReader, Write};

use serde::Deserialize;

#[derive(Deserialize)]
struct Request {
    id: u64,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    arguments: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    bytes: usize,
}

fn main() -> io::Result<()> {
    let mut input = BufReader::with_capacity(64 << 10, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut answers) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let Request { id, params } = serde_json::from_slice(&line)?;
        write!(
            answers,
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#
        )?;
        answers.resize(answers.len() + params.arguments.bytes, b'x');
        answers.extend_from_slice(b"\"}],\"isError\":false}}\n");
        if !input.buffer().contains(&b'\n') {
            output.write_all(&answers)?;
            output.flush()?;
            answers.clear();
        }
    }
}
