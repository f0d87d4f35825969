//! The queries whose answers are recorded.

use crate::prelude::*;

/// Conditions that are asked for alone and combined.
const CONDITIONS: &[&str] = &[
    r#"name:("run 7.tdms")"#,
    r#"name:("RUN*")"#,
    r#"name:("*7*")"#,
    r#"name:("*")"#,
    r#"name:("")"#,
    r#"name:("*.txt")"#,
    r#"name:("run*tdms")"#,
    r#"name:("*eedl*")"#,
    r#"name:("*n*e*.*")"#,
    r#"extension:("tdms")"#,
    r#"extension:("T*")"#,
    r#"extension:("")"#,
    r#"id:("*1")"#,
    r#"id:("000000000000000000AB00*")"#,
    r#"workspaceId:("w1")"#,
    r#"workspace:("w*")"#,
    "size:[100 TO 1000]",
    "size:[* TO 10]",
    "size:[1000 TO *]",
    "size:100",
    r#"properties.serial:("sn-42")"#,
    r#"properties.serial:("SN-*")"#,
    r#"properties.text:("*needle*")"#,
    r#"properties.none:("*")"#,
];

/// Conditions that are asked for alone.
const ALONE: &[&str] = &[
    "",
    "   ",
    "name:run",
    "name : run",
    "name:  \"run\"",
    r#"name:"r*n""#,
    r#"name:("r*n")"#,
    r#"name:("**")"#,
    r#"name:("*run*7*tdms*")"#,
    r#"name:("run 7.tdms*tdms")"#,
    r#"name:("*7*7*")"#,
    r#"name:("aa*aa")"#,
    r#"name:("aaa*")"#,
    r#"name:("a*a*a")"#,
    r#"name:("a*a*a*a")"#,
    r#"name:("a*a*a*a*a")"#,
    r#"name:("ab*ab")"#,
    r#"name:("ab*ab*ab")"#,
    r#"name:("ab*ab*ab*ab")"#,
    r#"name:("A\*B.txt")"#,
    r#"name:("a*b.txt")"#,
    r#"name:("\*")"#,
    r#"name:("*\**")"#,
    r#"name:(a\*b.txt)"#,
    r#"name:("back\\slash.txt")"#,
    r#"name:("*\\*")"#,
    r#"name:("quote\"d.txt")"#,
    r#"name:(*\"*)"#,
    "name:(\"tab\there.txt\")",
    r#"name:("(brackets).txt")"#,
    r#"name:\(brackets\).txt"#,
    r#"name:\[square\].txt"#,
    r#"name:("colon:name.txt")"#,
    r#"name:colon:name.txt"#,
    r#"name:("and")"#,
    r#"name:(\AND)"#,
    r#"name:("größe.csv")"#,
    r#"name:("GRÖßE.CSV")"#,
    r#"name:("grösse.csv")"#,
    r#"name:("gr*")"#,
    r#"name:("grosse*")"#,
    r#"name:("istanbul.log")"#,
    r#"name:("İSTANBUL.LOG")"#,
    "name:(\"i\u{307}stanbul.log\")",
    r#"name:("i*")"#,
    r#"name:("*istan*")"#,
    r#"name:("*stan*")"#,
    r#"name:("*i*")"#,
    "name:(\"*\u{307}*\")",
    r#"name:("kelvin.csv")"#,
    "name:(\"\u{212a}*\")",
    r#"name:("k*")"#,
    r#"name:("*k*")"#,
    r#"name:("*kelv*")"#,
    r#"name:("ΟΔΟΣ.TXT")"#,
    r#"name:("οδος.txt")"#,
    r#"name:("*ΟΔΟΣ*")"#,
    r#"name:("οδο*")"#,
    r#"name:("日*")"#,
    r#"name:("*本.txt")"#,
    r#"name:("ÉMILE*")"#,
    r#"name:("*MILE.TXT")"#,
    r#"name:("*emile*")"#,
    r#"name:(".hidden")"#,
    r#"name:("*.")"#,
    r#"name:(".*")"#,
    r#"name:("* *")"#,
    r#"name:("* ")"#,
    r#"name:("*needle in*")"#,
    r#"name:("*dle in ha*")"#,
    r#"name:("* needle *")"#,
    r#"name:("*a*-*b*")"#,
    r#"extension:("gz")"#,
    r#"extension:("*")"#,
    r#"extension:("t*t")"#,
    r#"extension:("*x")"#,
    r#"extension:("TXT" OR "csv")"#,
    r#"extension:(txt csv)"#,
    r#"extension:("tdms ")"#,
    r#"extension:(NOT "txt")"#,
    r#"id:("000000000000000000AB0003")"#,
    r#"id:("000000000000000000ab0003" OR "000000000000000000AB0004")"#,
    r#"id:("3")"#,
    r#"id:("*")"#,
    r#"id:("zzz")"#,
    r#"NOT id:("000000000000000000ab0003")"#,
    r#"workspaceId:("W1")"#,
    r#"workspaceId:("W*")"#,
    r#"workspaceId:("w 1")"#,
    r#"workspaceId:("")"#,
    r#"workspaceId:("w\*")"#,
    r#"workspaceId:("*1")"#,
    r#"workspaceId:("w1" OR "w2")"#,
    r#"workspaceId:(NOT "w1")"#,
    "size:(100)",
    r#"size:("100")"#,
    "size:([0 TO 5] OR [99 TO 101])",
    "size:([0 TO 2000] AND NOT 100)",
    "size:(1 OR \"100\" OR [2000 TO *])",
    "size:(1 100)",
    "size:[* TO *]",
    "size:[5 TO 1]",
    "size:[-5 TO 1]",
    "size:-1",
    "size:+100",
    "size:007",
    "size:[ 1 TO 5 ]",
    r#"size:["1" TO "5"]"#,
    "size:9223372036854775807",
    "size:[0 TO 9223372036854775807]",
    "NOT size:[100 TO *]",
    r#"properties.my\ key:("a \"b\"")"#,
    r#"properties.my\ key:("*\"*")"#,
    r#"properties.OR:x"#,
    r#"properties.star:("a\*b")"#,
    r#"properties.star:("a*b")"#,
    r#"properties.a*:x"#,
    r#"properties.a\*:x"#,
    r#"properties.a.b:dotted"#,
    r#"properties.Serial:("SN-42")"#,
    r#"properties.SERIAL:("SN-42")"#,
    r#"properties.serial:("")"#,
    r#"properties.serial:("*")"#,
    r#"properties.serial:("*4*")"#,
    r#"properties.serial:("*2")"#,
    r#"properties.serial:("SN\*42")"#,
    r#"properties.serial:("sn-42" OR "sn-43")"#,
    r#"properties.serial:("sn-*" AND NOT "*2")"#,
    r#"NOT properties.serial:("*")"#,
    r#"NOT properties.serial:("sn-42")"#,
    r#"properties.empty:("")"#,
    r#"properties.empty:("*")"#,
    r#"properties.text:("straße")"#,
    r#"properties.text:("STRASSE")"#,
    r#"properties.text:("i*")"#,
    "properties.text:(\"i\u{307}\")",
    r#"properties.text:("日本語")"#,
    r#"properties.path:("c:\\data\\*")"#,
    r#"properties.Name:("run*")"#,
    r#"properties.name:("run*")"#,
    r#"properties.size:("5")"#,
    r#"properties.e:("é")"#,
    r#"name:("*7*" AND "run*")"#,
    r#"name:("*8*" OR "*7*" AND "run*")"#,
    r#"name:(("*8*" OR "*7*") AND "run*")"#,
    r#"name:("*8*" "*7*")"#,
    r#"name:(NOT "*8*")"#,
    r#"name:(NOT NOT "*8*")"#,
    r#"name:("*7*" AND NOT "*8*")"#,
    r#"name:(NOT ("*8*" OR "*7*"))"#,
    r#"NOT (name:("*7*") OR size:[0 TO 50])"#,
    r#"NOT(name:run)"#,
    r#"NOT NOT name:("run*")"#,
    r#"NOT (NOT name:("run*"))"#,
    r#"(name:("x*") OR extension:("tdms")) AND size:[0 TO 200]"#,
    r#"name:("x*") OR extension:("tdms") AND size:[0 TO 200]"#,
    r#"(((name:run)))"#,
    r#"name:run OR name:aaa OR name:xx"#,
    r#"name:run AND size:0 AND workspaceId:w2"#,
    r#"id:("*") AND name:("a*") AND NOT size:[30 TO *]"#,
    r#"size:[10 TO 20] AND size:[15 TO 30]"#,
    r#"size:[10 TO 20] size:[15 TO 30] size:[* TO 16]"#,
    r#"name:("run*") AND name:("*.tdms")"#,
    r#"name:("run*") AND name:("ru*")"#,
    r#"name:("a*") AND name:("b*")"#,
    r#"extension:txt AND NOT name:("*e*")"#,
];

/// Expressions that are refused.
const FAULTY: &[&str] = &[
    "name",
    "name:",
    "name:(",
    "name:()",
    "colour:(\"x\")",
    "Name:x",
    "created:x",
    "name:(\"x",
    "name:(\"x\"",
    "name:\"x",
    "name:x\\",
    "name:(\"x\\",
    "size:[1 5]",
    "size:[1 TO ten]",
    "size:[one TO 2]",
    "size:[1 TO 2",
    "size:[1 to 2]",
    "size:([1 TO 2]",
    "size:()",
    "size:ten",
    "size:*",
    "size:1*",
    "size:[1* TO 2]",
    "size:99999999999999999999",
    "size:[0 TO 99999999999999999999]",
    "size:1.5",
    "size:\"\"",
    "name:(\"x\") AND",
    "name:(\"x\") OR",
    "name:(\"x\") OR OR name:y",
    "name:(\"x\") AND AND name:y",
    "name:(\"x\") AND OR name:y",
    "(name:(\"x\")",
    "name:(\"x\"))",
    "()",
    ")",
    "(",
    "properties.:x",
    "properties:x",
    "properties.x",
    "AND name:x",
    "OR name:x",
    "NOT",
    "NOT OR name:x",
    "not name:x",
    "name:(\"x\" AND)",
    "name:(\"x\" OR)",
    "name:(OR \"x\")",
    "name:(AND \"x\")",
    "name:(NOT)",
    "name:((\"x\")",
    "name:x AND NOT",
    "name:x]",
    "name:[a TO b]",
    "name:\"x\"\"y\"",
    "\"x\"",
    "x y",
    "name==\"x\"",
    "*:*",
    "name:x, size:1",
    "name(\"x\")",
    ":x",
    "Ä:x",
    "name:ä AND Ä:x",
];

/// Searches of which only the count beyond the page is recorded.
pub(super) const EXACT: &[&str] = &[
    "",
    "name:(\"run*\")",
    "name:(\"*e*\")",
    "extension:txt",
    "size:[0 TO 20]",
    "workspaceId:w1",
    "NOT workspaceId:w1",
    "properties.serial:(\"sn-*\")",
    "name:run",
    "name:nothing",
    "name:(\"run*\") OR size:[0 TO 20]",
];

pub(super) fn searches() -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    let filter = |text: &str| json!({ "filter": text });
    all.extend(CONDITIONS.iter().chain(ALONE).chain(FAULTY).copied().map(filter));
    for (at, one) in CONDITIONS.iter().enumerate() {
        // Each condition meets some others in each way.
        for step in [1, 5, 7, 11] {
            let other = CONDITIONS[(at + step) % CONDITIONS.len()];
            let text = match step {
                1 => format!("{one} AND {other}"),
                5 => format!("{one} OR {other}"),
                7 => format!("{one} {other}"),
                _ => format!("NOT {one} AND ({other} OR NOT {one})"),
            };
            all.push(filter(&text));
        }
        all.push(filter(&format!("NOT {one}")));
    }
    let orders = ["updated", "name", "created", "extension", "size", "workspace"];
    for order in orders {
        for text in ["", "extension:txt", "name:(\"*e*\")", "size:[5 TO 30]", "workspaceId:w1"] {
            for descending in [Some(true), Some(false), None] {
                all.push(json!({
                    "filter": text, "orderBy": order, "orderByDescending": descending, "take": 7,
                }));
            }
        }
    }
    for (skip, take) in [(0, 0), (0, 1), (3, 4), (39, 5), (40, 5), (500, 5), (0, 40), (0, 41)] {
        for text in ["", "extension:txt", "name:(\"run*\")"] {
            all.push(json!({ "filter": text, "skip": skip, "take": take }));
        }
    }
    all.push(json!({ "skip": -1 }));
    all.push(json!({ "take": -1 }));
    all.push(json!({ "take": 9_007_199_254_740_991_i64 }));
    all.push(json!({ "filter": null }));
    all
}

pub(super) fn structured() -> Vec<Value> {
    let operations = [
        "EQUAL",
        "NOT_EQUAL",
        "GREATER_THAN",
        "GREATER_THAN_OR_EQUAL",
        "LESS_THAN",
        "LESS_THAN_OR_EQUAL",
        "CONTAINS",
        "NOT_CONTAINS",
    ];
    let (three, four) = ("000000000000000000AB0003", "000000000000000000ab0004");
    let mut all = vec![json!({}), json!({"workspace": "w1"}), json!({"workspace": "none"})];
    for operation in operations {
        let with = |value: Value| json!({ "operation": operation, "value": value });
        all.push(json!({"idsQuery": {"operation": operation, "ids": [three, four, "x", three]}}));
        all.push(json!({"idsQuery": {"operation": operation, "ids": []}}));
        for value in [three, "x", ""] {
            all.push(json!({ "idQuery": with(json!(value)) }));
        }
        for value in ["txt", "TXT", "", "*"] {
            all.push(json!({ "extensionQuery": with(json!(value)) }));
        }
        for value in [100_i64, 0, -1, i64::MAX] {
            all.push(json!({ "sizeMinQuery": with(json!(value)) }));
            all.push(json!({ "sizeMaxQuery": with(json!(value)) }));
        }
        for time in
            ["2024-03-01T00:00:12.000Z", "2024-03-01T00:00:12.0005Z", "1999-01-01T00:00:00Z"]
        {
            all.push(json!({ "createdQuery": with(json!(time)) }));
        }
        for (key, value) in [
            ("serial", "SN-42"),
            ("serial", ""),
            ("serial", "SN"),
            ("text", "needle"),
            ("none", ""),
        ] {
            let part = json!({"key": key, "operation": operation, "value": value});
            all.push(json!({ "propertiesQuery": [part] }));
        }
    }
    let serial = json!({"key": "serial", "operation": "EQUAL", "value": "SN-42"});
    let not = json!({"key": "OR", "operation": "NOT_EQUAL", "value": "x"});
    all.push(json!({ "propertiesQuery": [serial, not] }));
    all.push(json!({ "propertiesQuery": [not, not, serial], "workspace": "w3" }));
    let at_least = json!({"operation": "GREATER_THAN_OR_EQUAL", "value": 10});
    let at_most = json!({"operation": "LESS_THAN", "value": 20});
    all.push(json!({ "sizeMinQuery": at_least, "sizeMaxQuery": at_most }));
    all.push(json!({ "sizeMinQuery": at_most, "sizeMaxQuery": at_least, "workspace": "w1",
        "extensionQuery": {"operation": "EQUAL", "value": "txt"}, "take": 2, "skip": 1 }));
    for (skip, take) in [(0, 0), (1, 3), (39, 5), (41, 5), (0, 1_000), (0, 1_001), (-1, 1), (0, -1)]
    {
        all.push(json!({ "skip": skip, "take": take, "workspace": "w1" }));
    }
    all
}
