//! Random files, read as pystdf reads them.

use std::process::Command;

use serde_json::Value as Json;
use stationdb_formats::stdf::{ByteOrder, RECORD_TYPES, Records};

use super::builder::{File, V};
use super::records::{is_same, json};

/// Reads files and prints a line of JSON for each: its records with their values.
const SCRIPT: &str = r#"
import json, sys
from pystdf.IO import Parser
class Sink:
    def __init__(self): self.found = []
    def before_send(self, source, record):
        kind, fields = record
        self.found.append([type(kind).__name__.upper(), list(fields)])
    def before_begin(self, source): pass
    def before_complete(self, source): pass
    def before_cancel(self, source, exception): raise exception
for path in sys.argv[1:]:
    sink = Sink()
    parser = Parser(inp=open(path, "rb"), reopen_fn=lambda: open(path, "rb"))
    parser.addSink(sink)
    parser.parse()
    print(json.dumps(sink.found))
"#;

/// Numbers without a pattern.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn text(&mut self) -> String {
        let length = self.below(9);
        (0..length).map(|_| char::from(b' ' + u8::try_from(self.below(95)).unwrap())).collect()
    }

    fn value(&mut self, type_name: &str) -> V {
        let number = self.next();
        match type_name {
            "U*1" | "B*1" => V::U1(number as u8),
            "U*2" => V::U2(number as u16),
            "U*4" => V::U4(number as u32),
            "I*1" => V::I1(number as i8),
            "I*2" => V::I2(number as i16),
            "I*4" => V::I4(number as i32),
            "R*4" => V::R4((number as i32) as f32 / 1024.0),
            "C*1" => V::C("Z".to_owned()),
            "C*n" => V::Cn(self.text()),
            "B*n" => V::Bn((0..number % 4).map(|byte| byte as u8).collect()),
            "D*n" => {
                let count = number % 40;
                V::Dn(count as u16, (0..count.div_ceil(8)).map(|byte| byte as u8).collect())
            }
            "V*n" => V::G(vec![(1, V::U1(number as u8)), (10, V::Cn(self.text()))]),
            other => panic!("{other}"),
        }
    }

    /// A record with some of its first fields.
    fn record(&mut self, file: File) -> File {
        // The types that pystdf knows.
        let known = RECORD_TYPES.iter().filter(|known| {
            known.name != "FAR"
                && known.number != (0, 30)
                && known.number != (15, 30)
                && !(known.number.0 == 1 && known.number.1 >= 90)
        });
        let known: Vec<_> = known.collect();
        let known = known[self.below(known.len() as u64) as usize];
        let fields = known.fields.len() as u64;
        // pystdf fails at a list whose count a short record does not have.
        let has_lists = known.fields.iter().any(|field| field.type_name().starts_with('k'));
        let is_short = !has_lists && self.below(3) == 0;
        let count = if is_short { self.below(fields + 1) } else { fields };
        let mut values: Vec<V> = Vec::new();
        let items = self.below(5);
        for (at, field) in known.fields.iter().enumerate().take(count as usize) {
            let type_name = field.type_name();
            let counts =
                known.fields[at + 1..].iter().any(|later| later.type_name().starts_with('k'));
            let is_count =
                ["_CNT", "_ICNT", "NUM_BINS"].iter().any(|end| field.name.ends_with(end));
            values.push(match (type_name.strip_prefix("kx"), type_name.as_str()) {
                (None, "U*1") if is_count && counts => V::U1(items as u8),
                (None, "U*2") if is_count && counts => V::U2(items as u16),
                (None, one) => self.value(one),
                (Some("N*1"), _) => V::N((0..items).map(|item| item as u8 + 1).collect()),
                (Some(item), _) => V::L((0..items).map(|_| self.value(item)).collect()),
            });
        }
        file.add(known.name, &values)
    }
}

/// What is read of a file, in the form of the script.
fn read(file: &File) -> Json {
    let mut records = Records::new(&file.bytes[..]).unwrap();
    let mut all = Vec::new();
    while let Some(record) = records.next_record().unwrap() {
        let known = record.record_type().unwrap();
        let fields = known.fields.iter().zip(record.values().unwrap());
        let fields = fields.map(|(field, value)| {
            let json = json(value);
            match json.as_array() {
                Some(nibbles) if field.type_name() == "kxN*1" => nibbles
                    .chunks(2)
                    .map(|pair| {
                        let high = pair.get(1).and_then(Json::as_u64).unwrap_or(0);
                        Json::from(pair[0].as_u64().unwrap() | high << 4)
                    })
                    .collect(),
                _ => json,
            }
        });
        all.push(Json::from(vec![Json::from(known.name), fields.collect()]));
    }
    all.into()
}

#[test]
fn random_files_are_read_as_pystdf_reads_them() {
    let Some(python) = crate::python::python() else {
        println!("skipped: there is no Python here; STATIONDB_PYTHON may name one");
        return;
    };
    let has_pystdf = Command::new(&python).args(["-c", "import pystdf"]).output().unwrap();
    if !has_pystdf.status.success() {
        println!("skipped: pystdf is not installed for {python}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let count = crate::sizes::size("stdf_files");
    let first = crate::sizes::seed().wrapping_mul(count);
    let files: Vec<File> = (0..count)
        .map(|at| {
            let seed = first.wrapping_add(at);
            let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let order = if at % 2 == 0 { ByteOrder::Little } else { ByteOrder::Big };
            let records = 1 + draw.below(60);
            (0..records).fold(File::new(order), |file, _| draw.record(file))
        })
        .collect();
    let paths = files.iter().enumerate().map(|(at, file)| {
        let path = directory.path().join(format!("{at}.stdf"));
        std::fs::write(&path, &file.bytes).unwrap();
        path
    });
    let output = Command::new(&python).args(["-c", SCRIPT]).args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count() as u64, count);
    for (place, (file, line)) in files.iter().zip(lines.lines()).enumerate() {
        let expected: Json = serde_json::from_str(line).unwrap();
        let found = read(file);
        let pairs = found.as_array().unwrap().iter().zip(expected.as_array().unwrap());
        for (at, (found, expected)) in pairs.enumerate() {
            assert!(is_same(found, expected), "file {place}, record {at}: {found} {expected}");
        }
        assert_eq!(found.as_array().unwrap().len(), expected.as_array().unwrap().len(), "{place}");
    }
}
