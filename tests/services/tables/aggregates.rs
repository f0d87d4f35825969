//! Aggregates of rows that are chosen so that each rule shows, wherever the rows lie.

use crate::prelude::*;

use stationdb::faults::limits;

use crate::holds_at::holds_at;

/// A table with an index `t`, a key `k` and a column `v` of a type. Each append is a segment of its
/// own if rows are sealed at once.
struct Table {
    session: Session,
    id: String,
    _store: Store,
}

impl Table {
    fn new(data_type: &str, seal_rows: u64, memory: usize) -> Self {
        let (store, session) = opened(
            Store::options()
                .maintenance_thread(false)
                .seal_rows(seal_rows)
                .query_memory_bytes(memory),
            Arc::new(MemoryDisk::new()),
        );
        let columns = json!({"columns": [
            {"name": "t", "dataType": "INT64", "columnType": "INDEX"},
            {"name": "k", "dataType": "INT32", "columnType": "NULLABLE"},
            {"name": "v", "dataType": data_type, "columnType": "NULLABLE"},
        ]});
        let create = from_json(columns.to_string().as_bytes()).unwrap();
        let id = session.create_table(create).unwrap().to_string();
        Self { session, id, _store: store }
    }

    fn append(&self, rows: Value) {
        let request = json!({"frame": {"data": rows}}).to_string();
        let request = from_json(request.as_bytes()).unwrap();
        self.session.append_table_data(&self.id.as_str().into(), request).unwrap();
    }

    fn ask(&self, request: &Value) -> Result<Value, Error> {
        let request = from_json(request.to_string().as_bytes())?;
        let answer = self.session.aggregate_table_data(&self.id.as_str().into(), request)?;
        Ok(serde_json::to_value(answer).unwrap()["groups"].take())
    }

    /// The value of one function over all rows.
    fn one(&self, aggregate: &Value) -> Value {
        self.ask(&json!({"aggregates": [aggregate]})).unwrap()[0]["values"][0].take()
    }
}

fn both(data_type: &str, test: impl Fn(&Table)) {
    for seal_rows in [1, 100_000] {
        test(&Table::new(data_type, seal_rows, 1 << 24));
    }
}

fn of(function: &str) -> Value {
    json!({"function": function, "column": "v"})
}

#[test]
fn sums_are_exact_however_the_rows_lie() {
    both("FLOAT64", |table| {
        for (at, value) in ["1e300", "1", "-1e300", "NaN", "0.1", "0.2"].iter().enumerate() {
            table.append(json!([[at.to_string(), null, value]]));
        }
        table.append(json!([["9", "1", null]]));
        assert_eq!(table.one(&of("SUM"))["value"], "1.3");
        assert_eq!(table.one(&of("COUNT"))["value"], "6");
        assert_eq!(table.one(&json!({"function": "COUNT"}))["value"], "7");
        assert_eq!(table.one(&of("MEAN"))["value"], "0.26");
    });
    both("INT64", |table| {
        let most = i64::MAX.to_string();
        table.append(json!([["1", null, most], ["2", null, most], ["3", null, most]]));
        assert_eq!(table.one(&of("SUM"))["value"], (i128::from(i64::MAX) * 3).to_string());
        assert_eq!(table.one(&of("DEVIATION"))["value"], "0");
    });
    both("FLOAT64", |table| {
        table.append(json!([["1", null, "1000000000"], ["2", null, "1000000001"]]));
        assert_eq!(table.one(&of("POPULATION_DEVIATION"))["value"], "0.5");
    });
}

#[test]
fn of_no_values_there_is_none() {
    both("FLOAT64", |table| {
        let functions = ["MIN", "MAX", "SUM", "MEAN", "DEVIATION", "FIRST", "LAST"];
        for function in functions {
            assert!(table.one(&of(function))["value"].is_null(), "{function} of no rows");
        }
        assert_eq!(table.one(&of("COUNT"))["value"], "0");
        assert_eq!(table.ask(&json!({"groupBy": [{"column": "k"}]})).unwrap(), json!([]));
        table.append(json!([["1", null, "NaN"], ["2", "3", "2"]]));
        assert!(table.one(&of("DEVIATION"))["value"].is_null());
        assert_eq!(table.one(&of("POPULATION_DEVIATION"))["value"], "0");
        assert_eq!(table.one(&of("FIRST"))["value"], "NaN");
        assert_eq!(table.one(&of("MAX"))["value"], "2");
    });
}

#[test]
fn groups_are_in_order_and_null_is_one() {
    both("FLOAT64", |table| {
        // The keys of each append are equal or null: summaries show one value.
        table.append(json!([["1", "7", "1"], ["2", null, "2"], ["3", "7", "3"]]));
        table.append(json!([["4", "-7", "4"], ["5", "-7", "5"]]));
        table.append(json!([["6", null, "6"]]));
        let request = json!({"groupBy": [{"column": "k"}], "aggregates": [of("MAX")]});
        let group = |key: Value, rows: i64, most: &str| json!({"keys": [key], "rows": rows, "values": [{"value": most}]});
        let expected = json!([
            group(json!("-7"), 2, "5"),
            group(json!("7"), 2, "3"),
            group(Value::Null, 2, "6"),
        ]);
        assert_eq!(table.ask(&request).unwrap(), expected);
        let buckets =
            json!({"groupBy": [{"column": "t", "width": 3}, {"column": "t", "width": 3}]});
        let found = table.ask(&buckets).unwrap();
        let keys: Vec<Value> =
            found.as_array().unwrap().iter().map(|group| group["keys"].clone()).collect();
        assert_eq!(keys, [json!(["0", "0"]), json!(["3", "3"]), json!(["6", "6"])]);
    });
}

#[test]
fn first_and_last_are_by_index_and_then_by_append() {
    both("INT32", |table| {
        table.append(json!([["5", "1", "50"], ["7", "1", "70"]]));
        table.append(json!([["7", "1", "71"], ["2", "1", "20"]]));
        table.append(json!([["2", "1", "21"], ["6", "2", "60"]]));
        assert_eq!(table.one(&of("FIRST"))["value"], "20");
        assert_eq!(table.one(&of("LAST"))["value"], "71");
        let filtered =
            json!({"aggregates": [of("FIRST"), of("LAST")], "filter": "v != 20 && v != 71"});
        let found = table.ask(&filtered).unwrap();
        assert_eq!(found[0]["values"], json!([{"value": "21"}, {"value": "70"}]));
    });
}

#[test]
fn a_value_on_an_edge_is_in_the_range_that_begins_there() {
    // The quotient of the sixth edge is rounded to less than 6.
    let (lower, upper, bins) = (0.1, 0.8, 7);
    both("FLOAT64", |table| {
        for at in 0..=bins {
            let edge: f64 = lower + (upper - lower) * (f64::from(at) / f64::from(bins));
            table.append(json!([[at.to_string(), null, edge.to_string()]]));
        }
        table.append(json!([["100", null, "-Infinity"], ["101", null, "NaN"], ["102", null, "9"]]));
        let mut histogram = of("HISTOGRAM");
        histogram["lower"] = lower.into();
        histogram["upper"] = upper.into();
        histogram["bins"] = bins.into();
        let mut expected = vec![1; bins as usize + 2];
        // The end of the last range is in it.
        expected[bins as usize] = 2;
        assert_eq!(table.one(&histogram)["counts"], json!(expected));
    });
}

#[test]
fn percentiles_by_nearest_rank_and_linear() {
    both("INT32", |table| {
        for at in 1..=100 {
            table.append(json!([[at.to_string(), null, (101 - at).to_string()]]));
        }
        let percentile = |function: &str, percent: f64| {
            let mut aggregate = of(function);
            aggregate["percentile"] = percent.into();
            table.one(&aggregate)["value"].as_str().unwrap().to_owned()
        };
        // 0.07 * 100 is more than 7.
        let nearest: Vec<String> = [0.0, 7.0, 7.5, 50.0, 100.0]
            .into_iter()
            .map(|percent| percentile("PERCENTILE_NEAREST", percent))
            .collect();
        assert_eq!(nearest, ["1", "7", "8", "50", "100"]);
        let linear: Vec<String> = [0.0, 50.0, 100.0]
            .into_iter()
            .map(|percent| percentile("PERCENTILE_LINEAR", percent))
            .collect();
        assert_eq!(linear, ["1", "50.5", "100"]);
    });
}

#[test]
fn linear_percentiles_are_between_their_neighbours() {
    let cases = [
        (["-1.7e308", "1.7e308"], "0"),
        (["-Infinity", "1"], "-Infinity"),
        (["1", "Infinity"], "Infinity"),
        (["-Infinity", "Infinity"], "NaN"),
    ];
    for (values, expected) in cases {
        both("FLOAT64", |table| {
            for (at, value) in values.iter().enumerate() {
                table.append(json!([[at.to_string(), null, value]]));
            }
            let mut median = of("PERCENTILE_LINEAR");
            median["percentile"] = 50.into();
            assert_eq!(table.one(&median)["value"], expected, "{values:?}");
        });
    }
}

#[test]
fn a_bucket_of_floats_begins_at_a_number_and_never_joins_infinity() {
    let cases: [(&[&str], f64, &[f64]); 4] = [
        (&["1e300", "Infinity"], 1e-10, &[1e300, f64::INFINITY]),
        (&["-1.7e308", "-Infinity"], 1e308, &[f64::NEG_INFINITY, f64::MIN]),
        (&["1.7e308", "NaN"], 1e308, &[1e308, f64::NAN]),
        (&["-0.5", "-0"], 1.0, &[-1.0, 0.0]),
    ];
    for (values, width, expected) in cases {
        both("FLOAT64", |table| {
            for (at, value) in values.iter().enumerate() {
                table.append(json!([[at.to_string(), null, value]]));
            }
            let found = table.ask(&json!({"groupBy": [{"column": "v", "width": width}]})).unwrap();
            let key = |group: &Value| group["keys"][0].as_str().unwrap().parse::<f64>().unwrap();
            let keys: Vec<f64> = found.as_array().unwrap().iter().map(key).collect();
            assert_eq!(format!("{keys:?}"), format!("{expected:?}"), "{values:?}");
        });
    }
}

#[test]
fn integers_are_compared_with_the_edges_of_ranges_without_a_rounding() {
    both("INT64", |table| {
        // The double nearest to each of the odd ones is an edge.
        let values = ["9007199254740991", "9007199254740992", "9007199254740993", "-1", "0"];
        for (at, value) in values.iter().enumerate() {
            table.append(json!([[at.to_string(), null, value]]));
        }
        let mut histogram = of("HISTOGRAM");
        histogram["lower"] = 0.into();
        histogram["upper"] = 9_007_199_254_740_992_i64.into();
        histogram["bins"] = 2.into();
        assert_eq!(table.one(&histogram)["counts"], json!([1, 1, 2, 1]));
        histogram["lower"] = 9_007_199_254_740_994_i64.into();
        histogram["upper"] = 9_007_199_254_740_998_i64.into();
        table.append(json!([["9", null, "9007199254740995"], ["10", null, "9007199254740997"]]));
        assert_eq!(table.one(&histogram)["counts"], json!([5, 1, 1, 0]));
    });
}

#[test]
fn no_answer_has_a_negative_zero() {
    both("FLOAT64", |table| {
        for (at, value) in ["-0", "-5e-324", "-0"].iter().enumerate() {
            table.append(json!([[at.to_string(), null, value]]));
        }
        for function in ["FIRST", "LAST", "MAX", "MEAN"] {
            assert_eq!(table.one(&of(function))["value"], "0", "{function}");
        }
    });
}

#[test]
fn what_cannot_be_computed_is_refused_at_its_place() {
    let table = Table::new("STRING", 1, 1 << 24);
    let refused = |request: Value, place: &str| {
        let error = table.ask(&request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{request}: {error}");
        assert!(error.to_string().contains(place), "{request}: {error}");
    };
    let one = |aggregate: Value| json!({"aggregates": [aggregate]});
    refused(one(of("SUM")), "aggregates[0].function");
    refused(one(json!({"function": "MEAN"})), "aggregates[0].column");
    refused(one(json!({"function": "MIN", "column": "x"})), "aggregates[0].column");
    let of_key = |mut members: Value| {
        members["column"] = "k".into();
        one(members)
    };
    let nearest = "PERCENTILE_NEAREST";
    refused(of_key(json!({"function": nearest, "percentile": 101})), "aggregates[0].percentile");
    refused(of_key(json!({"function": nearest})), "aggregates[0].percentile");
    let range = |lower: f64, bins: i64| {
        of_key(json!({"function": "HISTOGRAM", "lower": lower, "upper": 1, "bins": bins}))
    };
    refused(range(1.0, 3), "aggregates[0].lower");
    refused(range(0.0, 0), "aggregates[0].bins");
    refused(range(0.0, 10_001), "aggregates[0].bins");
    let by = |column: &str, width: f64| json!({"groupBy": [{"column": column, "width": width}]});
    refused(by("k", 0.0), "groupBy[0].width");
    refused(by("k", 1.5), "groupBy[0].width");
    refused(by("v", 1.0), "groupBy[0].width");
    refused(json!({"filter": "w == 1"}), "w");
}

#[test]
fn memory_and_time_are_bounded() {
    let table = Table::new("FLOAT64", 1, 10_000);
    let rows: Vec<Value> = (0..2_000)
        .map(|at: i64| json!([at.to_string(), (at % 3).to_string(), at.to_string()]))
        .collect();
    table.append(rows.into());
    let median = json!({"function": "PERCENTILE_NEAREST", "column": "v", "percentile": 50});
    for request in [
        json!({"aggregates": [median]}),
        json!({"aggregates": [of("SUM")], "groupBy": [{"column": "t"}]}),
    ] {
        let error = table.ask(&request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        assert!(error.to_string().contains("query_memory_bytes"), "{error}");
    }
    assert_eq!(table.one(&of("SUM"))["value"], "1999000");
    let control = Control::default();
    control.cancel();
    let cancelled = table.session.with_control(&control);
    let request = from_json(json!({"aggregates": [of("SUM")]}).to_string().as_bytes()).unwrap();
    let error = cancelled.aggregate_table_data(&table.id.as_str().into(), request).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn groups_keys_and_ranges_hold_at_the_limit_and_not_above() {
    let table = Table::new("FLOAT64", 100_000, 1 << 26);
    let rows: Vec<Value> =
        (0..=limits::AGGREGATE_GROUPS).map(|at| json!([at.to_string()])).collect();
    let request = json!({"frame": {"columns": ["t"], "data": rows}}).to_string();
    let request = from_json(request.as_bytes()).unwrap();
    table.session.append_table_data(&table.id.as_str().into(), request).unwrap();
    holds_at(limits::AGGREGATE_GROUPS, ErrorKind::LimitExceeded, |count| {
        let filter = format!("t < {count}");
        let groups = table.ask(&json!({"groupBy": [{"column": "t"}], "filter": filter}))?;
        assert_eq!(groups.as_array().map(Vec::len), Some(count));
        Ok(())
    });
    holds_at(limits::AGGREGATE_KEYS, ErrorKind::LimitExceeded, |count| {
        let key = |width: usize| json!({"column": "t", "width": width});
        let keys: Vec<Value> = (1..=count).map(key).collect();
        table.ask(&json!({"groupBy": keys, "filter": "t == 7"}))
    });
    holds_at(limits::AGGREGATE_BINS, ErrorKind::InvalidArgument, |bins| {
        let mut histogram = of("HISTOGRAM");
        histogram["lower"] = 0.into();
        histogram["upper"] = 1.into();
        histogram["bins"] = bins.into();
        table.ask(&json!({"aggregates": [histogram]}))
    });
}
