//! Requests for every operation that has a request and reads: filters, orders, pages and counts
//! that involve hidden records.

use serde_json::{Value, json};
use stationdb::{Result, Session};

use crate::calls::{call, filled, wire};
use crate::world::World;

/// Operations with their requests.
#[derive(serde::Deserialize)]
pub struct Question {
    operations: Vec<String>,
    #[serde(default = "nothing")]
    base: String,
    #[serde(default = "filter")]
    member: String,
    #[serde(default)]
    filters: Vec<String>,
    #[serde(default)]
    orders: Vec<String>,
    #[serde(default)]
    requests: Vec<String>,
}

#[derive(serde::Deserialize)]
struct Corpus {
    question: Vec<Question>,
}

/// Page sizes, some of which are read as walks, around the sizes at which a plan changes.
const TAKES: [i64; 3] = [2, 40, 200];

fn nothing() -> String {
    "{}".to_owned()
}

fn filter() -> String {
    "filter".to_owned()
}

/// Sends a request, about the table of the hidden workspace if it is about one.
pub fn ask(operation: &str, session: &Session, world: &World, request: Value) -> Result<Value> {
    let (_, name) = operation.split_once("::").unwrap();
    let is_about_rows = name.ends_with("table_data")
        || matches!(name, "scan" | "read_waveforms" | "list_deleted_rows" | "query_decimated_data");
    let table = is_about_rows.then(|| json!(world.secret.table));
    call(session, name, &table.into_iter().chain([request]).collect::<Vec<_>>())
}

impl Question {
    /// The listed requests, and the base with each filter, order and take.
    fn requests(&self, world: &World) -> Vec<Value> {
        let open = json!({"open_product": world.open.product, "open_table": world.open.table,
            "open_file": world.open.file});
        let places = [wire(&world.secret), open];
        let read = |text: &String| filled(&format!("[{text}]"), &places).remove(0);
        let mut requests: Vec<Value> = self.requests.iter().map(read).collect();
        for text in [String::new()].iter().chain(&self.filters) {
            for order in self.orders.iter().map(read) {
                for take in TAKES {
                    let mut request = read(&self.base);
                    request["take"] = json!(take);
                    for (name, value) in order.as_object().unwrap() {
                        request[name] = value.clone();
                    }
                    if !text.is_empty() {
                        request[&self.member] = json!(text);
                    }
                    requests.push(request);
                }
            }
        }
        requests
    }
}

/// Each operation with its requests.
pub fn questions(world: &World) -> Vec<(String, Vec<Value>)> {
    let corpus: Corpus = toml::from_str(include_str!("../corpus/questions.toml")).unwrap();
    let mut asked: Vec<(String, Vec<Value>)> = Vec::new();
    for question in &corpus.question {
        for operation in &question.operations {
            let requests = question.requests(world);
            match asked.iter_mut().find(|(name, _)| name == operation) {
                Some((_, all)) => all.extend(requests),
                None => asked.push((operation.clone(), requests)),
            }
        }
    }
    asked
}
