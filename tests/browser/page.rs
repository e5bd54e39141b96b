//! A page in a tab of its own, used as a person would: by pointing, clicking and typing.
//!
//! Elements are named by CSS selectors; the first match counts. When a page is dropped, its test fails if the page has
//! complained on the console or has asked for anything beside its own files.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use headless_chrome::{
    Browser, LaunchOptions, Tab,
    browser::tab::point::Point,
    protocol::cdp::{
        Emulation, Log, Network, Page as PageDomain, Performance, Runtime,
        types::{Event, Method},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, from_value, json};
use std::{
    ffi::OsStr,
    fmt::Debug,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
    thread::{panicking, sleep},
    time::{Duration, Instant},
};

/// Where pictures go: `target/tmp/report-screenshots`.
const SCREENSHOTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/report-screenshots");

/// How long the browser may take to answer, and to wait for the next question.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open page.
pub(crate) struct Page {
    tab: Arc<Tab>,
    complaints: Arc<Mutex<Vec<String>>>,
    /// Complaints are the test's subject, not its failure.
    excused: bool,
    /// It ends with its last page.
    _browser: Arc<Browser>,
}

/// The browser that all open pages share.
fn browser() -> Arc<Browser> {
    static SHARED: Mutex<Weak<Browser>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().expect("no test has failed to start it");
    shared.upgrade().unwrap_or_else(|| {
        let Some(path) = option_env!("BROWSER") else { panic!("no Chromium was found: the tests in CI need one") };
        let options = LaunchOptions {
            path: Some(path.into()),
            // As root, in a container, there is none to be had.
            sandbox: false,
            idle_browser_timeout: PATIENCE,
            args: vec![OsStr::new("--disable-component-update")],
            ..LaunchOptions::default()
        };
        let started = Browser::new(options).unwrap_or_else(|e| panic!("{path}: {e}; does it start by hand?"));
        let started = Arc::new(started);
        *shared = Arc::downgrade(&started);
        started
    })
}

impl Page {
    /// The same as [`Page::as_it_is`], with all sections unfolded.
    pub(crate) fn open(url: &str) -> Self {
        let page = Self::as_it_is(url);
        page.eval("for (const fold of document.querySelectorAll('details.fold')) fold.open = true; null");
        page
    }

    /// Opens an address, 1440 x 900 in light colours, and waits until everything is loaded.
    pub(crate) fn as_it_is(url: &str) -> Self {
        let browser = browser();
        // Its own cookies and cache.
        let tab = browser.new_context().and_then(|context| context.new_tab()).expect("a new tab");
        tab.set_default_timeout(PATIENCE);
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let page = Self { tab, complaints: Arc::clone(&complaints), excused: false, _browser: browser };
        let listen = move |event: &Event| {
            if let Some(complaint) = complaint(event) {
                complaints.lock().expect("only pushes").push(complaint);
            }
        };
        page.tab.add_event_listener(Arc::new(listen)).expect("one more listener");
        page.call::<Runtime::Enable>(json!(null));
        page.call::<Log::Enable>(json!(null));
        page.call::<Network::Enable>(json!({}));
        page.call::<Performance::Enable>(json!({"timeDomain": "threadTicks"}));
        page.call::<Emulation::SetFocusEmulationEnabled>(json!({"enabled": true}));
        // As on a phone: the window is as wide as it says, on pictures too.
        page.call::<Emulation::SetScrollbarsHidden>(json!({"hidden": true}));
        page.size(1440, 900);
        page.colours("light");
        page.tab.navigate_to(url).expect("a page at this address");
        page.wait_for("location.href != 'about:blank' && document.readyState == 'complete'");
        page
    }

    /// How long the processor has worked on the page's scripts, layout and parsing so far, in ms.
    pub(crate) fn busy_ms(&self) -> f64 {
        let metrics = self.call::<Performance::GetMetrics>(json!(null)).metrics;
        1e3 * metrics.iter().find(|m| m.name == "TaskDuration").expect("what the browser counts").value
    }

    /// Sets the size of the window.
    pub(crate) fn size(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1.0, "mobile": false});
        self.call::<Emulation::SetDeviceMetricsOverride>(size);
    }

    /// Prefers `light` or `dark` colours, on a screen.
    pub(crate) fn colours(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call::<Emulation::SetEmulatedMedia>(json!({"media": "screen", "features": features}));
    }

    /// Shows the page as on paper, without printing it.
    pub(crate) fn as_on_paper(&self) {
        self.call::<Emulation::SetEmulatedMedia>(json!({"media": "print"}));
    }

    /// Prints the page as PDF.
    pub(crate) fn print(&self) -> Vec<u8> {
        self.tab.print_to_pdf(None).expect("a printed page")
    }

    /// Value of a JavaScript expression; a promise is waited for.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let answer = self
            .call::<Runtime::Evaluate>(json!({"expression": expression, "returnByValue": true, "awaitPromise": true}));
        if let Some(thrown) = answer.exception_details {
            panic!("{expression}: {:?}", thrown.exception.and_then(|e| e.description));
        }
        answer.result.value.unwrap_or_default()
    }

    /// Waits until a JavaScript expression holds.
    pub(crate) fn wait_for(&self, expression: &str) {
        let start = Instant::now();
        while self.eval(expression) != json!(true) {
            assert!(start.elapsed() < PATIENCE, "in vain: {expression}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Moves the mouse over an element, after scrolling to it.
    pub(crate) fn hover(&self, selector: &str) {
        self.tab.move_mouse_to_point(self.middle(selector)).expect("a mouse");
    }

    /// Clicks on the middle of an element.
    pub(crate) fn click(&self, selector: &str) {
        self.tab.click_point(self.middle(selector)).expect("a mouse");
    }

    /// The middle of an element's first line, scrolled to.
    fn middle(&self, selector: &str) -> Point {
        let at = self.on(
            selector,
            "e.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
             const r = e.getClientRects()[0];
             return [r.x + r.width / 2, r.y + r.height / 2];",
        );
        Point { x: at[0].as_f64().expect("a place"), y: at[1].as_f64().expect("a place") }
    }

    /// Gives an element the keyboard.
    pub(crate) fn focus(&self, selector: &str) {
        self.on(selector, "e.focus();");
    }

    /// Presses a key by its name in JavaScript, such as `Tab` or `ArrowDown`.
    pub(crate) fn press(&self, key: &str) {
        self.tab.press_key(key).expect("a key of that name");
    }

    /// Types into a field.
    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        self.focus(selector);
        self.tab.type_str(text).expect("a keyboard");
    }

    /// Chooses an option of a `<select>` by the words it shows.
    pub(crate) fn choose(&self, selector: &str, option: &str) {
        let body = "const chosen = [...e.options].find((o) => o.text == x);
             if (!chosen) throw Error('no option ' + x);
             e.value = chosen.value;
             for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, { bubbles: true }));";
        self.on_with(selector, body, option);
    }

    /// The words that an element shows.
    pub(crate) fn text(&self, selector: &str) -> String {
        self.on(selector, "return e.innerText ?? e.textContent;").as_str().unwrap_or_default().trim().to_owned()
    }

    /// Whether an element can be seen, here or after scrolling.
    pub(crate) fn shows(&self, selector: &str) -> bool {
        self.on(selector, "return e.checkVisibility() && e.getClientRects().length > 0;") == json!(true)
    }

    /// How many elements match.
    pub(crate) fn count(&self, selector: &str) -> u64 {
        self.eval(&format!("document.querySelectorAll({}).length", json!(selector))).as_u64().expect("a number")
    }

    /// The cells of a table's visible body rows.
    pub(crate) fn rows(&self, selector: &str) -> Vec<Vec<String>> {
        let body = "const rows = [...e.tBodies].flatMap((b) => [...b.rows]).filter((r) => r.checkVisibility());
             return rows.map((r) => [...r.cells].map((c) => c.innerText));";
        from_value(self.on(selector, body)).expect("rows of words")
    }

    /// Keeps a picture of the whole page as `NAME.png`.
    pub(crate) fn screenshot(&self, name: &str) -> PathBuf {
        let all = self.call::<PageDomain::GetLayoutMetrics>(json!(null)).css_content_size;
        let clip = json!({"x": 0.0, "y": 0.0, "width": all.width, "height": all.height, "scale": 1.0});
        let picture = self.call::<PageDomain::CaptureScreenshot>(json!({"captureBeyondViewport": true, "clip": clip}));
        let picture = BASE64_STANDARD.decode(picture.data).expect("the protocol's encoding");
        let path = Path::new(SCREENSHOTS).join(name).with_extension("png");
        fs::create_dir_all(SCREENSHOTS).expect("a folder for pictures");
        fs::write(&path, picture).expect("room for a picture");
        path
    }

    /// Console errors and warnings, uncaught exceptions, and requests for anything but files and data inside the page.
    pub(crate) fn complaints(&self) -> Vec<String> {
        // What was set off before this has been reported when two frames have been drawn.
        self.eval(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))",
        );
        self.complaints.lock().expect("only pushes").clone()
    }

    /// The complaints of a page that is meant to have some.
    pub(crate) fn expected_complaints(mut self) -> Vec<String> {
        self.excused = true;
        self.complaints()
    }

    /// Runs `body` with the element as `e`.
    fn on(&self, selector: &str, body: &str) -> Value {
        self.on_with(selector, body, "")
    }

    /// Runs `body` with the element as `e` and `argument` as `x`.
    fn on_with(&self, selector: &str, body: &str, argument: &str) -> Value {
        let (selector, argument) = (json!(selector), json!(argument));
        self.eval(&format!(
            "((e, x) => {{ if (!e) throw Error('no element'); {body} }})(document.querySelector({selector}), {argument})"
        ))
    }

    /// Calls a method of the DevTools protocol.
    fn call<M: Method + Serialize + DeserializeOwned + Debug>(&self, params: Value) -> M::ReturnObject {
        let method: M = from_value(params).unwrap_or_else(|e| panic!("{}: {e}", M::NAME));
        self.tab.call_method(method).unwrap_or_else(|e| panic!("{}: {e}", M::NAME))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if panicking() {
            return;
        }
        let complaints = if self.excused { Vec::new() } else { self.complaints() };
        self.tab.close(false).expect("the tab is open");
        assert!(complaints.is_empty(), "the page complained: {complaints:#?}");
    }
}

/// What is wrong according to an event, if anything.
fn complaint(event: &Event) -> Option<String> {
    use Log::LogEntryLevel::{Error, Warning};
    use Runtime::ConsoleAPICalledEventTypeOption as Console;
    match event {
        Event::RuntimeConsoleAPICalled(said) => {
            let bad = matches!(said.params.Type, Console::Error | Console::Warning | Console::Assert);
            bad.then(|| format!("console: {:?}", said.params.args))
        }
        Event::RuntimeExceptionThrown(thrown) => Some(format!("uncaught: {:?}", thrown.params.exception_details)),
        Event::LogEntryAdded(said) => {
            let entry = &said.params.entry;
            matches!(entry.level, Error | Warning).then(|| format!("browser: {}", entry.text))
        }
        Event::NetworkRequestWillBeSent(sent) => {
            let url = &sent.params.request.url;
            (!["file:", "data:"].iter().any(|own| url.starts_with(own))).then(|| format!("request: {url}"))
        }
        _ => None,
    }
}
