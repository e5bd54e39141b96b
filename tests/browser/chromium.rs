//! One headless browser for all tests, spoken to in the DevTools protocol over a pipe.
//!
//! Over a pipe no port is opened and no socket library is needed, and the browser ends when the tests do, however they end.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Chromium reads commands from descriptor 3 and answers on 4. The profile is new, and goes when the browser ends.
const LAUNCH: &str = r#"
profile=$(mktemp -d) || exit 1
"$0" "$@" --user-data-dir="$profile" 3<&0 4>&1 </dev/null >/dev/null 2>&1
rm -rf "$profile"
"#;

const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
];

/// A running browser.
pub(crate) struct Browser {
    commands: Mutex<ChildStdin>,
    last_id: AtomicU64,
    inbox: Arc<Inbox>,
}

/// What the browser has said.
#[derive(Default)]
struct Inbox {
    mail: Mutex<Mail>,
    arrived: Condvar,
}

#[derive(Default)]
struct Mail {
    /// Answers nobody has taken yet, by the number of their command.
    answers: HashMap<u64, Value>,
    /// Events by session.
    events: HashMap<String, Vec<Value>>,
    /// The browser has gone.
    closed: bool,
}

impl Browser {
    /// The browser that all tests share, started by the first that asks.
    pub(crate) fn shared() -> &'static Self {
        static BROWSER: OnceLock<Browser> = OnceLock::new();
        BROWSER.get_or_init(|| {
            let Some(path) = option_env!("BROWSER") else { panic!("no Chromium was found: the tests in CI need one") };
            Self::start(path)
        })
    }

    fn start(path: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", LAUNCH, path])
            .args(FLAGS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = Mutex::new(child.stdin.take().expect("it is piped"));
        let answers = child.stdout.take().expect("it is piped");
        let inbox = Arc::new(Inbox::default());
        let browser = Self { commands, last_id: AtomicU64::new(0), inbox: Arc::clone(&inbox) };
        std::thread::spawn(move || {
            inbox.fill(answers);
            child.wait()
        });
        browser.call(None, "Browser.getVersion", json!({}));
        browser
    }

    /// Sends a command to the browser, or to the page of `session`, and waits for the answer.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, params: Value) -> Value {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let mut command = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        let sent = self.commands.lock().unwrap().write_all(format!("{command}\0").as_bytes());
        let mut answer = self.inbox.answer(id).filter(|_| sent.is_ok()).unwrap_or_else(|| {
            panic!("{method}: no answer from {}; does it start by hand?", option_env!("BROWSER").unwrap_or_default())
        });
        assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
        answer["result"].take()
    }

    /// What the page of `session` has reported so far: `{"method": …, "params": …}`.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        self.inbox.mail.lock().unwrap().events.get(session).cloned().unwrap_or_default()
    }
}

impl Inbox {
    /// Sorts messages until the browser closes the pipe.
    fn fill(&self, from: ChildStdout) {
        for message in BufReader::new(from).split(0) {
            let Ok(message) = message.and_then(|bytes| Ok(serde_json::from_slice::<Value>(&bytes)?)) else { break };
            let mut mail = self.mail.lock().unwrap();
            match (message["id"].as_u64(), message["sessionId"].as_str()) {
                (Some(id), _) => drop(mail.answers.insert(id, message)),
                (None, Some(session)) => mail.events.entry(session.to_owned()).or_default().push(message),
                (None, None) => (),
            }
            self.arrived.notify_all();
        }
        self.mail.lock().unwrap().closed = true;
        self.arrived.notify_all();
    }

    /// Waits for the answer to a command; `None` if there is none in time or the browser has gone.
    fn answer(&self, id: u64) -> Option<Value> {
        let waiting = |mail: &mut Mail| !mail.answers.contains_key(&id) && !mail.closed;
        let mail = self.mail.lock().unwrap();
        let (mut mail, _) = self.arrived.wait_timeout_while(mail, PATIENCE, waiting).unwrap();
        mail.answers.remove(&id)
    }
}
