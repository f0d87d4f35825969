//! Reports of `TestStand` that are drawn: the results and steps of each are those that were drawn.

use std::fmt::Write as _;

use stationdb::prelude::*;
use stationdb::results::{QueryStepsRequest, Step};
use stationdb_formats::{ResultOptions, teststand};

use crate::sizes;
use crate::stage::Stage;

/// Random numbers of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len() as u64) as usize]
    }

    /// A text without blanks around it, with characters that XML has in other forms.
    fn text(&mut self) -> String {
        const PARTS: [&str; 12] =
            ["a", "Zz", "7", "<", ">", "&", "'", "\"", "\u{b5}V", "\u{fc}", ";lt", "]]>"];
        let len = 1 + self.below(5);
        let mut out: String = (0..len).map(|_| self.of(&PARTS)).collect();
        if self.one_in(4) {
            out = format!("{out} {}", self.of(&PARTS));
        }
        out
    }

    /// A number, and a text of it.
    fn number(&mut self) -> (f64, String) {
        let value = (self.below(200_000) as f64 - 100_000.0) / 8.0;
        let text = match self.below(5) {
            0 => format!("{value:.3}"),
            1 => format!(" {value} "),
            2 => format!("{value:e}"),
            3 if value >= 0.0 => format!("+{value:.4}"),
            _ => value.to_string(),
        };
        (value, text)
    }
}

/// What a step measured, as the keys and texts of its parameters.
type Entries = Vec<Vec<(String, String)>>;

/// What a step becomes.
struct Expected {
    /// The ids of the steps around it, and its own.
    path: String,
    name: String,
    step_type: Option<String>,
    status: Option<(&'static str, Option<&'static str>)>,
    seconds: f64,
    text: Option<String>,
    entries: Entries,
    outputs: Vec<String>,
}

struct Writer<'r> {
    random: &'r mut Random,
    steps: Vec<Expected>,
    count: usize,
}

/// The form of a text in a document.
fn escaped(random: &mut Random, text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            other if random.one_in(6) => {
                let _ = write!(out, "&#x{:x};", other as u32);
            }
            other => out.push(other),
        }
    }
    out
}

const STATUSES: [(&str, (&str, Option<&str>)); 7] = [
    ("Passed", ("PASSED", None)),
    ("Failed", ("FAILED", None)),
    ("Done", ("DONE", None)),
    ("Error", ("ERRORED", None)),
    ("Terminated", ("TERMINATED", None)),
    ("Skipped", ("SKIPPED", None)),
    ("Warm", ("CUSTOM", Some("Warm"))),
];

impl Writer<'_> {
    fn prop(&mut self, kind: &str, name: &str, value: &str) -> String {
        let value = escaped(self.random, value);
        let name = escaped(self.random, name);
        let blank = self.random.of(&["", "\n", "  "]);
        let attributes = match self.random.below(3) {
            0 => format!("Name='{name}' Type='{kind}' Flags='0x0'"),
            1 => format!("Type=\"{kind}\" Name=\"{name}\""),
            _ => format!("Name = \"{name}\" Type='{kind}'"),
        };
        let comment = if self.random.one_in(8) { "<!-- <Prop> & -->" } else { "" };
        format!("<Prop {attributes}>{blank}<Value>{value}</Value>{comment}</Prop>{blank}")
    }

    fn object(&mut self, name: &str, mut inside: Vec<String>) -> String {
        // The order of members says nothing.
        for at in (1..inside.len()).rev() {
            inside.swap(at, self.random.below(at as u64 + 1) as usize);
        }
        format!("<Prop Name='{name}' Type='Obj'>{}</Prop>", inside.concat())
    }

    /// The members of limits, and the keys of them.
    fn limits(&mut self, members: &mut Vec<String>, entry: &mut Vec<(String, String)>) {
        if self.random.one_in(4) {
            return;
        }
        let ((low, low_text), (high, high_text)) = (self.random.number(), self.random.number());
        let comparison =
            self.random.of(&["GELE", "GTLT", "GE", "GT", "LE", "LT", "EQ", "NE", "LOG"]);
        let has_both = matches!(comparison, "GELE" | "GTLT");
        let mut inside = vec![self.prop("Number", "Low", &low_text)];
        if has_both {
            inside.push(self.prop("Number", "High", &high_text));
        }
        members.push(self.object("Limits", inside));
        members.push(self.prop("String", "Comp", comparison));
        let mut put = |key: &str, value: f64| entry.push((key.to_owned(), value.to_string()));
        match comparison {
            "GELE" | "GTLT" => {
                put("lowLimit", low);
                put("highLimit", high);
            }
            "EQ" => {
                put("lowLimit", low);
                put("highLimit", low);
            }
            "LE" | "LT" => put("highLimit", low),
            "LOG" => {}
            _ => put("lowLimit", low),
        }
        entry.push(("comparisonType".to_owned(), comparison.to_owned()));
    }

    /// A measured number with its limits and unit.
    fn measured(&mut self, value_name: &str) -> (Vec<String>, Vec<(String, String)>) {
        let (value, text) = self.random.number();
        let mut members = vec![self.prop("Number", value_name, &text)];
        let mut entry = vec![("measurement".to_owned(), value.to_string())];
        self.limits(&mut members, &mut entry);
        if self.random.one_in(2) {
            let unit = self.random.text();
            members.push(self.prop("String", "Units", &unit));
            entry.push(("units".to_owned(), unit));
        }
        (members, entry)
    }

    /// What a step with this name and status measured.
    fn measurements(&mut self, name: &str, status: Option<&str>) -> (Vec<String>, Entries) {
        let mut own = vec![("name".to_owned(), name.to_owned())];
        own.extend(status.map(|status| ("status".to_owned(), status.to_owned())));
        match self.random.below(5) {
            0 => {
                let (members, mut entry) = self.measured("Numeric");
                entry.extend(own);
                (members, vec![entry])
            }
            1 => {
                let (text, limit) = (self.random.text(), self.random.text());
                let inside = vec![self.prop("String", "String", &limit)];
                let members =
                    vec![self.prop("String", "String", &text), self.object("Limits", inside)];
                own.extend([("measurement".to_owned(), text), ("expected".to_owned(), limit)]);
                (members, vec![own])
            }
            2 => {
                let verdict = self.random.of(&["True", "False"]);
                own.push(("measurement".to_owned(), verdict.to_lowercase()));
                (vec![self.prop("Boolean", "PassFail", verdict)], vec![own])
            }
            3 => {
                let (mut array, mut entries) = (String::new(), Vec::new());
                for at in 0..self.random.below(4) {
                    let (members, mut entry) = self.measured("Data");
                    let is_named = !self.random.one_in(3);
                    let name =
                        if is_named { self.random.text() } else { format!("Measurement {at}") };
                    let shown = escaped(self.random, &name);
                    let attribute =
                        if is_named { format!("Name='{shown}'") } else { String::new() };
                    let _ = write!(
                        array,
                        "<Value ID='[{at}]'><Prop {attribute} Type='NI_LimitMeasurement'>{}</Prop></Value>",
                        members.concat()
                    );
                    entry.push(("name".to_owned(), name));
                    entries.push(entry);
                }
                let array = format!("<Prop Name='Measurement' Type='Array'>{array}</Prop>");
                (vec![array], entries)
            }
            _ => (Vec::new(), Vec::new()),
        }
    }

    /// The list of the results of a sequence below the steps of this path.
    fn list(&mut self, path: &str, depth: u64) -> String {
        let mut out = String::new();
        for at in 0..self.random.below(5) {
            let result = self.result(path, depth);
            let _ = write!(out, "<Value ID='[{at}]'>{result}</Value>");
        }
        format!("<Prop Name='ResultList' Type='Array'>{out}</Prop>")
    }

    fn result(&mut self, around: &str, depth: u64) -> String {
        let id = format!("step-{}", self.count);
        self.count += 1;
        let path = if around.is_empty() { id } else { format!("{around}/{id}") };
        let name = self.random.text();
        let status = (!self.random.one_in(8)).then(|| STATUSES[self.random.below(7) as usize]);
        let step_type = (!self.random.one_in(4)).then(|| self.random.text());
        let seconds = if self.random.one_in(3) { 0.0 } else { self.random.number().0.abs() };
        let (mut members, entries) = self.measurements(&name, status.map(|(text, _)| text));
        let mut ts = vec![self.prop("String", "StepName", &name)];
        if let Some(text) = &step_type {
            ts.push(self.prop("String", "StepType", text));
        }
        if seconds > 0.0 {
            ts.push(self.prop("Number", "TotalTime", &seconds.to_string()));
        }
        if let Some((text, _)) = status {
            members.push(self.prop("String", "Status", text));
        }
        let text = self.random.one_in(3).then(|| self.random.text());
        if let Some(text) = &text {
            members.push(self.prop("String", "ReportText", text));
        }
        let mut outputs = Vec::new();
        if self.random.one_in(3) {
            let (value, written) = (self.random.text(), self.random.number());
            members.push(self.prop("String", "Note", &value));
            members.push(self.prop("Number", "Gain", &written.1));
            members.push(self.prop("Boolean", "Done", "True"));
            let text = stationdb::serde_json::Value::from(value);
            outputs =
                vec![format!("Note={text}"), format!("Gain={}", written.0), "Done=true".into()];
        }
        let at = self.steps.len();
        let (entries, status) = (entries, status.map(|(_, status)| status));
        self.steps.push(Expected {
            path,
            name,
            step_type,
            status,
            seconds,
            text,
            entries,
            outputs,
        });
        if depth > 0 && self.random.one_in(3) {
            let around = self.steps[at].path.clone();
            let list = self.list(&around, depth - 1);
            ts.push(format!("<Prop Name='SequenceCall' Type='Obj'>{list}</Prop>"));
        }
        members.push(self.object("TS", ts));
        let result = self.object("", members);
        result.replacen("Name='' Type='Obj'", "Type='TEResult'", 1)
    }
}

/// The bytes of a document in one of the encodings that are read.
fn encoded(random: &mut Random, document: &str) -> Vec<u8> {
    match random.below(4) {
        0 => document.as_bytes().to_vec(),
        1 => format!("\u{feff}<?xml version='1.0' encoding='UTF-8'?>\n{document}").into_bytes(),
        2 => {
            let text = format!("<?xml version='1.0' encoding='ISO-8859-1'?>{document}");
            text.chars().map(|character| u8::try_from(character as u32).unwrap()).collect()
        }
        _ => format!("\u{feff}{document}").encode_utf16().flat_map(u16::to_le_bytes).collect(),
    }
}

#[track_caller]
fn check(step: &Step, expected: &Expected, what: &str) {
    let path = step.path_ids.clone().unwrap().join("/");
    assert_eq!(path, expected.path, "{what}");
    assert_eq!(step.name.as_deref(), Some(expected.name.as_str()), "{what} {path}");
    assert_eq!(step.step_type, expected.step_type, "{what} {path}");
    let status = step
        .status
        .as_ref()
        .map(|status| (status.status_type.as_str(), status.status_name.clone()));
    let wanted = expected.status.map(|(kind, name)| (kind, name.map(str::to_owned)));
    assert_eq!(status, wanted, "{what} {path}");
    assert_eq!(step.total_time_in_seconds.unwrap_or_default(), expected.seconds, "{what} {path}");
    let data = step.data.clone().unwrap_or_default();
    assert_eq!(data.text, expected.text, "{what} {path}");
    let found: Vec<Vec<(String, String)>> = data
        .parameters
        .unwrap_or_default()
        .into_iter()
        .map(|entry| entry.into_iter().collect())
        .collect();
    let mut wanted = expected.entries.clone();
    wanted.iter_mut().for_each(|entry| entry.sort());
    assert_eq!(found, wanted, "{what} {path}");
    let mut outputs: Vec<String> = step
        .outputs
        .iter()
        .flatten()
        .map(|output| {
            let value = output.value.as_f64();
            let text = value.map_or_else(|| output.value.to_string(), |value| value.to_string());
            format!("{}={text}", output.name)
        })
        .collect();
    let mut wanted = expected.outputs.clone();
    outputs.sort();
    wanted.sort();
    assert_eq!(outputs, wanted, "{what} {path}");
}

#[test]
fn drawn_files_of_teststand_become_the_results_that_were_drawn() {
    let seed = sizes::seed();
    let (mut reports, mut steps) = (0, 0);
    for file in 0..sizes::size("instrument_files") {
        let what = format!("STATIONDB_CRASH_SEED={seed}, file {file}");
        let mut random = Random(seed << 32 | file);
        let mut document = String::new();
        let mut drawn = Vec::new();
        for _ in 0..=random.below(3) {
            if random.one_in(4) {
                document += "<Report Type='Batch' UUTResult='Passed'></Report>";
            }
            let (serial, name) = (random.text(), STATUSES[random.below(7) as usize]);
            let mut writer = Writer { random: &mut random, steps: Vec::new(), count: 0 };
            let list = writer.list("", 4);
            let unit = vec![writer.prop("String", "SerialNumber", &serial)];
            let unit = writer.object("UUT", unit);
            let status = writer.prop("String", "Status", name.0);
            let call = format!("<Prop Name='SequenceCall' Type='Obj'>{list}</Prop>");
            let ts = writer.object("TS", vec![call]);
            let main = writer.object("TEResult", vec![status, ts]);
            document += &format!("<Report Type='UUT' UUTResult='Passed'>{unit}{main}</Report>\n");
            drawn.push((serial, name.1, writer.steps));
        }
        let bytes = encoded(&mut random, &format!("<Reports>{document}</Reports>"));
        let stage = Stage::new();
        let report = teststand::import(&stage.session, &bytes, &ResultOptions::new())
            .unwrap_or_else(|error| panic!("{what}: {error}\n{document}"));
        assert_eq!(report.results.len(), drawn.len(), "{what}");
        for (id, (serial, status, expected)) in report.results.iter().zip(&drawn) {
            let result = stage.session.get_result(id).unwrap();
            assert_eq!(result.serial_number.as_deref(), Some(serial.as_str()), "{what}");
            assert_eq!(result.status.unwrap().status_type.as_str(), status.0, "{what}");
            let query =
                QueryStepsRequest::new().filter("resultId == @0").substitutions([id.as_str()]);
            let mut found = stage.session.query_steps(query).unwrap().steps;
            let number = |step: &Step| -> usize {
                let id = step.path_ids.as_ref().unwrap().last().unwrap();
                id.strip_prefix("step-").unwrap().parse().unwrap()
            };
            found.sort_by_key(number);
            assert_eq!(found.len(), expected.len(), "{what}");
            for (step, expected) in found.iter().zip(expected) {
                check(step, expected, &what);
            }
            steps += found.len();
        }
        reports += drawn.len();
    }
    println!("counted: {reports} drawn reports, counted: {steps} drawn steps");
    assert!(steps > 2 * reports, "{reports} reports have {steps} steps");
}
