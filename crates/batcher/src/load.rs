//! A workload, played against a server on this machine: its tasks as requests, each at its time whatever became of those before it.

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, StatusCode, header::CONTENT_TYPE};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use sched_distill_core::{
    rng::{Split, Stream, episode_seed, hash},
    simulation::percentile,
};
use sched_distill_serving::workload::{ServingTask, ServingWorkload};
use serde::Serialize;
use serde_json::json;
use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    task::JoinSet,
    time::timeout,
};

/// Words are below this, so that any vocabulary has them, and none is 0, which stands for nothing.
const WORDS: usize = 32;

/// What is played.
#[derive(Clone, Debug)]
pub struct LoadParams {
    /// Where the server listens; on this machine.
    pub to: SocketAddr,
    /// Of the episode, as for `distill simulate`.
    pub seed: u64,
    /// Which of the test episodes.
    pub episode: u64,
    /// How long an answer is waited for.
    pub patience: Duration,
    /// Most tasks that an episode may have.
    pub most: usize,
}

/// Why a workload is not played.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Another machine.
    #[error("{0} is not on this machine: load is played against 127.0.0.0/8 and [::1] only")]
    Remote(SocketAddr),
    /// More than it may have.
    #[error("the episode has more tasks than --most {most}; give it fewer seconds or a lower load")]
    Many {
        /// How many there may be.
        most: usize,
    },
    /// A name that is no part of an address.
    #[error("application `{0}` cannot be asked: its name is no part of an address")]
    Name(String),
    /// Nobody listens.
    #[error("nobody answers at {to}: {problem}")]
    Nobody {
        /// Where.
        to: SocketAddr,
        /// What the system said.
        problem: String,
    },
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Answered,
    /// 429.
    Refused,
    /// Another status, or a connection that broke: which.
    Failed(String),
    /// Nothing came within the patience of either side.
    Expired,
}

/// What was measured; the figures are those of the simulator.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Played {
    /// Tasks that were asked.
    pub tasks: usize,
    /// Tasks that were answered.
    pub answered: usize,
    /// Tasks that were refused, since a queue was full.
    pub refused: usize,
    /// Tasks that failed otherwise.
    pub failed: usize,
    /// How the first of them failed.
    pub failure: Option<String>,
    /// Tasks that nobody answered within the patience.
    pub expired: usize,
    /// Mean slowdown of answered tasks: time from the planned arrival ÷ time alone, as the workload has it.
    pub slowdown: f64,
    /// What 95 % of the latencies do not exceed, ms.
    pub p95_ms: f64,
    /// What 99 % of the latencies do not exceed, ms.
    pub p99_ms: f64,
    /// Tasks per second that were answered while tasks arrived.
    pub throughput: f64,
    /// Share of all tasks that were answered within the objective.
    pub in_time: f64,
    /// By how much requests were late that were late most: whether this side kept up, ms.
    pub late_ms: f64,
}

/// Plays an episode; `each` is told of every task that has ended.
///
/// # Errors
///
/// A server elsewhere or none, or an episode with too many tasks.
pub async fn play(
    workload: &ServingWorkload,
    params: &LoadParams,
    each: &mut dyn FnMut(usize, usize),
) -> Result<Played, LoadError> {
    if !params.to.ip().is_loopback() {
        return Err(LoadError::Remote(params.to));
    }
    let seed = episode_seed(params.seed, Split::Test, params.episode);
    if workload.has_more_jobs(seed, params.most) {
        return Err(LoadError::Many { most: params.most });
    }
    let tasks = workload.jobs(seed);
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    is_there(&client, params.to).await.map_err(|problem| LoadError::Nobody { to: params.to, problem })?;
    let requests = (0..).zip(&tasks).map(|(place, task)| request(workload, params.to, task, hash(&[seed, place])));
    let requests = requests.collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now() + Duration::from_millis(100);
    let due: Vec<Instant> = tasks.iter().map(|task| start + Duration::from_secs_f64(1e-3 * task.arrival_ms)).collect();
    let mut plan = paced(due.clone());
    let (mut requests, mut asked) = (requests.into_iter(), JoinSet::new());
    let mut ends = vec![(End::Failed(String::new()), Duration::ZERO, Duration::ZERO); tasks.len()];
    let (mut ended, mut all_asked) = (0, false);
    while !all_asked || !asked.is_empty() {
        tokio::select! {
            place = plan.recv(), if !all_asked => match place.zip(requests.next()) {
                None => all_asked = true,
                Some((place, request)) => {
                    let (client, patience, due) = (client.clone(), params.patience, due[place]);
                    asked.spawn(async move {
                        let late = due.elapsed();
                        let end = timeout(patience, ask(&client, request)).await.unwrap_or(End::Expired);
                        (place, end, late, due.elapsed())
                    });
                }
            },
            Some(joined) = asked.join_next() => {
                if let Ok((place, end, late, latency)) = joined {
                    ends[place] = (end, late, latency);
                }
                ended += 1;
                each(ended, tasks.len());
            }
        }
    }
    Ok(figures(workload, &tasks, &ends))
}

/// Tells of each place when its time has come: from a thread of its own, since timers of the runtime have whole milliseconds.
fn paced(due: Vec<Instant>) -> UnboundedReceiver<usize> {
    let (tell, told) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for (place, due) in due.into_iter().enumerate() {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if tell.send(place).is_err() {
                return;
            }
        }
    });
    told
}

async fn is_there(client: &Client<HttpConnector, Full<Bytes>>, to: SocketAddr) -> Result<(), String> {
    let health = format!("http://{to}/healthz").parse().map_err(|_| "no address".to_owned())?;
    match timeout(Duration::from_secs(5), client.get(health)).await {
        Ok(Ok(response)) if response.status() == StatusCode::OK => Ok(()),
        Ok(Ok(response)) => Err(format!("/healthz says {}", response.status())),
        Ok(Err(error)) => Err(chain(&error)),
        Err(_) => Err("no answer within 5 s".to_owned()),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn request(
    workload: &ServingWorkload,
    to: SocketAddr,
    task: &ServingTask,
    seed: u64,
) -> Result<Request<Full<Bytes>>, LoadError> {
    let name = &workload.cluster().server.applications[task.application as usize].name;
    let mut stream = Stream::new(seed, "words of a task");
    let words: Vec<usize> = (0..task.size).map(|_| 1 + stream.below(WORDS - 1)).collect();
    let body = json!({"instances": [words]}).to_string();
    let request = Request::post(format!("http://{to}/v1/models/{name}:predict"));
    let request = request.header(CONTENT_TYPE, "application/json").body(Full::new(body.into()));
    request.map_err(|_| LoadError::Name(name.to_string()))
}

async fn ask(client: &Client<HttpConnector, Full<Bytes>>, request: Request<Full<Bytes>>) -> End {
    let response = match client.request(request).await {
        Ok(response) => response,
        Err(error) => return End::Failed(chain(&error)),
    };
    let status = response.status();
    // The answer has come when all of it has.
    match (status, response.into_body().collect().await) {
        (StatusCode::OK, Ok(_)) => End::Answered,
        (StatusCode::TOO_MANY_REQUESTS, _) => End::Refused,
        (StatusCode::GATEWAY_TIMEOUT, _) => End::Expired,
        (_, Ok(body)) => {
            let said: String = String::from_utf8_lossy(&body.to_bytes()).chars().take(200).collect();
            End::Failed(format!("{status}: {said}"))
        }
        (_, Err(error)) => End::Failed(chain(&error)),
    }
}

fn figures(workload: &ServingWorkload, tasks: &[ServingTask], ends: &[(End, Duration, Duration)]) -> Played {
    let ms = |duration: Duration| 1e3 * duration.as_secs_f64();
    let count = |wanted: &End| ends.iter().filter(|(end, ..)| end == wanted).count();
    let mut failures = ends.iter().filter_map(|(end, ..)| match end {
        End::Failed(why) => Some(why.clone()),
        _ => None,
    });
    let mut played = Played {
        tasks: tasks.len(),
        answered: count(&End::Answered),
        refused: count(&End::Refused),
        failed: failures.clone().count(),
        failure: failures.next(),
        expired: count(&End::Expired),
        late_ms: ends.iter().map(|(_, late, _)| ms(*late)).fold(0.0, f64::max),
        ..Played::default()
    };
    let (mut slowdown, mut in_time, mut early) = (0.0, 0u32, 0u32);
    let mut latencies = Vec::with_capacity(played.answered);
    for (task, (_, _, latency)) in tasks.iter().zip(ends).filter(|(_, (end, ..))| *end == End::Answered) {
        let (application, latency_ms) =
            (&workload.cluster().server.applications[task.application as usize], ms(*latency));
        slowdown += latency_ms / application.solo_ms(task.size);
        in_time += u32::from(latency_ms <= application.objective_ms);
        early += u32::from(task.arrival_ms + latency_ms <= workload.cluster().horizon_ms);
        latencies.push(latency_ms);
    }
    latencies.sort_unstable_by(f64::total_cmp);
    played.slowdown = slowdown / played.answered as f64;
    (played.p95_ms, played.p99_ms) = (percentile(&latencies, 95), percentile(&latencies, 99));
    played.throughput = 1e3 * f64::from(early) / workload.cluster().horizon_ms;
    played.in_time = f64::from(in_time) / played.tasks as f64;
    played
}
