//! The files that `files/make.py` writes with Semi-ATE-STDF, read as pystdf reads them.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use stationdb::Control;
use stationdb_formats::stdf::{ImportOptions, RECORD_TYPES, Records, import_file};

use super::records::{is_same, json};
use super::{Bench, directory};

fn expected() -> Json {
    let text = std::fs::read_to_string(directory().join("all.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The types of fields are those that both packages declare.
#[test]
fn the_table_of_types_is_that_of_other_packages() {
    let expected = expected();
    let types = expected["types"].as_object().unwrap();
    for known in RECORD_TYPES {
        let fields: Vec<Json> = known
            .fields
            .iter()
            .map(|field| serde_json::json!([field.name, field.type_name()]))
            .collect();
        match types.get(known.name) {
            Some(declared) => assert_eq!(*declared, Json::from(fields), "{}", known.name),
            // One package does not know it, and the other counts a field twice.
            None => assert_eq!(known.name, "STR"),
        }
    }
    assert_eq!(types.len(), RECORD_TYPES.len() - 1);
}

#[test]
fn files_of_another_package_are_read_as_another_one_reads_them() {
    let expected = expected();
    for (label, names) in [
        ("little", &["all.little.stdf", "all.little.stdf.gz", "all.little.stdf.bz2"][..]),
        ("big", &["all.big.stdf"]),
    ] {
        for name in names {
            let file = std::fs::File::open(directory().join(name)).unwrap();
            let mut records = Records::new(file).unwrap();
            let mut found: BTreeMap<&str, Json> = BTreeMap::new();
            while let Some(record) = records.next_record().unwrap() {
                let fields = record.fields().iter().map(|field| field.name.to_owned());
                let values = record.values().unwrap().into_iter().map(json);
                let known = record.record_type().unwrap().name;
                assert_eq!(found.insert(known, fields.zip(values).collect()), None, "{known}");
            }
            assert_eq!(records.cut(), None, "{name}");
            let values = expected["values"][label].as_array().unwrap();
            assert_eq!(found.len(), values.len(), "{name}");
            for pair in values {
                let known = pair[0].as_str().unwrap();
                let (found, expected) = (&found[known], &pair[1]);
                assert!(is_same(found, expected), "{name}: {known}: {found} {expected}");
            }
        }
    }
}

/// The same content is the same file, whatever its compression.
#[test]
fn a_compressed_file_is_the_same_again() {
    let bench = Bench::new();
    let (options, control) = (ImportOptions::new(), Control::default());
    let plain = directory().join("all.little.stdf");
    let report = import_file(&bench.session, plain, &options, &control).unwrap();
    assert_eq!((report.results.len(), report.steps), (1, 3));
    for name in ["all.little.stdf", "all.little.stdf.gz", "all.little.stdf.bz2"] {
        let path = directory().join(name);
        let error = import_file(&bench.session, path, &options, &control).unwrap_err();
        let named = error.message().contains(report.work_item_id.as_str());
        assert!(named && error.message().contains(name), "{error}");
    }
    assert_eq!(bench.counts(), (1, 1));
}
