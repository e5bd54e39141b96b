//! A cluster of processes on this machine.

use crate::cluster::told_to_stop;
use anyhow::{Context, Result, bail};
use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// What a scheduler prints before its address, and an executor once it is known there.
pub const READY: &str = "ready: ";

/// The hidden option of processes that end with the one that started them.
pub const WITH_PARENT: &str = "--with-parent";

/// Returns when the process that started this one ends, however it does: our standard input is a pipe from it.
pub async fn parent_ended() {
    let (send, receive) = tokio::sync::oneshot::channel();
    thread::spawn(|| {
        // An end and an error mean the same.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = send.send(());
    });
    let _ = receive.await;
}

/// A process that ends with this one.
struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts this program with arguments, and gives what it printed when it was ready.
    fn start(name: String, arguments: &[&str]) -> Result<(Self, String)> {
        let program = std::env::current_exe().context("the path of this program is not known")?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg(WITH_PARENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("the {name} cannot be started"))?;
        let mut output = BufReader::new(child.stdout.take().context("a child has no output")?);
        let process = Self { name, child };
        let mut line = String::new();
        output.read_line(&mut line)?;
        let Some(printed) = line.trim_end().strip_prefix(READY) else {
            bail!("the {} did not start: see above", process.name);
        };
        Ok((process, printed.to_owned()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its input closes, which ends it; if it hangs, this does. An error means that it has ended.
        drop(self.child.stdin.take());
        for _ in 0..20 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a scheduler and executors until this process is told to stop. `ready` is given the cluster's address.
///
/// # Errors
///
/// If one cannot be started, or the scheduler ends, or all executors do.
pub async fn run(executors: u16, vcores: u16, ready: impl FnOnce(&str)) -> Result<()> {
    let (mut scheduler, address) = Process::start("scheduler".into(), &["scheduler", "--bind", "127.0.0.1:0"])?;
    let vcores = vcores.to_string();
    let start = |number| {
        let arguments = ["executor", &address, "--vcores", &vcores];
        Ok(Process::start(format!("executor {number}"), &arguments)?.0)
    };
    let mut running = (1..=executors).map(start).collect::<Result<Vec<_>>>()?;
    ready(&address);
    let watch = async {
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            if let Some(status) = scheduler.child.try_wait()? {
                bail!("the scheduler ended: {status}");
            }
            let mut ended = Vec::new();
            for (place, process) in running.iter_mut().enumerate() {
                if let Some(status) = process.child.try_wait()? {
                    eprintln!("{} ended: {status}. The others go on with its work", process.name);
                    ended.push(place);
                }
            }
            ended.iter().rev().for_each(|place| drop(running.remove(*place)));
            if running.is_empty() {
                bail!("all executors ended");
            }
        }
    };
    tokio::select! {
        failed = watch => failed,
        stopped = told_to_stop() => stopped,
    }
}
