//! What clients see: `POST /v1/models/NAME:predict` as of TensorFlow Serving, and pages for those who look after the server.

use crate::{Door, Metrics, Models, NoAnswer, pages::Hosts};
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest as _, Path, Request, State},
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use sched_distill_core::text::one_line;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::yield_now,
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;

/// Most tasks of one request.
const MOST_INSTANCES: usize = 1024;

/// What a server grants its clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most connections at a time; others are sent away with 503. Default 16384.
    pub connections: usize,
    /// Longest request, bytes. Default 1 MiB.
    pub body: usize,
    /// How long the head of a request and its body may take to come in, and an answer to be taken, each. Default 10 s.
    pub patience: Duration,
    /// How long a request waits for its answer; then its tasks are taken back. Default 60 s.
    pub answer: Duration,
    /// How long answers may take that are awaited when the server is to end. Default 30 s.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connections: 16_384, body: 1 << 20, patience: seconds(10), answer: seconds(60), drain: seconds(30) }
    }
}

#[derive(Clone)]
struct Shared {
    models: Models,
    door: Door,
    metrics: Arc<Metrics>,
    limits: Limits,
    /// Whether nothing is taken in any more.
    is_ending: Arc<AtomicBool>,
}

/// Lets clients in until `end` is there; then what was asked is answered, and the door is closed behind. Requests have to call the
/// server by its address, `localhost` or one of `names`.
///
/// Tells whether all was answered in time.
///
/// # Errors
///
/// A listener that fails.
pub async fn serve(
    listener: TcpListener,
    models: Models,
    door: Door,
    metrics: Arc<Metrics>,
    limits: Limits,
    names: Vec<String>,
    end: impl Future<Output = ()>,
) -> io::Result<bool> {
    let hosts = Arc::new(Hosts::new(listener.local_addr()?.ip(), names));
    let is_ending = Arc::new(AtomicBool::new(false));
    let shared = Shared { models, door: door.clone(), metrics, limits, is_ending: is_ending.clone() };
    let routes = Router::new()
        .route("/", get(about))
        .route("/healthz", get(health))
        .route("/metrics", get(page))
        .route("/v1/models/{name}", post(predict).get(status))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "there is no such page; GET / lists those there are"))
        .method_not_allowed_fallback(async || Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "not with this method"))
        .layer(DefaultBodyLimit::max(limits.body))
        .layer(middleware::from_fn_with_state(hosts, keep_out))
        .with_state(shared);
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut end = std::pin::pin!(end);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => continue,
                // No room for another file: others may fare better.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            },
            () = &mut end => break,
        };
        let Some(slot) = slot(&room).await else {
            // In one go, or not at all.
            let _ = stream.try_write(
                b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            );
            continue;
        };
        // Answers are small and awaited.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(routes.clone());
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.patience));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.patience)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // Clients that send anything else than requests, or are gone, are their own affair.
            let _ = connection.await;
            drop(slot);
        });
    }
    is_ending.store(true, Ordering::Relaxed);
    drop(listener);
    let drained = timeout(limits.drain, graceful.shutdown()).await.is_ok();
    door.end();
    Ok(drained)
}

/// Lets those requests through that no page of others can have sent.
async fn keep_out(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    match hosts.check(&request) {
        Ok(()) => next.run(request).await,
        Err((status, problem)) => Refusal::new(status, problem).into_response(),
    }
}

/// A place for a client. Those who have hung up give theirs back as soon as their tasks have had their turn.
async fn slot(room: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    const TURNS: usize = 3;
    for _ in 0..TURNS {
        if let Ok(slot) = room.clone().try_acquire_owned() {
            return Some(slot);
        }
        yield_now().await;
    }
    room.clone().try_acquire_owned().ok()
}

/// A refusal in words, and after how many seconds it is worth coming again.
struct Refusal(StatusCode, String, Option<u64>);

impl Refusal {
    fn new(status: StatusCode, problem: impl Into<String>) -> Self {
        Self(status, problem.into(), None)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(status, problem, retry) = self;
        let mut response = (status, axum_json(&json!({"error": one_line(&problem)}))).into_response();
        if let Some(seconds) = retry {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn axum_json(value: &Value) -> impl IntoResponse + use<> {
    ([(CONTENT_TYPE, "application/json")], value.to_string())
}

impl From<NoAnswer> for Refusal {
    fn from(reason: NoAnswer) -> Self {
        let (status, retry) = match reason {
            NoAnswer::Full { retry_after_s } => (StatusCode::TOO_MANY_REQUESTS, Some(retry_after_s)),
            NoAnswer::Failed(_) => (StatusCode::INTERNAL_SERVER_ERROR, None),
            NoAnswer::Ending => (StatusCode::SERVICE_UNAVAILABLE, Some(1)),
        };
        Self(status, reason.to_string(), retry)
    }
}

fn bad(problem: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, problem)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    instances: Vec<Value>,
    /// What clients of TensorFlow Serving say; there is one.
    #[serde(default, rename = "signature_name")]
    _signature: Option<String>,
}

async fn predict(State(shared): State<Shared>, Path(call): Path<String>, request: Request) -> Response {
    match answered(&shared, &call, request).await {
        Ok(predictions) => axum_json(&json!({"predictions": predictions})).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn answered(shared: &Shared, call: &str, request: Request) -> Result<Vec<Vec<f32>>, Refusal> {
    if shared.is_ending.load(Ordering::Relaxed) {
        return Err(NoAnswer::Ending.into());
    }
    let name = call.strip_suffix(":predict").ok_or_else(|| bad("what is asked for must be NAME:predict"))?;
    let application = place(shared, name)?;
    let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request did not come in");
    let body = timeout(shared.limits.patience, Bytes::from_request(request, &())).await.map_err(late)?;
    let body = body.map_err(|e| Refusal::new(e.status(), e.body_text()))?;
    let question: Question =
        serde_json::from_slice(&body).map_err(|e| bad(format!("must be {{\"instances\": [...]}}: {e}")))?;
    let (found, queue) = (question.instances.len(), shared.models.server().applications[application as usize].queue);
    let most = MOST_INSTANCES.min(queue as usize);
    if !(1..=most).contains(&found) {
        return Err(bad(format!("`instances` must have 1 to {most} tasks, got {found}")));
    }
    let mut tasks = Vec::with_capacity(question.instances.len());
    for (place, instance) in question.instances.iter().enumerate() {
        let mut values = Vec::new();
        let sized = flatten(instance, &mut values).and_then(|()| shared.models.size(application, &values));
        tasks.push((sized.map_err(|problem| bad(format!("instance {place} {problem}")))?, values));
    }
    // Those that still wait when this ends are taken back with their tickets.
    let mut tickets = shared.door.ask(application, tasks);
    let all = async {
        let mut answers = Vec::with_capacity(tickets.len());
        for ticket in &mut tickets {
            answers.push(ticket.answer().await?);
        }
        Ok(answers)
    };
    match timeout(shared.limits.answer, all).await {
        Ok(answers) => answers.map_err(NoAnswer::into),
        Err(_) => {
            let problem = format!("no answer within {} s", shared.limits.answer.as_secs_f64());
            Err(Refusal::new(StatusCode::GATEWAY_TIMEOUT, problem))
        }
    }
}

fn place(shared: &Shared, name: &str) -> Result<u32, Refusal> {
    shared.models.place(name).ok_or_else(|| {
        let known: Vec<&str> = shared.models.server().applications.iter().map(|of| &*of.name).collect();
        Refusal::new(StatusCode::NOT_FOUND, format!("there is no model `{name}`; there are {}", known.join(", ")))
    })
}

/// The numbers of a list of lists, in order.
fn flatten(value: &Value, into: &mut Vec<f64>) -> Result<(), String> {
    match value {
        Value::Array(parts) => parts.iter().try_for_each(|part| flatten(part, into)),
        Value::Number(number) => {
            into.push(number.as_f64().unwrap_or(f64::NAN));
            Ok(())
        }
        Value::Bool(flag) => {
            into.push(f64::from(u8::from(*flag)));
            Ok(())
        }
        _ => {
            let found: String = value.to_string().chars().take(40).collect();
            Err(format!("must be numbers, got {found}"))
        }
    }
}

async fn status(State(shared): State<Shared>, Path(name): Path<String>) -> Response {
    if name.ends_with(":predict") {
        return Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "tasks are asked by POST").into_response();
    }
    match place(&shared, &name) {
        Ok(_) => {
            let state = if shared.is_ending.load(Ordering::Relaxed) { "UNLOADING" } else { "AVAILABLE" };
            axum_json(&json!({"model_version_status": [{"version": "1", "state": state}]})).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

async fn health(State(shared): State<Shared>) -> (StatusCode, &'static str) {
    match shared.is_ending.load(Ordering::Relaxed) {
        true => (StatusCode::SERVICE_UNAVAILABLE, "ending\n"),
        false => (StatusCode::OK, "ok\n"),
    }
}

async fn page(State(shared): State<Shared>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], shared.metrics.page())
}

async fn about(State(shared): State<Shared>) -> String {
    let names: Vec<String> = shared
        .models
        .server()
        .applications
        .iter()
        .map(|of| format!("  POST /v1/models/{}:predict\n", one_line(&of.name)))
        .collect();
    format!("distill-batcher\n\n{}  GET  /metrics\n  GET  /healthz\n", names.concat())
}
