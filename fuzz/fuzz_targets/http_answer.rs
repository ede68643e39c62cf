//! Whatever an HTTP server answers, byte for byte: the request is answered, by the server or with an
//! error, never both, and the session ends.

#![no_main]

use hoist_proxy_core::{Proxy, testkit};
use hoist_transport::HttpServer;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

fuzz_target!(|answer: &[u8]| {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(ask(answer.to_vec()));
});

async fn ask(answer: Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("it has an address"));
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that goes away is right to.
            let _ = serve(stream, &answer).await;
        }
    });
    let (mut host, downstream) = testkit::host();
    let server = HttpServer::new(&url).expect("a URL").max_message_bytes(4096);
    let running = tokio::spawn(Proxy::new(downstream, server).run(std::future::pending()));
    host.send(r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#).await;
    let (mut answers, mut refusals) = (0, 0);
    while answers == 0 {
        count(&host.receive().await, &mut answers, &mut refusals);
    }
    host.close();
    while let Some(line) = host.receive_line().await {
        count(&String::from_utf8_lossy(line.body()), &mut answers, &mut refusals);
    }
    let report = running.await.expect("it does not panic").expect("hosts were accepted");
    report.into_last().expect("the session began");
    serving.abort();
    assert!(refusals == 0 || answers == 1, "{answers} answers, {refusals} of them refusals");
}

/// Counts what answers the request, and what of that the proxy made.
fn count(line: &str, answers: &mut u32, refusals: &mut u32) {
    let Ok(message) = serde_json::from_str::<Value>(line) else { return };
    let batch = message.as_array().cloned().unwrap_or_else(|| vec![message]);
    for message in batch {
        if message["id"] == 7 && message.get("method").is_none() {
            *answers += 1;
            let text = message["error"]["message"].as_str().unwrap_or_default();
            *refusals += u32::from(text.starts_with("hoist: "));
        }
    }
}

/// Answers a POST with these bytes, and whatever else with an error.
async fn serve(mut stream: TcpStream, answer: &[u8]) -> std::io::Result<()> {
    let mut request = Vec::new();
    // The request ends with its body, which is as long as it is.
    while !request.ends_with(b"\"method\":\"x\"}") && !request.starts_with(b"GET") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let nothing = b"HTTP/1.1 405 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(if request.starts_with(b"POST") { answer } else { nothing }).await?;
    stream.shutdown().await
}
