//! `distill-batcher`: serve models in batches that a student or a heuristic decides, and play load against it.

use anyhow::{Context as _, Result, bail};
use axum::http::uri::Authority;
use clap::{Args, Parser, Subcommand};
use sched_distill_batcher::{
    Metrics, Models, Scheduler,
    http::{self, Limits},
    load::{self, LoadParams, Played},
};
use sched_distill_core::{spec::Spec, text::one_line};
use sched_distill_serving::{policies, workload::ServingWorkload};
use std::{
    io::{IsTerminal as _, Write as _},
    net::SocketAddr,
    process::ExitCode,
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};
use tokio::{net::TcpListener, runtime};

/// Serve models over HTTP in batches that a student or a heuristic decides
#[derive(Parser)]
#[command(
    name = "distill-batcher",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  distill profile-model data/text-classifier.onnx -o models.json\n  \
distill-batcher serve -w models:models.json -p dybatch\n  \
distill-batcher load -w models:models.json,load=0.02,seconds=10\n\n\
docs/batcher.md has the rest."
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(ServeArgs),
    Load(LoadArgs),
}

/// Serve the models of a workload until SIGTERM or Ctrl-C
#[derive(Args)]
#[command(after_help = "Examples:\n  distill-batcher serve -w models:models.json -p dybatch\n  \
distill-batcher serve -w models:models.json,queue=200,timeout=2 -p student:student.json\n\n  \
  curl --json '{\"instances\": [[3, 14, 15]]}' http://127.0.0.1:7411/v1/models/text-classifier:predict\n  \
curl http://127.0.0.1:7411/metrics")]
struct ServeArgs {
    /// models:FILE[,...] as for `distill simulate`: who may ask what, and how long batches take
    #[arg(short, long, value_name = "WORKLOAD")]
    workload: Spec,
    /// Policy that decides (see `distill list policies --scenario serving`)
    #[arg(short, long, value_name = "POLICY", default_value = "dybatch")]
    policy: Spec,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    listen: SocketAddr,
    /// Listen at an address that other machines can reach; anybody there is answered
    #[arg(long)]
    allow_remote: bool,
    /// Another name that clients may call it by, such as batcher.example; repeatable
    ///
    /// Requests whose Host is another are refused: pages of others could have sent them.
    #[arg(long, value_name = "NAME", value_parser = host)]
    allow_host: Vec<String>,
    /// Most connections at a time; others are sent away with 503
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, value_parser = count)]
    max_connections: usize,
    /// Longest request, bytes
    #[arg(long, value_name = "N", default_value_t = Limits::default().body, value_parser = count)]
    max_body: usize,
    /// How long a request waits for its answer, s
    #[arg(long, value_name = "S", default_value_t = Limits::default().answer.as_secs_f64(), value_parser = seconds)]
    answer_within: f64,
    /// How long those who have asked are answered once it is to end, s
    #[arg(long, value_name = "S", default_value_t = Limits::default().drain.as_secs_f64(), value_parser = seconds)]
    drain_within: f64,
}

/// Play an episode of a workload against a server on this machine
#[derive(Args)]
#[command(after_help = "Examples:\n  distill-batcher load -w models:models.json,load=0.02,seconds=10\n  \
distill-batcher load -w models:models.json,load=0.05,seconds=60 --episode 3 --json\n\n\
Tasks are those of `distill simulate` with the same workload, seed and episode, each asked at its time.")]
struct LoadArgs {
    /// models:FILE[,...], the same that is served
    #[arg(short, long, value_name = "WORKLOAD")]
    workload: Spec,
    /// Where the server listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    to: SocketAddr,
    /// Seed of all episodes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Which episode of the test split
    #[arg(long, value_name = "N", default_value_t = 0)]
    episode: u64,
    /// How long an answer is waited for, s
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    patience: f64,
    /// Most tasks that the episode may have
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = count)]
    most: usize,
    /// Print what was measured as JSON
    #[arg(long)]
    json: bool,
}

fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1_000_000_000) => Ok(n),
        _ => Err("expected a whole number from 1 to 1000000000".to_owned()),
    }
}

fn host(text: &str) -> Result<String, String> {
    match text.parse::<Authority>() {
        Ok(authority) if authority.host() == text => Ok(text.to_owned()),
        _ => Err("expected a name without a port, such as batcher.example".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if s > 0.0 && s <= 1e6 => Ok(s),
        _ => Err("expected a positive number of seconds, up to 1e6".to_owned()),
    }
}

fn main() -> ExitCode {
    let program = Program::parse();
    quiet_models();
    // As many connections as the system allows; with fewer, some wait.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let done = match &program.command {
        Command::Serve(args) => serve(args),
        Command::Load(args) => play(args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", one_line(&format!("{error:#}")));
            ExitCode::from(2)
        }
    }
}

/// What tract panics about, of words that a model does not know for instance, is caught and answered.
fn quiet_models() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|at| at.file().contains("tract-")) {
            usual(panic);
        }
    }));
}

fn open(spec: &Spec) -> Result<ServingWorkload> {
    if spec.name != "models" {
        bail!("-w {spec}: only models:FILE can be served, a list that `distill profile-model` wrote (docs/batcher.md)");
    }
    ServingWorkload::open(spec).with_context(|| format!("-w {spec}"))
}

fn serve(args: &ServeArgs) -> Result<ExitCode> {
    if !args.allow_remote && !args.listen.ip().is_loopback() {
        bail!("--listen {}: other machines can reach it; say --allow-remote if they are to", args.listen);
    }
    let models = Models::load(&open(&args.workload)?)?;
    let policy = policies::open(&args.policy).with_context(|| format!("-p {}", args.policy))?;
    models.warm_up()?;
    let metrics = Arc::new(Metrics::new(models.server().clone()));
    let (door, scheduler) = Scheduler::start(models.clone(), policy, metrics.clone()).context("cannot start")?;
    let limits = Limits {
        connections: args.max_connections,
        body: args.max_body,
        answer: Duration::from_secs_f64(args.answer_within),
        drain: Duration::from_secs_f64(args.drain_within),
        ..Limits::default()
    };
    let runtime = runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let drained = runtime.block_on(async {
        let listener =
            TcpListener::bind(args.listen).await.with_context(|| format!("cannot listen at {}", args.listen))?;
        let at = listener.local_addr()?;
        let names: Vec<&str> = models.server().applications.iter().map(|of| &*of.name).collect();
        let decides = format!("{} decides for {}", args.policy, names.join(", "));
        println!("listening at http://{at}, {}", one_line(&decides));
        std::io::stdout().flush()?;
        let told = ended()?;
        let end = async {
            tokio::select! {
                () = told => {}
                () = finished(&scheduler) => {}
            }
        };
        anyhow::Ok(http::serve(listener, models.clone(), door, metrics, limits, args.allow_host.clone(), end).await?)
    })?;
    // Whatever was not answered in time is not worth waiting for.
    match drained {
        true => scheduler
            .join()
            .map_err(|_| anyhow::anyhow!("the scheduler has failed"))?
            .map(|()| ExitCode::SUCCESS)
            .context("the books of the server do not fit what happened"),
        false => {
            eprintln!("not all that was asked was answered within --drain-within {} s", args.drain_within);
            Ok(ExitCode::from(1))
        }
    }
}

/// The end of a thread that should not end.
async fn finished<T>(thread: &JoinHandle<T>) {
    while !thread.is_finished() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// SIGTERM or Ctrl-C.
fn ended() -> Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    Ok(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = term.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
        // Who says it twice does not want to wait.
        tokio::spawn(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(1);
            }
        });
    })
}

fn play(args: &LoadArgs) -> Result<ExitCode> {
    let workload = open(&args.workload)?;
    let patience = Duration::from_secs_f64(args.patience);
    let params = LoadParams { to: args.to, seed: args.seed, episode: args.episode, patience, most: args.most };
    let runtime = runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let is_watched = std::io::stderr().is_terminal();
    let mut shown = std::time::Instant::now();
    let mut each = |ended: usize, of: usize| {
        if is_watched && (shown.elapsed().as_millis() > 200 || ended == of) {
            eprint!("\r{ended} of {of} tasks have ended {}", if ended == of { "\n" } else { "" });
            shown = std::time::Instant::now();
        }
    };
    let played = runtime.block_on(load::play(&workload, &params, &mut each))?;
    if args.json {
        println!("{}", serde_json::to_string(&played)?);
    } else {
        print(&played);
    }
    if let Some(failure) = &played.failure {
        eprintln!("the first that failed: {}", one_line(failure));
    }
    Ok(if played.answered > 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn print(played: &Played) {
    let Played { tasks, answered, refused, failed, expired, .. } = played;
    println!("{tasks} tasks: {answered} answered, {refused} refused, {failed} failed, {expired} not answered in time");
    println!("mean slowdown          {:>9.2}", played.slowdown);
    println!("p95 latency            {:>9.1} ms", played.p95_ms);
    println!("p99 latency            {:>9.1} ms", played.p99_ms);
    println!("throughput             {:>9.1} tasks/s", played.throughput);
    println!("within the objective   {:>9.1} %", 100.0 * played.in_time);
    println!("latest request         {:>9.1} ms behind its time", played.late_ms);
}
