//! The program `distill-engine`.

mod fit_command;
mod passes;
#[cfg(debug_assertions)]
mod toy_command;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};
use fit_command::FitArgs;
use sched_distill_engine::{
    cluster::{self, Executor},
    local,
};
use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::ExitCode,
};

#[derive(Parser)]
#[command(version, about = "Fits students on data that one machine's memory does not hold")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Fit(Box<FitArgs>),
    Scheduler(SchedulerArgs),
    Executor(ExecutorArgs),
    Local(LocalArgs),
    #[cfg(debug_assertions)]
    Toy(toy_command::ToyArgs),
}

/// Hands out the work of fits to executors.
///
/// A cluster has one. It prints its address once it listens, and runs until it is stopped with ctrl-c or SIGTERM.
///
/// Example, on the machine node0: distill-engine scheduler --bind 0.0.0.0:50050 --host node0
#[derive(Args)]
struct SchedulerArgs {
    /// Address to listen at. Port 0 takes any that is free.
    #[arg(long, default_value = "127.0.0.1:50050")]
    bind: SocketAddr,
    /// Name by which executors and clients reach this machine [default: the address it listens at].
    #[arg(long)]
    host: Option<String>,
    #[arg(long, hide = true)]
    with_parent: bool,
}

/// Does the work of fits, as much at once as it has cores.
///
/// A cluster has any number of them, one a machine. Data must be readable under the same name on all. If one is lost,
/// the others do its work. It runs until it is stopped with ctrl-c or SIGTERM.
///
/// Example: distill-engine executor df://node0:50050 --bind 0.0.0.0 --vcores 8
#[derive(Args)]
struct ExecutorArgs {
    /// The scheduler, as it printed its address: df://HOST:PORT.
    #[arg(value_parser = scheduler_address)]
    scheduler: (String, u16),
    /// Tasks at once, each with sums of its own in memory.
    #[arg(long, default_value_t = cores(), value_parser = clap::value_parser!(u16).range(1..))]
    vcores: u16,
    /// Address to listen at, for the scheduler and for other executors.
    #[arg(long, default_value = "127.0.0.1")]
    bind: Ipv4Addr,
    /// Name by which others reach this machine [default: the address from which the scheduler sees it coming].
    #[arg(long)]
    host: Option<String>,
    /// Port from which sums are fetched. 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Port that takes tasks. 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    task_port: u16,
    /// Folder for sums until they are fetched, and for what is read, some 150 bytes a row [default: one for temporary files,
    /// deleted at the end].
    #[arg(long)]
    work_dir: Option<PathBuf>,
    #[arg(long, hide = true)]
    with_parent: bool,
}

/// Runs a scheduler and executors on this machine, to try a cluster.
///
/// It prints the scheduler's address once all are ready. They end with it.
///
/// Example: distill-engine local --executors 3
#[derive(Args)]
struct LocalArgs {
    /// Executors, each a process.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    executors: u16,
    /// Tasks at once of each executor.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    vcores: u16,
}

fn cores() -> u16 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().try_into().unwrap_or(u16::MAX))
}

fn scheduler_address(text: &str) -> Result<(String, u16), String> {
    let parts = text.strip_prefix("df://").and_then(|rest| rest.rsplit_once(':'));
    let address = parts.and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
    address.ok_or_else(|| "the scheduler prints its address as df://HOST:PORT".to_owned())
}

fn say_ready(what: &str) {
    println!("{}{what}", local::READY);
    // The one that started us waits for this line; if it is gone, so are we soon.
    let _ = std::io::stdout().flush();
}

/// Returns when the process that started this one has ended, if it wants that to count.
async fn abandoned(with_parent: bool) {
    if with_parent {
        local::parent_ended().await;
    } else {
        std::future::pending().await
    }
}

/// Shows what the engine warns of, such as an executor that is lost.
struct Warnings;

impl log::Log for Warnings {
    fn enabled(&self, about: &log::Metadata) -> bool {
        about.level() <= log::Level::Warn
    }

    fn log(&self, record: &log::Record) {
        if self.enabled(record.metadata()) {
            eprintln!("{}: {}: {}", record.level(), record.target(), record.args());
        }
    }

    fn flush(&self) {}
}

async fn run(command: Command) -> Result<()> {
    match command {
        // It asks, and so is not asked to wait by those whom it asks.
        Command::Fit(_) => Ok(()),
        Command::Scheduler(SchedulerArgs { bind, host, with_parent }) => {
            ensure!(
                host.is_some() || !bind.ip().is_unspecified(),
                "nobody reaches this machine as {}: give its name with --host",
                bind.ip(),
            );
            let host = host.unwrap_or_else(|| bind.ip().to_string());
            let ready = |port| say_ready(&format!("df://{host}:{port}"));
            cluster::scheduler(bind, &host, ready, abandoned(with_parent)).await
        }
        Command::Executor(ExecutorArgs { scheduler, vcores, bind, host, port, task_port, work_dir, with_parent }) => {
            let executor =
                Executor { scheduler, vcores: vcores.into(), bind, host, ports: [port, task_port], work_dir };
            executor.run(|| say_ready("executor"), abandoned(with_parent)).await
        }
        Command::Local(LocalArgs { executors, vcores }) => local::run(executors, vcores, say_ready).await,
        #[cfg(debug_assertions)]
        Command::Toy(args) => args.run().await,
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    let runtime = match tokio::runtime::Runtime::new().context("no threads can be had") {
        Ok(runtime) => runtime,
        Err(failure) => {
            eprintln!("error: {failure:#}");
            return ExitCode::from(2);
        }
    };
    let ended = match cli.command {
        Command::Fit(args) => args.run(runtime.handle()),
        other => runtime.block_on(run(other)),
    };
    // Parts that are being read cannot be interrupted, and need not be waited for.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure:#}");
            ExitCode::from(2)
        }
    }
}
