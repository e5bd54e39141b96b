//! A page in a tab of its own, used as a person would: by pointing, clicking and typing.
//!
//! Elements are named by CSS selectors; the first match counts. When a page is dropped, its test fails if the page has
//! complained on the console or has asked for anything beside its own files.

use crate::chromium::Browser;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{panicking, sleep};
use std::time::{Duration, Instant};

/// Where pictures go: `target/tmp/report-screenshots`.
const SCREENSHOTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/report-screenshots");

/// An open page.
pub(crate) struct Page {
    browser: &'static Browser,
    /// Its own cookies, cache and window.
    context: String,
    session: String,
    /// Complaints are the test's subject, not its failure.
    excused: bool,
}

impl Page {
    /// Opens an address, 1440 x 900 in light colours, and waits until everything is loaded.
    pub(crate) fn open(url: &str) -> Self {
        let browser = Browser::shared();
        let name = |value: Value| value.as_str().expect("a name").to_owned();
        let context = name(browser.call(None, "Target.createBrowserContext", json!({}))["browserContextId"].take());
        let target = json!({"url": "about:blank", "browserContextId": context});
        let target = name(browser.call(None, "Target.createTarget", target)["targetId"].take());
        let attach = json!({"targetId": target, "flatten": true});
        let session = name(browser.call(None, "Target.attachToTarget", attach)["sessionId"].take());
        let page = Self { browser, context, session, excused: false };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        // As on a phone: the window is as wide as it says, on pictures too.
        page.call("Emulation.setScrollbarsHidden", json!({"hidden": true}));
        page.size(1440, 900);
        page.colours("light");
        page.call("Page.navigate", json!({"url": url}));
        page.wait_for("location.href != 'about:blank' && document.readyState == 'complete'");
        page
    }

    /// Sets the size of the window.
    pub(crate) fn size(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Prefers `light` or `dark` colours, on a screen.
    pub(crate) fn colours(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": "screen", "features": features}));
    }

    /// Shows the page as on paper, without printing it.
    pub(crate) fn as_on_paper(&self) {
        self.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    }

    /// Prints the page as PDF.
    pub(crate) fn print(&self) -> Vec<u8> {
        decoded(&self.call("Page.printToPDF", json!({})))
    }

    /// Value of a JavaScript expression; a promise is waited for.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", params);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {}", thrown["exception"]["description"]);
        answer["result"]["value"].take()
    }

    /// Waits until a JavaScript expression holds.
    pub(crate) fn wait_for(&self, expression: &str) {
        let start = Instant::now();
        while self.eval(expression) != json!(true) {
            assert!(start.elapsed() < Duration::from_secs(10), "in vain: {expression}");
            sleep(Duration::from_millis(10));
        }
    }

    /// Moves the mouse over an element, after scrolling to it. Returns where the mouse is.
    pub(crate) fn hover(&self, selector: &str) -> (f64, f64) {
        let at = self.on(
            selector,
            "e.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
             const r = e.getClientRects()[0];
             return [r.x + r.width / 2, r.y + r.height / 2];",
        );
        let (x, y) = (at[0].as_f64().expect("a place"), at[1].as_f64().expect("a place"));
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
        (x, y)
    }

    /// Clicks on the middle of an element.
    pub(crate) fn click(&self, selector: &str) {
        let (x, y) = self.hover(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Gives an element the keyboard.
    pub(crate) fn focus(&self, selector: &str) {
        self.on(selector, "e.focus();");
    }

    /// Presses a key by its name in JavaScript, such as `Tab` or `ArrowDown`.
    pub(crate) fn press(&self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            _ => panic!("the driver does not know the key {key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types into a field.
    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        self.focus(selector);
        self.call("Input.insertText", json!({"text": text}));
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
        serde_json::from_value(self.on(selector, body)).expect("rows of words")
    }

    /// Keeps a picture of the whole page as `NAME.png`.
    pub(crate) fn screenshot(&self, name: &str) -> PathBuf {
        let all = &self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"];
        let clip = json!({"x": 0, "y": 0, "width": all["width"], "height": all["height"], "scale": 1});
        let params = json!({"captureBeyondViewport": true, "clip": clip});
        let picture = decoded(&self.call("Page.captureScreenshot", params));
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
        self.browser.events(&self.session).iter().filter_map(complaint).collect()
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

    fn call(&self, method: &str, params: Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if panicking() {
            return;
        }
        let complaints = if self.excused { Vec::new() } else { self.complaints() };
        self.browser.call(None, "Target.disposeBrowserContext", json!({"browserContextId": self.context}));
        assert!(complaints.is_empty(), "the page complained: {complaints:#?}");
    }
}

/// The file that a command answers with.
fn decoded(answer: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(answer["data"].as_str().unwrap_or_default()).expect("the protocol's encoding")
}

/// What is wrong according to an event, if anything.
fn complaint(event: &Value) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.consoleAPICalled" if matches!(params["type"].as_str()?, "error" | "warning" | "assert") => {
            Some(format!("console: {}", params["args"]))
        }
        "Runtime.exceptionThrown" => Some(format!("uncaught: {}", params["exceptionDetails"])),
        "Log.entryAdded" if matches!(params["entry"]["level"].as_str()?, "error" | "warning") => {
            Some(format!("browser: {}", params["entry"]["text"]))
        }
        "Network.requestWillBeSent" => {
            let url = params["request"]["url"].as_str()?;
            (!["file:", "data:"].iter().any(|own| url.starts_with(own))).then(|| format!("request: {url}"))
        }
        _ => None,
    }
}
