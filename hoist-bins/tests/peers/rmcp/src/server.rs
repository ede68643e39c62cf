//! A server with a few tools, in every era that the SDK speaks.

use std::error::Error;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub async fn run() -> Result<(), Box<dyn Error>> {
    Tools::default().serve(stdio()).await?.waiting().await?;
    Ok(())
}

/// Serves at the URL that is the first line on standard output.
pub async fn run_over_http() -> Result<(), Box<dyn Error>> {
    let tools = Tools::default();
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(serving);
    }
}

#[derive(Clone, Default)]
struct Tools {
    /// What counts waits for this.
    finished: CancellationToken,
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("rmcp-peer", "1"))
            .with_instructions("A few tools to try a proxy on.")
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = [
            tool("echo", json!({"text": {"type": "string"}})),
            tool("fail", json!({"text": {"type": "string"}})),
            tool("add", json!({"a": {"type": "number"}, "b": {"type": "number"}})),
            tool("count", json!({"to": {"type": "integer"}})),
            tool("finish", json!({})),
            tool("wait", json!({})),
        ];
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let text = || vec![ContentBlock::text(arguments["text"].as_str().unwrap_or_default())];
        let result = match &*request.name {
            "echo" => CallToolResult::success(text()),
            "fail" => CallToolResult::error(text()),
            "add" => {
                let number = |name: &str| arguments[name].as_f64();
                let (Some(a), Some(b)) = (number("a"), number("b")) else {
                    return Err(ErrorData::invalid_params("a and b must be numbers", None));
                };
                CallToolResult::structured(json!({"sum": a + b}))
            }
            "count" => {
                count(arguments["to"].as_u64().unwrap_or_default(), &context).await?;
                self.finished.cancelled().await;
                CallToolResult::success(vec![ContentBlock::text("counted")])
            }
            "finish" => {
                self.finished.cancel();
                CallToolResult::success(vec![ContentBlock::text("finished")])
            }
            "wait" => {
                context.ct.cancelled().await;
                CallToolResult::error(vec![ContentBlock::text("cancelled")])
            }
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(result.into())
    }
}

async fn count(to: u64, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    let Some(token) = context.meta.get_progress_token() else { return Ok(()) };
    for step in 1..=to {
        let note = ProgressNotificationParam::new(token.clone(), step as f64)
            .with_total(to as f64)
            .with_message(format!("{step} of {to}"));
        let sent = context.peer.notify_progress(note).await;
        sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    }
    Ok(())
}

fn tool(name: &'static str, properties: Value) -> Tool {
    let mut tool = json!({
        "name": name,
        "description": format!("The tool {name} of a peer in tests."),
        "inputSchema": {"type": "object", "properties": properties},
    });
    if name == "add" {
        tool["outputSchema"] = json!({
            "type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"],
        });
    }
    serde_json::from_value(tool).expect("a tool of our own")
}
