//! The processes of a cluster: one scheduler, any number of executors.

use crate::{
    affinity::Affinity,
    codec::Codec,
    kept::{forget_in, keep_in},
    settings,
};
use anyhow::{Context, Result, anyhow, bail};
use ballista_core::{config::TaskSchedulingPolicy, utils::GrpcServerConfig};
use ballista_executor::{
    executor_process::{ExecutorProcessConfig, start_executor_process},
    health::ExecutorHealth,
};
use ballista_scheduler::{
    cluster::BallistaCluster,
    config::{SchedulerConfig, TaskDistributionPolicy},
    scheduler_process::{create_scheduler, start_grpc_service_with_listener},
};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    select,
    signal::unix::{SignalKind, signal},
    time::{Instant, sleep},
};

/// Seconds between two signs of life of an executor.
const HEARTBEAT: u64 = 1;

/// Seconds without one until an executor counts as lost and its tasks are given to others. Ten of them: an executor
/// that is only slow for a moment would do its tasks twice.
const LOST: u64 = 10;

/// Seconds that the last executor of a cluster may be gone before what runs is given up.
const NOBODY: u64 = 60;

/// Seconds until the answers and plans of finished passes are deleted. Their client has read them by then.
const KEPT: u64 = 60;

/// Seconds that an executor waits for a scheduler, and seconds that it takes to stop.
const PATIENCE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(5);

/// Runs a scheduler until the process is told to stop, or `abandoned` returns. Executors reach it as `host`. `ready` is
/// given its port.
///
/// # Errors
///
/// If the address cannot be had, or the scheduler breaks.
pub async fn scheduler(
    bind: SocketAddr,
    host: &str,
    ready: impl FnOnce(u16),
    abandoned: impl Future<Output = ()>,
) -> Result<()> {
    let listener = TcpListener::bind(bind)
        .await
        .with_context(|| format!("the scheduler cannot listen at {bind}: is another one running there?"))?;
    let port = listener.local_addr()?.port();
    let config = SchedulerConfig {
        external_host: host.to_owned(),
        bind_host: bind.ip().to_string(),
        bind_port: port,
        scheduling_policy: TaskSchedulingPolicy::PushStaged,
        task_distribution: TaskDistributionPolicy::Custom(Arc::new(Affinity::default())),
        grpc_server_max_decoding_message_size: settings::MESSAGE,
        grpc_server_max_encoding_message_size: settings::MESSAGE,
        executor_timeout_seconds: LOST,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: NOBODY,
        finished_job_data_clean_up_interval_seconds: KEPT,
        finished_job_state_clean_up_interval_seconds: KEPT,
        // Settings of the messages to executors come from here too.
        override_config_producer: Some(Arc::new(|| settings::session(1))),
        override_physical_codec: Some(Arc::new(Codec::new())),
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    ready(port);
    select! {
        ended = start_grpc_service_with_listener(listener, scheduler) => ended.context("the scheduler broke"),
        stopped = told_to_stop() => stopped,
        () = abandoned => Ok(()),
    }
}

/// An executor.
#[derive(Debug, Clone)]
pub struct Executor {
    /// Host and port of the scheduler.
    pub scheduler: (String, u16),
    /// How many tasks it runs at once.
    pub vcores: usize,
    /// Where it listens. `Ballista` cannot read other addresses here.
    pub bind: Ipv4Addr,
    /// How others reach it. None: at the address from which the scheduler sees it coming.
    pub host: Option<String>,
    /// Ports for sums and for tasks. 0: any that is free.
    pub ports: [u16; 2],
    /// Where sums wait to be fetched, and what is read is kept ([`crate::kept`]). None: a folder for temporary files, deleted at the
    /// end.
    pub work_dir: Option<PathBuf>,
}

impl Executor {
    /// Runs it until the process is told to stop, or `abandoned` returns. `ready` is called once the scheduler knows it.
    ///
    /// # Errors
    ///
    /// If no scheduler answers, a port cannot be had, or the executor breaks.
    pub async fn run(self, ready: impl FnOnce(), abandoned: impl Future<Output = ()>) -> Result<()> {
        reach(&self.scheduler).await?;
        let [port, grpc_port] = free_ports(self.bind, self.ports)?;
        let own_folder = self.work_dir.is_none();
        let folder = self
            .work_dir
            .unwrap_or_else(|| std::env::temp_dir().join(format!("distill-engine-{}-{port}", std::process::id())));
        // What was kept for earlier fits is of no use to anybody.
        forget_in(&folder)?;
        std::fs::create_dir_all(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        keep_in(&folder);
        let health = ExecutorHealth::new();
        let config = ExecutorProcessConfig {
            bind_host: self.bind.to_string(),
            external_host: self.host,
            port,
            grpc_port,
            scheduler_host: self.scheduler.0,
            scheduler_port: self.scheduler.1,
            vcores: self.vcores,
            task_scheduling_policy: TaskSchedulingPolicy::PushStaged,
            work_dir: Some(folder.to_str().context("the working folder's name is not UTF-8")?.to_owned()),
            grpc_max_decoding_message_size: settings::MESSAGE,
            grpc_max_encoding_message_size: settings::MESSAGE,
            grpc_server_config: GrpcServerConfig { timeout_seconds: settings::ARRIVAL, ..Default::default() },
            executor_heartbeat_interval_seconds: HEARTBEAT,
            // Sums cannot be moved to disk, so a limit would only make them fail.
            memory_pool_size: Some(0),
            override_config_producer: Some(Arc::new(|| settings::session(1))),
            override_physical_codec: Some(Arc::new(Codec::of_executor())),
            health: health.clone(),
            ..ExecutorProcessConfig::default()
        };
        let known = async {
            while !health.is_ready() {
                sleep(Duration::from_millis(20)).await;
            }
            ready();
            std::future::pending().await
        };
        // It stops by itself when told to, but waits for its tasks, whose results nobody would fetch.
        let too_slow = async {
            told_to_stop().await?;
            sleep(GRACE).await;
            Ok(())
        };
        let ended = select! {
            ended = start_executor_process(Arc::new(config)) => ended.context("the executor broke"),
            never = known => never,
            stopped = too_slow => stopped,
            () = abandoned => Ok(()),
        };
        // What cannot be deleted is left behind.
        let _ = if own_folder { std::fs::remove_dir_all(&folder).map_err(Into::into) } else { forget_in(&folder) };
        ended
    }
}

/// Waits until a scheduler listens.
async fn reach((host, port): &(String, u16)) -> Result<()> {
    let start = Instant::now();
    while let Err(failure) = TcpStream::connect((host.as_str(), *port)).await {
        if start.elapsed() > PATIENCE {
            return Err(anyhow!(failure).context(format!(
                "no scheduler answers at {host}:{port}: start one with `distill-engine scheduler`, or give its address"
            )));
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Puts ports that are free now in the place of zeros.
fn free_ports(bind: Ipv4Addr, ports: [u16; 2]) -> Result<[u16; 2]> {
    // Both are held until both are known, so that they differ.
    let held = ports.map(|port| std::net::TcpListener::bind((bind, port)));
    match held {
        [Ok(first), Ok(second)] => Ok([first.local_addr()?.port(), second.local_addr()?.port()]),
        [Err(failure), _] | [_, Err(failure)] => {
            bail!(
                "the executor cannot listen at {bind}, ports {ports:?}: {failure}. Give other ports, or 0 for free ones"
            )
        }
    }
}

/// Returns once the process got SIGTERM or ctrl-c.
///
/// # Errors
///
/// If signals cannot be had.
pub async fn told_to_stop() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
