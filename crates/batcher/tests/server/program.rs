//! The program as people start it.

use crate::client::{Client, models, path};
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_distill-batcher"))
}

/// A server that does not outlive its test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server, and where it listens.
fn served(folder: &Path, more: &[&str]) -> (Server, SocketAddr) {
    let workload = format!("models:{},timeout=2000", models(folder).display());
    let mut command = program();
    command.args(["serve", "-w", &workload, "--listen", "127.0.0.1:0"]).args(more).stdout(Stdio::piped());
    let mut server = Server(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let at = line.strip_prefix("listening at http://").and_then(|line| line.split(',').next());
    (server, at.unwrap_or_else(|| panic!("{line}")).parse().unwrap())
}

/// Tasks of the application `long` that wait or were answered, by the server's page.
fn received(at: SocketAddr) -> f64 {
    let (mut stream, mut page) = (TcpStream::connect(at).unwrap(), String::new());
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    stream.read_to_string(&mut page).unwrap();
    let of = |name: &str| page.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    let waiting = of("distill_batcher_waiting_tasks{application=\"long\"}");
    let answered = of("distill_batcher_tasks_total{application=\"long\",outcome=\"answered\"}");
    waiting.unwrap_or(0.0) + answered.unwrap_or(0.0)
}

#[cfg(unix)]
#[test]
fn sigterm_drains() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, at) = served(folder.path(), &["-p", "tf-serving,timeout=4000"]);
    let mut idle = Client::new(at);
    idle.stream().write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(idle.reply().unwrap().status, 200);
    let mut waiting: Vec<Client> = (0..3).map(|_| Client::new(at)).collect();
    for client in &mut waiting {
        client.send(&path("long"), "{\"instances\": [[1, 2, 3]]}").unwrap();
    }
    let begin = Instant::now();
    let comes_to_pass = |holds: &dyn Fn() -> bool, what: &str| {
        while !holds() {
            assert!(begin.elapsed() < Duration::from_secs(120), "in vain: {what}");
            thread::sleep(Duration::from_millis(10));
        }
    };
    comes_to_pass(&|| received(at) == 3.0, "all are taken in");
    assert!(Command::new("kill").arg(server.0.id().to_string()).status().unwrap().success());
    comes_to_pass(&|| TcpStream::connect(at).is_err(), "nobody is let in any more");
    for client in &mut waiting {
        assert_eq!(client.reply().unwrap().status, 200, "what was asked is answered");
    }
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
}

#[test]
fn load_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let (server, at) = served(folder.path(), &["-p", "dybatch"]);
    let workload = format!("models:{},load=0.2,seconds=1", models(folder.path()).display());
    let load = ["load", "-w", &workload, "--to", &at.to_string()];
    let done = program().args(load).arg("--json").output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(found["tasks"].as_u64() > Some(100) && found["tasks"] == found["answered"], "{found}");
    assert!(found["slowdown"].as_f64() > Some(0.0) && found["p99_ms"].as_f64() >= found["p95_ms"].as_f64(), "{found}");
    let done = program().args(load).output().unwrap();
    assert!(String::from_utf8(done.stdout).unwrap().contains("0 refused, 0 failed, 0 not answered in time"));
    refused(&program().args(load).args(["--most", "5"]).output().unwrap(), "more tasks than --most 5");
    let other = format!("models:{},load=0.01,seconds=1", renamed(folder.path()).display());
    let done = program().args(["load", "-w", &other, "--to", &at.to_string()]).output().unwrap();
    assert_eq!(done.status.code(), Some(1), "nothing was answered: {done:?}");
    assert!(String::from_utf8(done.stderr).unwrap().contains("404 Not Found"), "and why is said");
    drop(server);
    refused(&program().args(load).output().unwrap(), "nobody answers at 127.0.0.1");
    refused(
        &program().args(["load", "-w", &workload, "--to", "192.0.2.1:80"]).output().unwrap(),
        "not on this machine",
    );
}

/// The same models under names that the server does not know.
fn renamed(folder: &Path) -> PathBuf {
    let text = std::fs::read_to_string(models(folder)).unwrap();
    let path = folder.join("renamed.json");
    std::fs::write(&path, text.replace("long", "longer").replace("short", "shorter")).unwrap();
    path
}

fn refused(done: &Output, says: &str) {
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains(says), "{said} does not say {says}");
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let good = format!("models:{}", models(dir).display());
    let write = |name: &str, file: &str| {
        let law = "{\"padded\": {\"alpha_ms\": 1, \"beta_ms\": 1}}";
        let text =
            format!("{{\"models\": [{{\"name\": \"a\", \"law\": {law}, \"sizes\": [1, 2], \"most\": 2{file}}}]}}");
        std::fs::write(dir.join(name), text).unwrap();
        format!("models:{}", dir.join(name).display())
    };
    std::fs::write(dir.join("noise.onnx"), "no model").unwrap();
    let (nowhere, missing) = (write("nowhere.json", ""), write("missing.json", ", \"file\": \"missing.onnx\""));
    let noise = write("noise.json", ", \"file\": \"noise.onnx\"");
    for (args, says) in [
        (&["-w", "builtin"][..], "only models:FILE can be served"),
        (&["-w", &nowhere], "application `a` has no model file"),
        (&["-w", &missing], "missing.onnx"),
        (&["-w", &noise], "noise.onnx"),
        (&["-w", &good, "-p", "tf"], "unknown policy `tf`"),
        (&["-w", &good, "-p", "student:none.json"], "none.json"),
        (&["-w", &good, "--listen", "0.0.0.0:0"], "--allow-remote"),
        (&["-w", &good, "--answer-within", "0"], "positive number of seconds"),
        (&["-w", &good, "--allow-host", "batcher.example:80"], "a name without a port"),
    ] {
        refused(&program().arg("serve").args(args).output().unwrap(), says);
    }
}

/// Names come from files that anybody may have made.
#[test]
fn names_do_nothing_to_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(models(folder.path())).unwrap();
    let path = folder.path().join("hostile.json");
    std::fs::write(&path, text.replace("long", "\\u001b[31m\\u202elo\\nng")).unwrap();
    let workload = format!("models:{}", path.display());
    let mut command = program();
    command.args(["serve", "-w", &workload, "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut server = Server(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let shown = r"\u{1b}[31m\u{202e}lo\u{a}ng";
    assert!(line.ends_with(&format!("dybatch decides for {shown}, short\n")), "{line:?}");
    let at: SocketAddr = line["listening at http://".len()..line.find(',').unwrap()].parse().unwrap();
    for page in ["/", "/metrics", "/v1/models/none"] {
        let mut client = TcpStream::connect(at).unwrap();
        write!(client, "GET {page} HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        assert!(said.contains(r"u{1b}[31m") && !said.contains(['\u{1b}', '\u{202e}']), "{page}: {said:?}");
    }
    drop(server);
    refused(&program().args(["load", "-w", &workload, "--to", &at.to_string()]).output().unwrap(), "nobody answers");
}
