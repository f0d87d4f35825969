//! Records that were damaged: an import answers or refuses, and never panics.

use std::sync::OnceLock;

use proptest::prelude::*;
use stationdb::ErrorKind;
use stationdb_formats::openhtf::{ImportOptions, import};

use super::{Bench, records};

fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        ["limits", "curves", "attachments", "exception", "subtests", "timeout"]
            .map(|name| std::fs::read_to_string(records().join(format!("{name}.json"))).unwrap())
            .to_vec()
    })
}

thread_local! {
    static BENCH: Bench = Bench::new();
}

/// Imports bytes. What is refused is refused for the bytes, and changes nothing.
fn try_import(bytes: &[u8]) {
    BENCH.with(|bench| {
        let before = bench.counts().0;
        match import(&bench.session, bytes, &ImportOptions::new().again(true)) {
            Ok(report) => assert_eq!(bench.steps_of(&report).len(), report.steps),
            Err(error) => {
                let kinds = [
                    ErrorKind::InvalidArgument,
                    ErrorKind::LimitExceeded,
                    ErrorKind::PartialFailure,
                ];
                assert!(kinds.contains(&error.kind()), "{error:?}");
                assert_eq!(bench.counts().0, before);
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_with_other_tokens(
        record in 0..6_usize,
        changes in prop::collection::vec((0..10_000_usize, 0..13_usize), 1..8),
    ) {
        const TOKENS: [&str; 13] = [
            "null", "true", "-1", "1e308", "9223372036854775807", "\"\"", "\"nan\"", "[]", "{}",
            "[[[]]]", "{\"name\": 7}", "\"1 <= x <= 0\"", "\"=\"",
        ];
        const UNREAD: [&str; 8] = [
            "repeat", "timeout_s", "_if", "stop_on", "run_under", "requires", "phase_name_case",
            "descriptor_id",
        ];
        let mut text = texts()[record].clone();
        for (place, token) in changes {
            // A value: what follows a colon, up to the end of its line. What the import does not
            // read, settings of phases and lines of logs, stays.
            let end = text.find("\"log_records\"").unwrap_or(text.len());
            let is_read = |at: &usize| {
                let line = text[..*at].rsplit('\n').next().unwrap_or_default();
                !UNREAD.iter().any(|key| line.contains(key))
            };
            let colons = text.match_indices("\": ").map(|(at, _)| at + 3);
            let colons: Vec<usize> = colons.filter(|at| *at < end).filter(is_read).collect();
            let Some(from) = colons.get(place % colons.len().max(1)).copied() else { continue };
            let line = text[from..].find('\n').map_or(text.len(), |end| from + end);
            let old = &text[from..line];
            if old.ends_with('{') || old.ends_with('[') {
                continue;
            }
            let comma = if old.ends_with(',') { "," } else { "" };
            text.replace_range(from..line, &format!("{}{comma}", TOKENS[token]));
        }
        try_import(text.as_bytes());
    }

    #[test]
    fn records_without_lines(record in 0..6_usize, from in 0..400_usize, count in 1..12_usize) {
        let lines: Vec<&str> = texts()[record].lines().collect();
        let from = from % lines.len();
        let kept = lines.iter().enumerate().filter(|(at, _)| !(from..from + count).contains(at));
        try_import(kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n").as_bytes());
    }

    #[test]
    fn records_with_other_bytes(
        record in 0..6_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = texts()[record].clone().into_bytes();
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        try_import(&bytes);
    }
}

#[test]
fn deep_json_is_refused() {
    for text in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        try_import(text.as_bytes());
    }
}
