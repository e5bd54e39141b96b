//! The driver itself: it does what it says, and nothing that a page complains of escapes it.

use crate::page_of;

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn every_kind_of_complaint_is_heard() {
    for (script, expected) in [
        ("console.error('oh')", "console: "),
        ("console.warn('oh')", "console: "),
        ("console.assert(false, 'oh')", "console: "),
        ("throw Error('oh')", "uncaught: "),
        ("Promise.reject(Error('oh'))", "uncaught: "),
        ("setTimeout(() => nothing(), 5)", "uncaught: "),
        // Nobody listens at this port of this machine.
        ("new Image().src = 'http://127.0.0.1:9/x.png'", "request: http://127.0.0.1:9/x.png"),
        ("fetch('http://127.0.0.1:9/').catch(() => 0)", "request: http://127.0.0.1:9/"),
        ("new Image().src = 'missing.png'", "browser: "),
    ] {
        let (_dir, page) = page_of(&format!("<script>{script}</script>"));
        let complaints = page.expected_complaints();
        assert!(complaints.iter().any(|c| c.starts_with(expected)), "{script}: {complaints:?}");
    }
    let (_dir, page) =
        page_of("<script>console.log('fine')</script><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>");
    assert_eq!(page.complaints(), [""; 0]);
}

#[test]
#[cfg_attr(not(browser), ignore = "no Chromium was found; CHROMIUM may name one")]
fn fields_lists_and_tables_are_used_as_a_person_would() {
    let (_dir, page) = page_of(
        "<input id=filter oninput=\"for (const r of document.querySelectorAll('tr')) r.hidden = !r.innerText.includes(value)\">
         <select id=list onchange=\"said.textContent = value\"><option value=1>one</option><option value=2>two</option></select>
         <p id=said></p>
         <table><tbody><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></tbody></table>
         <button id=go onclick=\"said.textContent = 'gone'\">Go</button>",
    );
    assert_eq!(page.rows("table"), [["a", "1"], ["b", "2"]]);
    page.type_into("#filter", "b");
    assert_eq!(page.rows("table"), [["b", "2"]]);
    page.choose("#list", "two");
    assert_eq!(page.text("#said"), "2");
    page.click("#go");
    assert_eq!(page.text("#said"), "gone");
    page.choose("#list", "one");
    page.focus("#go");
    page.press("Enter");
    assert_eq!(page.text("#said"), "gone");
    assert!(page.shows("#go") && !page.shows("tr"));
}
