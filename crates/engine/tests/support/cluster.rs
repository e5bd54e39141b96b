//! Processes of a cluster, for tests.

#![allow(dead_code, reason = "each test uses some of it")]

use sched_distill_engine::local::READY;
use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Instant,
};

/// A process that is killed at the end of the test.
pub struct Process(pub Child);

impl Process {
    pub fn start(arguments: &[&str], environment: &[(String, String)]) -> (Self, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_distill-engine"));
        command.envs(environment.iter().cloned());
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let printed = line.trim_end().strip_prefix(READY).unwrap_or_else(|| panic!("{arguments:?} printed {line:?}"));
        (Self(child), printed.to_owned())
    }

    pub fn signal(&self, name: &str) {
        signal(name, &self.0.id().to_string());
    }

    /// Seconds until it ended.
    pub fn ended(&mut self) -> (f64, bool) {
        let start = Instant::now();
        let status = self.0.wait().unwrap();
        (start.elapsed().as_secs_f64(), status.success())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn signal(name: &str, process: &str) {
    assert!(Command::new("kill").args([name, process]).status().unwrap().success());
}

/// A scheduler and executors, each with one task at a time.
pub struct Cluster {
    pub address: String,
    _scheduler: Process,
    pub executors: Vec<Process>,
    // Last, so that it is deleted when nobody writes there any more.
    _folder: Folder,
}

/// Where killed executors leave their sums.
pub struct Folder(pub PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Cluster {
    pub fn start(executors: usize) -> Self {
        Self::start_with(executors, &[])
    }

    pub fn start_with(executors: usize, environment: &[(String, String)]) -> Self {
        let (scheduler, address) = Process::start(&["scheduler", "--bind", "127.0.0.1:0"], &[]);
        let folder = Folder(note("sums").with_extension(scheduler.0.id().to_string()));
        let start = |number: usize| {
            let own = folder.0.join(number.to_string());
            let arguments = ["executor", &address, "--vcores", "1", "--work-dir", own.to_str().unwrap()];
            Process::start(&arguments, environment).0
        };
        Self { executors: (0..executors).map(start).collect(), _scheduler: scheduler, _folder: folder, address }
    }
}

/// A name for a file of this process among the temporary ones.
pub fn note(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("distill-engine-test-{}-{name}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}
