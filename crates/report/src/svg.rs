//! Pictures as text: colours, escaping, measured text, the frame of an SVG, and its PNG.
//!
//! Every chart is one SVG, used twice: inside the page, where the style sheet swaps the colours named here for their
//! dark twins, and as a PNG at twice the size on white. The font is embedded, so that PNGs are the same on every machine; it
//! has Latin and Greek letters only, and others are missing there (not in the page).

use super::ReportError;
use plotters::style::{FontStyle, IntoFont as _, RGBColor, register_font};
use resvg::{tiny_skia, usvg};
use sched_distill_core::text::one_line;
use serde::Serialize;
use std::sync::Arc;

/// Font family of all charts.
pub(super) const FONT: &str = "DejaVu Sans";
static REGULAR: &[u8] = include_bytes!("../assets/fonts/DejaVuSans.ttf");
static BOLD: &[u8] = include_bytes!("../assets/fonts/DejaVuSans-Bold.ttf");

/// Pixels of a PNG per unit of its SVG.
const PNG_SCALE: f32 = 2.0;

/// A colour that the style sheet knows (`page.css` lists a dark twin for each).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour(pub(super) u8, pub(super) u8, pub(super) u8);

/// Text and axes.
pub(super) const INK: Colour = Colour(0x1F, 0x23, 0x28);
/// Secondary text.
pub(super) const MUTED: Colour = Colour(0x59, 0x63, 0x6E);
/// Grid lines, tracks of bars, frames.
pub(super) const GRID: Colour = Colour(0xD1, 0xD9, 0xE0);
/// Fill of boxes.
pub(super) const SURFACE: Colour = Colour(0xF6, 0xF8, 0xFA);
/// The student.
pub(super) const BLUE: Colour = Colour(0x00, 0x5F, 0xA3);
/// The linear surrogate, and the teacher in closed loop.
pub(super) const ORANGE: Colour = Colour(0xB3, 0x59, 0x00);
/// Rules and heuristics.
pub(super) const GREEN: Colour = Colour(0x00, 0x75, 0x56);
/// The random baseline.
pub(super) const GREY: Colour = Colour(0x7A, 0x82, 0x8B);
/// A further policy or learner.
pub(super) const PURPLE: Colour = Colour(0x7B, 0x3F, 0xA0);
/// The page.
pub(super) const WHITE: Colour = Colour(0xFF, 0xFF, 0xFF);

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

impl From<Colour> for RGBColor {
    fn from(c: Colour) -> Self {
        RGBColor(c.0, c.1, c.2)
    }
}

/// One chart: its picture and the numbers behind it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Chart {
    /// File stem in `charts/` and `data/`.
    pub(super) name: String,
    /// Short title, also the alternative text's first sentence.
    pub(super) title: String,
    /// The picture.
    pub(super) svg: String,
    /// The same drawn for a narrow screen; `None` where the page has words instead.
    pub(super) narrow: Option<String>,
    /// Width of the picture in its own units.
    pub(super) width: u32,
    /// The numbers behind the picture.
    #[serde(skip)]
    pub(super) data: serde_json::Value,
}

/// Width of a picture for a narrow screen.
pub(super) const NARROW: f64 = 340.0;

/// A picture in both widths.
pub(super) struct Pictures {
    svg: String,
    narrow: String,
    width: u32,
}

impl Pictures {
    /// Both from `draw`, which makes elements and their height for a width.
    pub(super) fn new(
        name: &str,
        wide: f64,
        title: &str,
        description: &str,
        draw: impl Fn(f64) -> (String, f64),
    ) -> Self {
        let picture = |name: &str, width: f64| {
            let (body, height) = draw(width);
            frame(name, "img", (width as u32, height.ceil() as u32), title, description, &body)
        };
        Self { svg: picture(name, wide), narrow: picture(&format!("{name}-narrow"), NARROW), width: wide as u32 }
    }

    pub(super) fn chart(self, name: &str, title: String, data: serde_json::Value) -> Chart {
        Chart { name: name.to_owned(), title, svg: self.svg, narrow: Some(self.narrow), width: self.width, data }
    }
}

/// Wraps drawn elements into an SVG with a title and a description for those who cannot see it. `role` is `img`, or `group`
/// where the picture holds links.
pub(super) fn frame(
    name: &str,
    role: &str,
    (width, height): (u32, u32),
    title: &str,
    description: &str,
    body: &str,
) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"{role}\" aria-labelledby=\"{name}-title {name}-desc\" font-family=\"{FONT}\">\
         <title id=\"{name}-title\">{}</title><desc id=\"{name}-desc\">{}</desc>\n{body}</svg>\n",
        escape(title),
        escape(description),
    )
}

/// Writes out what acts where it is shown, and replaces characters that XML forbids even when escaped.
pub(super) fn clean(text: &str) -> String {
    one_line(text).replace(['\u{FFFE}', '\u{FFFF}'], "\u{FFFD}")
}

/// Text for use between tags and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Style of a line of text: size in px, anchor (`start`, `middle`, `end`), bold, colour.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle {
    pub(super) size: f64,
    pub(super) anchor: &'static str,
    pub(super) bold: bool,
    pub(super) fill: Colour,
}

/// A line of text with its baseline at `(x, y)`.
pub(super) fn text(x: f64, y: f64, style: TextStyle, content: &str) -> String {
    let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{weight}>{}</text>\n",
        style.size,
        style.anchor,
        style.fill,
        escape(content)
    )
}

/// Makes the embedded font known to the measuring of text and to plotters. Cheap enough to call per chart.
///
/// # Errors
///
/// [`ReportError::Chart`] if the embedded font is damaged.
pub(super) fn register_fonts() -> Result<(), ReportError> {
    for (style, bytes) in [(FontStyle::Normal, REGULAR), (FontStyle::Bold, BOLD)] {
        register_font(FONT, style, bytes)
            .map_err(|_| ReportError::Chart { name: "any".into(), reason: "the embedded font is damaged".into() })?;
    }
    Ok(())
}

/// Width of `text` in px at font size `size`; an estimate where the font is not registered.
pub(super) fn width(text: &str, size: f64) -> f64 {
    width_in(FontStyle::Normal, text, size)
}

fn width_in(style: FontStyle, text: &str, size: f64) -> f64 {
    // Font sizes in plotters are line heights; those of SVG are em, 1.164 times smaller in this font.
    match (FONT, size * 1.164, style).into_font().box_size(text) {
        Ok((w, _)) => f64::from(w),
        Err(_) => text.chars().count() as f64 * size * 0.6,
    }
}

/// Shortens `text` with an ellipsis until it is at most `room` px wide at font size `size`.
pub(super) fn fit(text: &str, room: f64, size: f64) -> String {
    fit_in(FontStyle::Normal, text, room, size)
}

/// As [`fit`], of text in bold.
pub(super) fn fit_bold(text: &str, room: f64, size: f64) -> String {
    fit_in(FontStyle::Bold, text, room, size)
}

fn fit_in(style: FontStyle, text: &str, room: f64, size: f64) -> String {
    // Longer text than this cannot fit anywhere; the cut keeps measuring linear in it.
    let mut kept: Vec<char> = clean(text).chars().take(200).collect();
    let mut shown: String = kept.iter().collect();
    while kept.len() > 1 && width_in(style, &shown, size) > room {
        kept.pop();
        shown = kept.iter().collect::<String>().trim_end().to_owned() + "…";
    }
    shown
}

/// Breaks words into lines of at most `room` px; a word that is longer ends in an ellipsis.
pub(super) fn lines(words: &str, room: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ').filter(|w| !w.is_empty()) {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size) <= room => *line = format!("{line} {word}"),
            _ => lines.push(fit(word, room, size)),
        }
    }
    lines
}

/// The same in so many lines at most; where there is more, the last one ends in an ellipsis.
pub(super) fn few_lines(words: &str, most: usize, room: f64, size: f64) -> Vec<String> {
    let mut all = lines(words, room, size);
    if all.len() > most {
        let rest = all.split_off(most - 1).join(" ");
        all.push(fit(&rest, room, size));
    }
    all
}

/// Draws an SVG as PNG at twice its size, on white, with the embedded font only.
///
/// # Errors
///
/// [`ReportError::Chart`] if the SVG is malformed or too large to draw.
pub(super) fn png(name: &str, svg: &str) -> Result<Vec<u8>, ReportError> {
    let fail = |reason: String| ReportError::Chart { name: name.to_owned(), reason };
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(REGULAR.to_vec());
    fonts.load_font_data(BOLD.to_vec());
    let options = usvg::Options { fontdb: Arc::new(fonts), font_family: FONT.to_owned(), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| fail(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(PNG_SCALE).ok_or_else(|| fail("no size".to_owned()))?;
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height())
        .ok_or_else(|| fail(format!("{} x {} pixels are too many", size.width(), size.height())))?;
    pixels.fill(tiny_skia::Color::WHITE);
    resvg::render(&tree, tiny_skia::Transform::from_scale(PNG_SCALE, PNG_SCALE), &mut pixels.as_mut());
    // All pixels are opaque, so that no colour is scaled by how much it covers. Areas of one colour pack best as they are.
    let colours: Vec<u8> = pixels.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.width(), size.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_filter(png::Filter::NoFilter);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&colours)?;
        writer.finish()
    });
    written.map_err(|e| fail(e.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_ends_in_an_ellipsis_and_fits() -> Result<(), ReportError> {
        register_fonts()?;
        let shown = fit("smallest remaining_work_ratio_of_everything", 120.0, 12.0);
        assert!(shown.ends_with('…') && width(&shown, 12.0) <= 120.0, "{shown}");
        assert_eq!(fit("short", 120.0, 12.0), "short");
        Ok(())
    }

    #[test]
    fn words_are_broken_where_they_do_not_fit() -> Result<(), ReportError> {
        register_fonts()?;
        let words = "mean completion time of jobs that a_name_which_is_longer_than_any_line took";
        let broken = lines(words, 110.0, 11.0);
        assert!(broken.len() > 3 && broken.iter().all(|l| width(l, 11.0) <= 110.0), "{broken:?}");
        assert_eq!(lines("short words", 110.0, 11.0), ["short words"]);
        assert_eq!(lines("", 110.0, 11.0), [""; 0]);
        Ok(())
    }

    #[test]
    fn hostile_text_becomes_harmless_xml() -> Result<(), ReportError> {
        let style = TextStyle { size: 12.0, anchor: "start", bold: false, fill: INK };
        let body = text(0.0, 20.0, style, "<script>\u{0}&\"'\u{FFFF}");
        let svg = frame("x", "img", (100, 40), "a < b", "\u{1b}", &body);
        assert!(!svg.contains("<script>"));
        assert!(png("x", &svg)?.starts_with(b"\x89PNG"));
        Ok(())
    }
}
