//! A filled store in a directory of its own, and the program that works on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use stationdb::arrow::array::{Float64Array, Int64Array, RecordBatch};
use stationdb::arrow::datatypes::{DataType, Field, Schema};
use stationdb::prelude::*;
use stationdb::serde_json::{self, Value, json};
use stationdb::{Control, Identity, Session, Store};

use crate::package::package;

/// Rows of the table `Loop`; volts has one spike, in this row.
pub const ROWS: i32 = 5000;
pub const SPIKE: i32 = 777;

pub struct Bench {
    pub directory: tempfile::TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    /// The output of a run in which all went well.
    pub fn good(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }

    /// The one line of a run that failed with `code`.
    pub fn bad(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        assert!(self.err.starts_with("stationdb: ") && self.err.ends_with('\n'), "{self:?}");
        self.err.trim_start_matches("stationdb: ").trim_end().to_owned()
    }
}

macro_rules! request {
    ($($json:tt)+) => { stationdb::from_json_strict(
            stationdb::serde_json::json!($($json)+).to_string().as_bytes(),
        ).unwrap() };
}
pub(crate) use request;

/// The program, in an environment that is the same everywhere.
pub fn program(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stationdb"));
    command.current_dir(directory).stdin(Stdio::null());
    for name in ["NO_COLOR", "PAGER", "STATIONDB_PAGER", "LESS", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.env("USER", "grace").env("STATIONDB_HISTORY", directory.join("history"));
    command
}

impl Bench {
    pub fn empty() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A store with one record of each kind, and a table of rows.
    pub fn new() -> Self {
        let bench = Self::empty();
        bench.fill(|session| {
            fill(session);
            rows(session, "Loop", ROWS);
        });
        bench
    }

    pub fn fill(&self, fill: impl FnOnce(&Session)) {
        let store = Store::open(self.store()).unwrap();
        fill(&store.session(Identity::user("ada")));
        store.close().unwrap();
    }

    pub fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// The number in the store's file FORMAT.
    pub fn format(&self) -> u64 {
        let text = std::fs::read_to_string(self.store().join("FORMAT")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("format "));
        line.unwrap().parse().unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names in the directory, without the store.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name != "store").collect();
        names.sort();
        names
    }

    /// The program on the store.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(self.directory.path());
        command.arg("store").args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        run(&mut self.command(arguments))
    }

    pub fn good(&self, arguments: &[&str]) -> String {
        self.run(arguments).good()
    }

    /// The output of a command as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let out = self.good(&[arguments, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error} in {out}"))
    }
}

pub fn run(command: &mut Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn fill(session: &Session) {
    session.create_workspace(request!({"id": "lab", "name": "Laboratory"})).unwrap();
    let product =
        request!({"partNumber": "P-1", "name": "Low-noise amplifier", "family": "Analog"});
    let made = session.create_products(vec![product]).unwrap();
    let product = made.products[0].id.clone().unwrap().to_string();
    let other = request!({"partNumber": "P-2", "name": "Relay, \"small\"", "family": "Digital"});
    session.create_products(vec![other]).unwrap().require_all().unwrap();
    let result = request!({"programName": "Gain", "status": {"statusType": "PASSED"},
        "partNumber": "P-1", "serialNumber": "SN-1"});
    let made = session.create_results(vec![result]).unwrap();
    let step = request!({"name": "Gain", "resultId": made.results[0].id.clone().unwrap(),
        "stepType": "NumericLimitTest", "status": {"statusType": "PASSED"}});
    session.create_steps(vec![step], false).unwrap().require_all().unwrap();
    let specs = session.create_specs(request!({"specs": [
        {"productId": product, "specId": "GAIN", "name": "Gain", "type": "PARAMETRIC", "unit": "V",
            "limit": {"min": -1, "max": 9}},
        {"productId": "P-2", "specId": "CLICK", "type": "FUNCTIONAL"},
    ]}));
    assert_eq!(specs.unwrap().failed_specs, None);
    let asset = json!({"modelName": "M", "vendorName": "V", "serialNumber": "S1", "busType": "ACCESSORY",
        "name": "Meter", "location": {"state": {"assetPresence": "PRESENT"}}});
    assert_eq!(session.create_assets(vec![request!(asset)]).unwrap().failed, None);
    let started = session.start_utilization(request!({
        "utilizationIdentifier": "use-1", "minionId": "bench", "utilizationCategory": "test",
        "taskName": "burn-in", "userName": "ada", "assetIdentifications": [
            {"modelName": "M", "vendorName": "V", "serialNumber": "S1", "busType": "ACCESSORY"}],
    }));
    assert_eq!(started.unwrap().error, None);
    for (number, state) in [(1, "NEW"), (2, "NEW"), (3, "DEFINED")] {
        let item = request!({"name": format!("Burn-in {number}"), "type": "testplan", "state": state,
            "partNumber": "P-1"});
        assert_eq!(session.create_work_items(vec![item]).unwrap().error, None);
    }
    let template = request!({"name": "Daily", "type": "testplan", "templateGroup": "G"});
    session.create_work_item_templates(vec![template]).unwrap().require_all().unwrap();
    let plan = request!({"name": "Plan", "state": "NEW", "partNumber": "P-1"});
    session.create_test_plans(vec![plan]).unwrap().require_all().unwrap();
    let template = request!({"name": "Weekly", "templateGroup": "G"});
    session.create_test_plan_templates(vec![template]).unwrap().require_all().unwrap();
    let control = Control::default();
    let file = request!({"name": "report.md", "metadata": {"about": "amplifier"}});
    session.upload_file(&mut &b"passed"[..], file, &control).unwrap();
    let feed = request!({"name": "tools", "platform": "NI_LINUX_RT"});
    let feed = session.create_feed(feed).unwrap();
    session
        .upload_package_content(&feed.id, &mut package("probe").as_slice(), None, false, &control)
        .unwrap();
}

/// A table with the columns t, volts and amps.
pub fn rows(session: &Session, name: &str, count: i32) {
    let table = session.create_table(request!({"name": name, "columns": [
        {"name": "t", "dataType": "INT64", "columnType": "INDEX"},
        {"name": "volts", "dataType": "FLOAT64"},
        {"name": "amps", "dataType": "FLOAT64"},
    ]}));
    let table = table.unwrap();
    let fields = [
        Field::new("t", DataType::Int64, false),
        Field::new("volts", DataType::Float64, false),
        Field::new("amps", DataType::Float64, false),
    ];
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let batches = (0..count).step_by(50_000).map(|from| {
        let t = || from..count.min(from + 50_000);
        let volts = t().map(|t| if t == SPIKE { 9.5 } else { 0.5 });
        RecordBatch::try_new(
            schema.clone(),
            vec![
                Arc::new(Int64Array::from_iter_values(t().map(i64::from))),
                Arc::new(Float64Array::from_iter_values(volts)),
                Arc::new(Float64Array::from_iter_values(t().map(|t| f64::from(t % 7)))),
            ],
        )
    });
    session.append_batches(&table, &mut batches.into_iter(), None).unwrap();
}
