//! Random records, filters and orders of every kind: the answer of each plan equals the naive
//! answer.
//!
//! The naive answer is computed only from the JSON of the records: without a store, an index or the
//! getters of a resource.

use std::cmp::Ordering;

use crate::store::tests::prelude::*;
use proptest::prelude::*;
use serde_json::Map;

use super::kinds::{CorpusKind, KINDS, Raw, filtering};
use super::{Opened, kind};
use crate::filter::tests::corpus::JsonRow;
use crate::filter::tests::schemas;
use crate::value::{Row as _, Val, key};

/// A deterministic random generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

const TEXTS: [&str; 9] = ["a", "b", "B", "ab", "ba b", "", "ä", "alpha beta", "Alpha-7"];
const KEYS: [&str; 3] = ["k", "Location", "minionId"];
const TIMES: [&str; 5] = [
    "2024-01-01T00:00:00.000Z",
    "2024-01-01T00:00:00.001Z",
    "2023-12-31T23:59:59.999Z",
    "2024-05-15T11:00:00.000Z",
    "1999-02-03T04:05:06.007Z",
];
const INTS: [i64; 5] = [0, 1, 5, 7, 1_000_000];
const DOUBLES: [f64; 5] = [-2.5, 0.0, 1.5, 3.0, 1e9];

/// Whether the service computes the field, or a record cannot get it from JSON.
fn is_derived(kind: &str, path: &str) -> bool {
    matches!(
        (kind, path),
        ("asset", "CalibrationStatus" | "Locations" | "ExternalCalibration.ResolvedDueDate")
            | ("asset", "ExternalCalibration.NextRecommendedDate")
            | ("file", "extension" | "userId" | "name")
            | ("specification", "conditions")
            | ("utilization", "UtilizationIdentifier")
            | ("testPlan", "workOrderName")
            | ("product" | "table", "workspaceName")
            | ("result", "productName" | "workspaceName" | "workspaceId")
    )
}

/// Whether every record of the kind has the field.
fn is_required(kind: &str, path: &str) -> bool {
    matches!(
        (kind, path),
        ("file", "created" | "updated" | "workspace" | "size")
            | (
                "utilization",
                "StartTimestamp" | "AssetIdentifier" | "Workspace" | "HeartbeatTimestamp"
            )
            | ("asset", "IsSystemController" | "OutForCalibration")
            | ("result", "status.statusType")
    )
}

struct Declared {
    fields: Vec<FieldDecl>,
    sources: Vec<&'static str>,
}

impl Declared {
    fn of(kind: &str) -> Self {
        Self { fields: schemas::fields(kind), sources: schemas::sources(kind) }
    }

    fn used<'d>(&'d self, kind: &'d str) -> impl Iterator<Item = (&'d FieldDecl, &'static str)> {
        let all = self.fields.iter().zip(self.sources.iter().copied());
        all.filter(move |(decl, _)| {
            !is_derived(kind, decl.path) && !matches!(decl.ty, FieldType::Object)
        })
    }
}

fn set(record: &mut Value, path: &str, value: Value) {
    let mut at = record;
    for part in path.split('.') {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = at.as_object_mut().unwrap().entry(part).or_insert(Value::Null);
    }
    *at = value;
}

fn value(random: &mut Random, decl: &FieldDecl) -> Value {
    match decl.ty {
        FieldType::Bool | FieldType::Object => random.chance(50).into(),
        FieldType::String
        | FieldType::WorkspaceName
        | FieldType::ProductName
        | FieldType::DecimalId
        | FieldType::Reference => (*random.pick(&TEXTS)).into(),
        FieldType::Int => (*random.pick(&INTS)).into(),
        FieldType::Double => (*random.pick(&DOUBLES)).into(),
        FieldType::Time | FieldType::Within => (*random.pick(&TIMES)).into(),
        FieldType::Enum(members) => random.pick(members).0.into(),
        FieldType::Strings => {
            let count = random.below(3);
            Value::from(
                (0..count).map(|at| TEXTS[(at * 3 + random.below(3)) % 9]).collect::<Vec<_>>(),
            )
        }
        FieldType::Map => {
            let chosen = KEYS.iter().filter(|_| random.chance(60)).copied().collect::<Vec<_>>();
            chosen
                .into_iter()
                .map(|key| (key.to_owned(), Value::from(*random.pick(&TEXTS))))
                .collect::<Map<_, _>>()
                .into()
        }
        FieldType::Maps => {
            let map = FieldDecl::new("", FieldType::Map);
            (0..random.below(3)).map(|_| value(random, &map)).collect::<Vec<_>>().into()
        }
        FieldType::Json => match random.below(8) {
            0 => Value::Null,
            1 => random.chance(50).into(),
            2 => (*random.pick(&DOUBLES)).into(),
            3 => json!({"a": 1}),
            4 => json!([1]),
            5 => (*random.pick(&INTS)).into(),
            _ => (*random.pick(&TEXTS)).into(),
        },
        FieldType::Rows(members) => {
            let row = |random: &mut Random| {
                let mut row = Map::new();
                for member in members {
                    if random.chance(70) || member.path == "name" {
                        row.insert(member.path.to_owned(), value(random, member));
                    }
                }
                Value::Object(row)
            };
            let count = random.below(3);
            (0..count).map(|_| row(random)).collect::<Vec<_>>().into()
        }
    }
}

fn id(kind: &str, number: usize) -> String {
    match kind {
        "table" | "file" => format!("{number:024x}"),
        "workItem" | "workItemTemplate" | "testPlan" | "testPlanTemplate" | "probe" => {
            number.to_string()
        }
        _ => format!("00000000-0000-8000-8000-{number:012x}"),
    }
}

fn record(random: &mut Random, kind: &str, declared: &Declared, number: usize) -> Value {
    let mut record = json!({});
    for (decl, source) in declared.used(kind) {
        if is_required(kind, decl.path) || random.chance(75) {
            let value = value(random, decl);
            set(&mut record, source, value);
        }
    }
    record["id"] = id(kind, number).into();
    // Members that must be unique or always present.
    match kind {
        "product" => record["partNumber"] = format!("{}{number}", random.pick(&TEXTS)).into(),
        "specification" => {
            record["productId"] = "P1".into();
            record["specId"] = format!("{}{number}", random.pick(&TEXTS)).into();
        }
        "asset" => record["serialNumber"] = format!("{}{number}", random.pick(&TEXTS)).into(),
        "result" if random.chance(30) => set(&mut record, "properties.k", Value::Null),
        "utilization" => record["utilizationIdentifier"] = record["id"].clone(),
        "file" => set(&mut record, "properties.Name", format!("n{number}").into()),
        _ => {}
    }
    record
}

fn quoted(text: impl AsRef<str>) -> String {
    serde_json::to_string(text.as_ref()).unwrap()
}

/// A random condition on one field.
fn condition(random: &mut Random, decl: &FieldDecl, count: usize, kind: &str) -> String {
    let path = decl.path;
    let comparison = |random: &mut Random| *random.pick(&["=", "!=", "<", "<=", ">", ">="]);
    if decl.ops == Ops::Equality || path == "id" || path == "AssetIdentifier" && kind == "asset" {
        let some = |random: &mut Random| quoted(id(kind, random.below(count + 2)));
        return match random.below(4) {
            0 => format!("{path} != {}", some(random)),
            1 => format!("{path} in ({}, {}, {})", some(random), some(random), some(random)),
            2 => format!("new[]{{{}, {}}}.Contains({path})", some(random), some(random)),
            _ => format!("{path} = {}", some(random)),
        };
    }
    match decl.ty {
        FieldType::Object => format!("{path} = null"),
        FieldType::Bool => match random.below(3) {
            0 => path.to_owned(),
            1 => format!("not {path}"),
            _ => format!("{path} {} {}", random.pick(&["=", "!="]), random.chance(50)),
        },
        FieldType::String
        | FieldType::WorkspaceName
        | FieldType::ProductName
        | FieldType::DecimalId
        | FieldType::Reference => {
            let text = quoted(random.pick(&TEXTS));
            match random.below(11) {
                0..4 => format!("{path} {} {text}", comparison(random)),
                4 => format!("{path}.Contains({text})"),
                5 => format!("{path}.StartsWith({text})"),
                6 => format!("!{path}.EndsWith({text})"),
                7 => {
                    format!(
                        "{path} in ({text}, {}, {})",
                        quoted(random.pick(&TEXTS)),
                        random.pick(&["null", "\"b\""])
                    )
                }
                8 => format!("{path} {} null", random.pick(&["=", "!="])),
                9 => format!("{path}.ToLower().Contains({text}.ToLower())"),
                _ => format!("string.IsNullOrEmpty({path})"),
            }
        }
        FieldType::Int | FieldType::Double => match random.below(8) {
            0 => format!("{path} = null"),
            1 => format!("{path} in ({}, {})", random.pick(&INTS), random.pick(&INTS)),
            2 => format!("{path} {} {}", comparison(random), random.pick(&DOUBLES)),
            3 => format!("{path} + 1 > \"{}\"", random.pick(&INTS)),
            _ => format!("{path} {} {}", comparison(random), random.pick(&INTS)),
        },
        FieldType::Time => match random.below(6) {
            0 => format!("{path} {} null", random.pick(&["=", "!="])),
            1 => format!("{path} >= \"2024-01-01\" and {path} < \"2024-02-01\""),
            _ => format!("{path} {} {}", comparison(random), quoted(random.pick(&TIMES))),
        },
        FieldType::Within => {
            let spans = ["\"0\"", "\"1.00:00:00\"", "\"135.12:00:00\"", "RelativeTime.CurrentYear"];
            format!("{path} {} {}", comparison(random), random.pick(&spans))
        }
        FieldType::Enum(members) => {
            let member = |random: &mut Random| {
                quoted(random.pick(members).0.to_lowercase().replace('_', "-"))
            };
            match random.below(4) {
                0 => format!("{path} != {}", member(random)),
                1 => format!("{path} in ({}, {})", member(random), member(random)),
                2 => format!("{path} = null"),
                _ => format!("{path} = {}", member(random)),
            }
        }
        FieldType::Strings => {
            let text = quoted(random.pick(&TEXTS));
            match random.below(5) {
                0 => format!("!{path}.Any()"),
                1 => format!("{path}.Any(it.Contains({text}))"),
                2 => format!("{path}.Count {} {}", comparison(random), random.below(3)),
                3 => format!("{path}.Any(it in ({text}, {}))", quoted(random.pick(&TEXTS))),
                _ => format!("{path}.Contains({text})"),
            }
        }
        FieldType::Map => {
            let (key, text) = (*random.pick(&KEYS), quoted(random.pick(&TEXTS)));
            match random.below(6) {
                0 => format!("{path}.ContainsKey({})", quoted(key)),
                1 => format!("{path}.{key} {} {text}", comparison(random)),
                2 => format!("{path}.Any(key == {} & value == {text})", quoted(key)),
                3 => {
                    format!("{path}[{}] in ({text}, {})", quoted(key), quoted(random.pick(&TEXTS)))
                }
                4 => format!("{path}[{}].StartsWith({text})", quoted(key)),
                _ => format!("{path}[{}] = {text}", quoted(key)),
            }
        }
        FieldType::Maps => {
            let (key, text) = (*random.pick(&KEYS), quoted(random.pick(&TEXTS)));
            match random.below(6) {
                0 => format!("{path}.Count {} {}", comparison(random), random.below(3)),
                1 => format!("{path}.Any({key} {} {text})", comparison(random)),
                2 => format!("{path}.All(it.ContainsKey({}) or k = null)", quoted(key)),
                3 => format!("{path}.{key} {} {text}", comparison(random)),
                4 => format!("{path}[1][{}] = {text}", quoted(key)),
                _ => format!("{path}.Any(it[{}] = {text} && k != null)", quoted(key)),
            }
        }
        FieldType::Json => {
            let (text, int) = (quoted(random.pick(&TEXTS)), *random.pick(&INTS));
            match random.below(6) {
                0 => format!("{path} {} null", random.pick(&["=", "!="])),
                1 => format!("{path} {} {text}", comparison(random)),
                2 => format!("{path} in ({text}, {int}, true)"),
                3 => format!("{path}.StartsWith({text})"),
                4 => format!("{path} = {}", random.chance(50)),
                _ => format!("{path} {} {int}", comparison(random)),
            }
        }
        FieldType::Rows(members) => {
            let (member, text) = (random.pick(members).path, quoted(random.pick(&TEXTS)));
            match random.below(4) {
                0 => format!("{path}.Count > {}", random.below(2)),
                1 => format!("{path}.Any(x => x.{member} == {text} or x.{member} = null)"),
                2 => format!("{path}.{member} != {text}"),
                _ => format!("{path}.{member} = {text}"),
            }
        }
    }
}

fn filter(
    random: &mut Random,
    kind: &'static CorpusKind,
    declared: &Declared,
    count: usize,
) -> String {
    let fields: Vec<&FieldDecl> = declared.used(kind.name).map(|(decl, _)| decl).collect();
    let with_index = (kind.indexed)();
    let is_indexed = |decl: &&&FieldDecl| with_index.contains(&declared_path(kind, decl.path));
    let indexed: Vec<&FieldDecl> = fields.iter().filter(is_indexed).copied().collect();
    let kind = kind.name;
    let mut filter = String::new();
    // An index may answer a single condition exactly.
    for number in 0..[1, 1, 2, 3, 4][random.below(5)] {
        let from = if indexed.is_empty() || random.chance(40) { &fields } else { &indexed };
        let decl = *random.pick(from);
        let mut next = condition(random, decl, count, kind);
        if random.chance(10) {
            next = format!("not ({next})");
        }
        filter = match (number, random.chance(65)) {
            (0, _) => next,
            (_, true) => format!("({filter}) and ({next})"),
            (_, false) => format!("({filter}) or ({next})"),
        };
    }
    // A filter of tables may use `columns` only together with `testResultId`.
    if kind == "table" {
        format!("({filter}) and (testResultId = null or testResultId != null)")
    } else {
        filter
    }
}

/// The path with which the resource declares a name that `schemas` lists.
fn declared_path(kind: &CorpusKind, name: &str) -> &'static str {
    let fields = (kind.fields)();
    let has = |decl: &&FieldDecl| {
        std::iter::once(decl.path)
            .chain(decl.aliases.iter().copied())
            .any(|other| other.eq_ignore_ascii_case(name))
    };
    fields.iter().find(has).unwrap_or_else(|| panic!("{name}")).path
}

fn bytes_of(value: &Val<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::push_val(&mut bytes, value);
    bytes
}

fn by_id(left: &str, right: &str) -> Ordering {
    match (left.parse::<u64>(), right.parse::<u64>()) {
        // Decimal ids are ordered as numbers; all other ids have one length.
        (Ok(left), Ok(right)) => left.cmp(&right),
        _ => left.cmp(right),
    }
}

struct Naive {
    rows: Vec<(String, JsonRow)>,
}

impl Naive {
    fn new(declared: &Declared, records: &[Value]) -> Self {
        let row = |record: &Value| {
            let row = JsonRow::new(&declared.fields, &declared.sources, record);
            (record["id"].as_str().unwrap().to_owned(), row)
        };
        Self { rows: records.iter().map(row).collect() }
    }

    fn answer(
        &self,
        kind: &str,
        declared: &Declared,
        filter: &str,
        order: &[(usize, bool)],
        ties: bool,
    ) -> Vec<String> {
        let times = Times::new(time::parse("2024-05-15T12:00:00Z").unwrap(), None);
        let compiled = compile(Some(filter), &[], &schemas::schema(kind, &declared.fields), &times)
            .unwrap_or_else(|error| panic!("{kind}: {filter}: {error}"));
        let mut found: Vec<&(String, JsonRow)> = self
            .rows
            .iter()
            .filter(|(_, row)| compiled.as_ref().is_none_or(|filter| filter.matches(row)))
            .collect();
        found.sort_by(|(left_id, left), (right_id, right)| {
            let mut order_of = Ordering::Equal;
            for (field, descending) in order {
                let next = bytes_of(&left.val(*field)).cmp(&bytes_of(&right.val(*field)));
                order_of = order_of.then(if *descending { next.reverse() } else { next });
            }
            let ids = by_id(left_id, right_id);
            let is_reversed = ties && order.first().is_some_and(|(_, descending)| *descending);
            order_of.then(if is_reversed { ids.reverse() } else { ids })
        });
        found.into_iter().map(|(id, _)| id.clone()).collect()
    }
}

fn check(kind: &'static CorpusKind, random: &mut Random) {
    let declared = Declared::of(kind.name);
    let count = *random.pick(&[0, 1, 12, 60]);
    let records: Vec<Value> =
        (0..count).map(|number| record(random, kind.name, &declared, number)).collect();
    let opened = Opened::new();
    opened.put(kind, &records);
    let naive = Naive::new(&declared, &records);
    let operation = filtering(kind.name);
    for _ in 0..24 {
        let text = filter(random, kind, &declared, count);
        let scalars: Vec<usize> = (0..declared.fields.len())
            .filter(|at| {
                let decl = &declared.fields[*at];
                let is_list = matches!(
                    decl.ty,
                    FieldType::Strings
                        | FieldType::Map
                        | FieldType::Maps
                        | FieldType::Json
                        | FieldType::Rows(_)
                        | FieldType::Object
                );
                // The order of ids is the order of keys, which the tie-break already is.
                !is_list
                    && !is_derived(kind.name, decl.path)
                    && !decl.path.to_lowercase().ends_with("id")
            })
            .collect();
        let terms = random.below(3);
        let order: Vec<(usize, bool)> =
            (0..terms).map(|_| (*random.pick(&scalars), random.chance(50))).collect();
        let ties = random.chance(50);
        let expected = naive.answer(kind.name, &declared, &text, &order, ties);
        let mut query = Query {
            filter: Some(&text),
            no_substitutions: operation.is_some_and(|operation| !operation.takes_substitutions),
            order: order
                .iter()
                .map(|(field, descending)| {
                    let path = declared_path(kind, declared.fields[*field].path);
                    OrderTerm { path, descending: *descending }
                })
                .collect(),
            ties_follow_direction: ties,
            take: *random.pick(&[1, 3, 10, 1000]),
            return_count: random.chance(50),
            requires: if kind.name == "table" { &[("columns", "testResultId")] } else { &[] },
            ..Query::default()
        };
        let context = format!("{} {count}: {text} by {:?}, ties {ties}", kind.name, query.order);
        let mut walked = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let page = Query { continuation_token: token.as_deref(), ..query.clone() };
            let Raw { ids, token: next, count, plan } = (kind.raw)(&opened.session, &page).unwrap();
            assert!(ids.len() <= query.take);
            if query.return_count {
                assert_eq!(count, Some(expected.len() as u64), "{context}: {plan}");
            }
            walked.extend(ids);
            assert_eq!(
                walked[..],
                expected[..walked.len().min(expected.len())],
                "{context}: {plan}"
            );
            match next {
                Some(next) => token = Some(next),
                None => break,
            }
        }
        assert_eq!(walked, expected, "{context}");
        query.skip = random.below(5);
        let Raw { ids, plan, .. } = (kind.raw)(&opened.session, &query).unwrap();
        let window: Vec<String> =
            expected.iter().skip(query.skip).take(query.take).cloned().collect();
        assert_eq!(ids, window, "{context}, skip {}: {plan}", query.skip);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 33, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn every_plan_of_every_kind_answers_as_the_naive_evaluation(seed: u64, at in 0..KINDS.len()) {
        check(kind(KINDS[at].name), &mut Random(seed));
    }
}
