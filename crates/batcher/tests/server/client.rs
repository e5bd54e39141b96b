//! A server within the test, and a client that looks at every byte.

use sched_distill_batcher::{
    Metrics, Models, Scheduler,
    http::{self, Limits},
};
use sched_distill_serving::{policies, workload::ServingWorkload};
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, runtime, sync::oneshot};

/// The model that comes with the project.
pub(crate) fn model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/text-classifier.onnx").canonicalize().unwrap()
}

/// A list of two models, `long` and `short`, which are the same file: 5 ms each, as far as schedulers know.
pub(crate) fn models(folder: &Path) -> PathBuf {
    let law = json!({"padded": {"alpha_ms": 5.0, "beta_ms": 0.01}});
    let of = |name: &str| json!({"name": name, "law": law, "sizes": [1, 64], "most": 16, "file": model()});
    let path = folder.join("models.json");
    fs::write(&path, json!({"models": [of("long"), of("short")]}).to_string()).unwrap();
    path
}

pub(crate) fn workload(folder: &Path, more: &str) -> ServingWorkload {
    let spec = format!("models:{}{more}", models(folder).display());
    ServingWorkload::open(&spec.parse().unwrap()).unwrap()
}

/// A server that runs until it is told to end.
pub(crate) struct Running {
    pub(crate) at: SocketAddr,
    pub(crate) metrics: Arc<Metrics>,
    end: oneshot::Sender<()>,
    thread: JoinHandle<bool>,
}

impl Running {
    /// Serves a workload.
    pub(crate) fn start(workload: &ServingWorkload, policy: &str, limits: Limits) -> Self {
        let models = Models::load(workload).unwrap();
        models.warm_up().unwrap();
        let metrics = Arc::new(Metrics::new(models.server().clone()));
        let policy = policies::open(&policy.parse().unwrap()).unwrap();
        let (door, scheduler) = Scheduler::start(models.clone(), policy, metrics.clone()).unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let counted = metrics.clone();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let drained = runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let ended = async { drop(ended.await) };
                http::serve(listener, models, door, counted, limits, vec!["batcher.example".to_owned()], ended)
                    .await
                    .unwrap()
            });
            if drained {
                scheduler.join().unwrap().unwrap();
            }
            drained
        });
        Self { at: told.recv().unwrap(), metrics, end, thread }
    }

    /// Ends it; whether all was answered.
    pub(crate) fn end(self) -> bool {
        let _ = self.end.send(());
        self.thread.join().unwrap()
    }

    /// Waits until a counter has come to something.
    pub(crate) fn wait_for(&self, name: &str, at_least: f64) {
        let until = Instant::now() + Duration::from_secs(120);
        while self.count(name) < at_least {
            assert!(Instant::now() < until, "{name} stays at {}", self.count(name));
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// A counter of the page, with its labels as they stand there.
    pub(crate) fn count(&self, name: &str) -> f64 {
        count(&self.metrics.page(), name)
    }
}

pub(crate) fn count(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
}

/// A connection.
pub(crate) struct Client(TcpStream);

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Client {
    pub(crate) fn new(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(stream)
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        &mut self.0
    }

    pub(crate) fn send(&mut self, path: &str, body: &str) -> io::Result<()> {
        self.send_as("host: localhost\r\ncontent-type: application/json\r\n", path, body)
    }

    /// The same with other lines about it.
    pub(crate) fn send_as(&mut self, head: &str, path: &str, body: &str) -> io::Result<()> {
        write!(self.0, "POST {path} HTTP/1.1\r\n{head}content-length: {}\r\n\r\n{body}", body.len())
    }

    /// Reads one answer, to its last byte and no further.
    pub(crate) fn reply(&mut self) -> io::Result<Reply> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            self.0.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Ok(Reply { status: head[9..12].parse().unwrap(), head, body })
    }

    /// Asks and waits.
    pub(crate) fn ask(&mut self, model: &str, words: &[u32]) -> Reply {
        self.send(&path(model), &json!({"instances": [words]}).to_string()).unwrap();
        self.reply().unwrap()
    }

    /// Nothing more has come than was read.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.0.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let found = self.0.read(&mut [0]);
        matches!(found, Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut))
    }
}

pub(crate) fn path(model: &str) -> String {
    format!("/v1/models/{model}:predict")
}
