//! The file around what a page shows: its policy, its style and its scripts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use stationdb::serde_json::Value;

use crate::html::{escaped, json};

/// uPlot 1.6.32, as its package has it.
const UPLOT: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../assets/uplot/LICENSE");
/// Names are defined before they are used.
const SCRIPTS: &[&str] = &[
    include_str!("../assets/bytes.js"),
    include_str!("../assets/numbers.js"),
    include_str!("../assets/times.js"),
    include_str!("../assets/axis.js"),
    include_str!("../assets/levels.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/colours.js"),
    include_str!("../assets/chart.js"),
    include_str!("../assets/gestures.js"),
    include_str!("../assets/waveform.js"),
    include_str!("../assets/steps.js"),
    include_str!("../assets/start.js"),
];
const STYLES: &[&str] =
    &[include_str!("../assets/uplot/uPlot.min.css"), include_str!("../assets/page.css")];

/// Characters of one element with numbers; browsers refuse texts of half a gigabyte.
const PIECE_CHARS: usize = 4 << 20;

/// A page in the making.
pub(crate) struct Page {
    title: String,
    body: String,
    waveforms: Vec<Value>,
    numbers: String,
    blocks: usize,
    /// Values that were read for the page.
    pub(crate) values: u64,
}

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            body: String::new(),
            waveforms: Vec::new(),
            numbers: String::new(),
            blocks: 0,
            values: 0,
        }
    }

    /// Adds HTML to the body.
    pub(crate) fn push(&mut self, html: &str) {
        self.body.push_str(html);
    }

    /// Where the next HTML of the body begins.
    pub(crate) fn end(&self) -> usize {
        self.body.len()
    }

    /// Adds HTML to the body at a place that [`end`](Self::end) was.
    pub(crate) fn insert(&mut self, at: usize, html: &str) {
        self.body.insert_str(at, html);
    }

    /// Bytes of the file so far, about.
    pub(crate) fn size(&self) -> usize {
        let fixed =
            UPLOT.len() + SCRIPTS.iter().chain(STYLES).map(|text| text.len()).sum::<usize>();
        fixed + self.body.len() + self.numbers.len()
    }

    /// Adds bytes, and returns how the scripts find them.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Value {
        let id = format!("b{}", self.blocks);
        self.blocks += 1;
        let pieces = bytes.chunks(PIECE_CHARS / 4 * 3);
        let count = pieces.len();
        for (at, piece) in pieces.enumerate() {
            self.numbers.push_str(&format!("<script type=\"text/plain\" id=\"{id}-{at}\">"));
            STANDARD.encode_string(piece, &mut self.numbers);
            self.numbers.push_str("</script>\n");
        }
        stationdb::serde_json::json!({"id": id, "pieces": count, "bytes": bytes.len()})
    }

    /// The number that the next waveform gets.
    pub(crate) fn next_waveform(&self) -> usize {
        self.waveforms.len()
    }

    /// Adds what the scripts need to know of a waveform.
    pub(crate) fn waveform(&mut self, waveform: Value) {
        self.waveforms.push(waveform);
    }

    /// The whole file.
    pub(crate) fn finish(self) -> String {
        let style = with_line_feeds(&STYLES.concat());
        let uplot = with_line_feeds(UPLOT);
        let own = with_line_feeds(&SCRIPTS.concat());
        // The policy of a page without charts that move allows no script but these either.
        let policy = format!(
            "default-src 'none'; script-src '{}' '{}'; style-src '{}'; base-uri 'none'; \
             form-action 'none'",
            hash(&uplot),
            hash(&own),
            hash(&style)
        );
        let licence = with_line_feeds(UPLOT_LICENCE).replace("--", "- -");
        let data = json(&stationdb::serde_json::json!({"waveforms": self.waveforms}));
        let title = escaped(&self.title);
        let Self { body, numbers, .. } = &self;
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"generator\" content=\"stationdb-report\">\n\
             <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
             <header><h1><bdi>{title}</bdi></h1><div id=\"settings\"></div></header>\n\
             <p class=\"old\" id=\"old\">This browser shows the pictures and tables alone. Zoom and \
             cursors need a browser of the last three years that may run the scripts in this \
             file.</p>\n<main>\n{body}</main>\n\
             <div id=\"said\" role=\"status\" aria-live=\"polite\"></div>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n{numbers}\
             <!-- uPlot, which is in this file, has this licence:\n{licence}-->\n\
             <script>{uplot}</script>\n<script>{own}</script>\n</body>\n</html>\n"
        )
    }
}

/// The text as a browser reads it: a checkout may have other ends of lines.
fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The source of a policy that allows this script or style alone.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file of the package uplot 1.6.32 of the registry of npm.
    #[test]
    fn uplot_is_the_published_one() {
        let hex = |text: &str| {
            let digest = Sha256::digest(with_line_feeds(text).as_bytes());
            digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        assert_eq!(hex(UPLOT), "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f");
        assert_eq!(
            hex(STYLES[0]),
            "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"
        );
        assert!(UPLOT_LICENCE.contains("MIT License"));
    }

    #[test]
    fn scripts_end_no_element_and_ask_for_nothing() {
        // The first line of uPlot is a comment with its address.
        let (_, uplot) = UPLOT.split_once('\n').unwrap();
        for text in SCRIPTS.iter().chain(STYLES).chain([&uplot]) {
            let text = text.to_lowercase();
            for part in [
                "</script",
                "</style",
                "<!--",
                "http:",
                "https:",
                "fetch(",
                "xmlhttp",
                "websocket",
                "@import",
                "eval(",
            ] {
                assert!(!text.contains(part), "{part}");
            }
        }
    }

    /// Their hashes do not depend on how a document around the page is decoded.
    #[test]
    fn own_scripts_and_styles_are_ascii() {
        assert!(SCRIPTS.iter().chain(STYLES).all(|text| text.is_ascii()));
    }

    #[test]
    fn styles_name_no_file() {
        assert!(STYLES.iter().all(|text| !text.contains("url(")));
    }

    #[test]
    fn a_page_has_its_policy_and_its_title_as_text() {
        let mut page = Page::new("</title><script>alert(1)</script>");
        let block = page.bytes(&[1, 2, 3]);
        assert_eq!((&block["pieces"], &block["bytes"]), (&1.into(), &3.into()));
        let text = page.finish();
        assert!(!text.contains("<script>alert"));
        assert!(text.contains("<title>&lt;/title&gt;"));
        assert!(text.contains("default-src 'none'; script-src 'sha256-"));
        assert!(text.contains(">AQID</script>"));
    }

    #[test]
    fn many_bytes_come_in_pieces() {
        let mut page = Page::new("a");
        let bytes = vec![7; PIECE_CHARS / 4 * 3 + 1];
        assert_eq!(page.bytes(&bytes)["pieces"], 2);
        assert_eq!(page.bytes(&[])["pieces"], 0);
        assert!(page.finish().contains("id=\"b0-1\">Bw==</script>"));
    }
}
