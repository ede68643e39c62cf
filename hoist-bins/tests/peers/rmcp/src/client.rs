//! Takes the steps and prints what the SDK returned for each.

#![expect(deprecated, reason = "sampling is, and servers use it still")]

use std::error::Error;
use std::fs;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    CreateMessageRequestParams, CreateMessageResult, ErrorData, ProgressNotificationParam,
    ProtocolVersion,
};
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RequestContext, RequestHandle, RunningService,
};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::{Receiver, Sender, channel};

type Client = RunningService<RoleClient, Watcher>;

pub async fn run(
    era: &str,
    steps: &str,
    command: &str,
    arguments: &[&str],
) -> Result<(), Box<dyn Error>> {
    let steps: Vec<Value> = serde_json::from_str(&fs::read_to_string(steps)?)?;
    let lifecycle = match era {
        "legacy" => ClientLifecycleMode::Initialize,
        "auto" => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
        other => return Err(format!("no era {other}").into()),
    };
    let (sender, mut noted) = channel(16);
    let host = Watcher(sender);
    let mut client = if command.starts_with("http") {
        let server = StreamableHttpClientTransport::from_uri(command);
        host.serve_with_lifecycle(server, lifecycle).await?
    } else {
        let mut words = Command::new(command);
        words.args(arguments);
        host.serve_with_lifecycle(TokioChildProcess::new(words)?, lifecycle).await?
    };
    print(json!({"server": client.peer_info()}));
    for step in &steps {
        print(json!({"step": step, "got": take(&client, step, &mut noted).await?}));
    }
    client.close().await?;
    Ok(())
}

fn print(line: Value) {
    println!("{line}");
}

async fn take(
    client: &Client,
    step: &Value,
    noted: &mut Receiver<ProgressNotificationParam>,
) -> Result<Value, Box<dyn Error>> {
    if step["list"] == true {
        return Ok(json!(client.list_all_tools().await?));
    }
    if step["resources"] == true {
        let resources = client.list_all_resources().await?;
        let templates = client.list_all_resource_templates().await?;
        return Ok(json!({"resources": resources, "templates": templates}));
    }
    if step["read"].is_string() {
        let params = serde_json::from_value(json!({"uri": step["read"]}))?;
        return Ok(outcome(client.read_resource(params).await.map(|result| json!(result))));
    }
    if step["prompts"] == true {
        return Ok(json!(client.list_all_prompts().await?));
    }
    if step["prompt"].is_string() {
        let params = json!({"name": step["prompt"], "arguments": step["arguments"]});
        let answer = client.get_prompt(serde_json::from_value(params)?).await;
        return Ok(outcome(answer.map(|result| json!(result))));
    }
    if let Some(calls) = step["together"].as_array() {
        let mut running = Vec::new();
        for call in calls {
            running.push(start(client, call).await?);
        }
        let mut outcomes = Vec::new();
        for call in running {
            outcomes.push(outcome(call.await_response().await.map(|result| json!(result))));
        }
        return Ok(Value::Array(outcomes));
    }
    if step["cancel"].is_object() {
        let slow = start(client, &step["cancel"]).await?;
        // The answer to a later call shows that the server has this one.
        let beside = outcome(
            start(client, &step["beside"])
                .await?
                .await_response()
                .await
                .map(|result| json!(result)),
        );
        slow.cancel(Some("no longer wanted".into())).await?;
        return Ok(json!({"beside": beside}));
    }
    let call = start(client, step).await?;
    let Some(awaited) = step["progress"].as_u64() else {
        return Ok(
            json!({"outcome": outcome(call.await_response().await.map(|result| json!(result)))}),
        );
    };
    let mut progress = Vec::new();
    while (progress.len() as u64) < awaited {
        let note = noted.recv().await.ok_or("the client is gone")?;
        assert_eq!(note.progress_token, call.progress_token);
        progress.push(note);
    }
    // The SDK handles each notification in a task of its own, in no order.
    progress.sort_by(|a, b| a.progress.total_cmp(&b.progress));
    let then = outcome(
        start(client, &step["then"]).await?.await_response().await.map(|result| json!(result)),
    );
    let outcome = outcome(call.await_response().await.map(|result| json!(result)));
    Ok(json!({"outcome": outcome, "progress": progress, "then": then}))
}

async fn start(client: &Client, call: &Value) -> Result<RequestHandle<RoleClient>, ServiceError> {
    let name = call["call"].as_str().expect("a call has a name").to_owned();
    let arguments = call["arguments"].as_object().expect("a call has arguments").clone();
    let params = CallToolRequestParams::new(name).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    client.send_cancellable_request(request, PeerRequestOptions::no_options()).await
}

fn outcome(answer: Result<Value, ServiceError>) -> Value {
    match answer {
        Ok(result) => json!({"result": result}),
        Err(ServiceError::McpError(ErrorData { code, message, data, .. })) => {
            json!({"error": {"code": code, "message": message, "data": data}})
        }
        Err(other) => json!({"failed": other.to_string()}),
    }
}

/// A host that keeps what it is told of progress, and has a model.
struct Watcher(Sender<ProgressNotificationParam>);

impl ClientHandler for Watcher {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.capabilities = ClientCapabilities::builder().enable_sampling().build();
        config
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let text = json!({"type": "text", "text": "I am the model"});
        let said = json!({"role": "assistant", "content": text, "model": "test-model"});
        Ok(serde_json::from_value(said).expect("it is what the schema says"))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        // Nobody listens any more once all steps were taken.
        let _ = self.0.send(params).await;
    }
}
