//! Tables become TDMS files, which the import and npTDMS read back.

use std::process::Command;

use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::{Float64Type, Int64Type, TimestampNanosecondType};
use stationdb::prelude::*;
use stationdb::tables::*;
use stationdb::{Control, ErrorKind, Place};
use stationdb_formats::tdms::{ExportTdmsRequest, TdmsOptions};
use stationdb_formats::{ExportFiles, ImportFiles};

use crate::bytes::{F64, Property, doubles, object, segment, values};
use crate::{Bench, Imported};

fn csv(bench: &Bench, request: ImportTableRequest, text: &str) -> TableId {
    bench
        .session
        .import_csv(request, &mut text.as_bytes(), &Control::default())
        .unwrap()
        .id
        .unwrap()
}

fn export(bench: &Bench, id: &TableId, request: ExportTdmsRequest) -> stationdb::Result<Vec<u8>> {
    let mut out = Vec::new();
    let rows = bench.session.export_tdms(id, request, &mut out, &Control::default())?;
    let table = bench.session.get_table_metadata(id).unwrap();
    assert!(rows as i64 <= table.row_count.unwrap());
    Ok(out)
}

fn import(bench: &Bench, bytes: &[u8]) -> Imported {
    let mut tables = bench.import(bytes, TdmsOptions::new()).unwrap();
    assert_eq!(tables.len(), 1);
    tables.remove(0)
}

#[test]
fn every_type_comes_back_and_nulls_are_nan_or_have_a_value() {
    let bench = Bench::new();
    let request = ImportTableRequest::new().index_column("t").table(
        CreateTableRequest::new([]).name("rich").properties([("lot".to_owned(), "7".to_owned())]),
    );
    let text = "t,f,n,b,s\n2024-01-01T00:00:00.5Z,0.5,1,true,x\n2024-01-01T00:00:01Z,,2,false,ä\n\
                2024-01-01T00:00:03Z,2.5,,true,\n";
    let id = csv(&bench, request, text);
    let error = export(&bench, &id, ExportTdmsRequest::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.place(), Some(&Place::Cell { row: 2, column: "n".to_owned() }));
    for (request, part) in [
        (ExportTdmsRequest::new().fill("n", "x"), "no value of column \"n\""),
        (ExportTdmsRequest::new().fill("x", "1"), "no column \"x\""),
    ] {
        let error = export(&bench, &id, request).unwrap_err();
        assert!(error.message().contains(part), "{error}");
    }
    let request = ExportTdmsRequest::new().fill("n", "-1").fill("s", "none");
    let found = import(&bench, &export(&bench, &id, request).unwrap());
    // The steps of the index differ, so it is a channel.
    let time = found.column("t").unwrap().as_primitive::<TimestampNanosecondType>();
    let first = 1_704_067_200_000_000_000i64;
    assert_eq!(time.values(), &[first + 500_000_000, first + 1_000_000_000, first + 3_000_000_000]);
    let floats = found.column("f").unwrap().as_primitive::<Float64Type>();
    assert_eq!((floats.value(0), floats.value(2)), (0.5, 2.5));
    assert!(floats.value(1).is_nan());
    assert_eq!(found.column("n").unwrap().as_primitive::<Int64Type>().values(), &[1, 2, -1]);
    let bools = found.column("b").unwrap().as_boolean();
    assert_eq!((0..3).map(|row| bools.value(row)).collect::<Vec<_>>(), [true, false, true]);
    let texts = found.column("s").unwrap().as_string::<i32>();
    assert_eq!((texts.value(0), texts.value(1), texts.value(2)), ("x", "ä", "none"));
    assert_eq!(found.name(), "rich");
    assert_eq!(found.properties()["lot"], "7");
}

/// An imported waveform with an increment that is no whole number of nanoseconds, in several segments.
#[test]
fn a_waveform_comes_back_with_its_axis() {
    let bench = Bench::new();
    let all = [
        ("wf_start_offset", Property::Double(0.0)),
        ("wf_increment", Property::Double(1.0 / 44_100.0)),
        ("wf_start_time", Property::Time(3_786_912_000, 1 << 62)),
        ("unit_string", Property::Text("V")),
        ("NI_Scale[0]_Scale_Type", Property::Text("Linear")),
        ("NI_Scale[0]_Linear_Slope", Property::Double(2.0)),
        ("NI_Scale[0]_Linear_Y_Intercept", Property::Double(0.0)),
    ];
    let samples: Vec<f64> = (0..150_000).map(f64::from).collect();
    let bytes = segment(&[object("/'g'/'v'", &values(F64, 150_000), &all)], &doubles(&samples));
    let first = import(&bench, &bytes);
    let exported =
        export(&bench, &first.answer.id.clone().unwrap(), ExportTdmsRequest::new()).unwrap();
    // 16 bytes of an index for each row would be more than this.
    assert!(exported.len() < 150_000 * 8 + 4096, "{}", exported.len());
    assert_eq!(exported.windows(4).filter(|bytes| bytes == b"TDSm").count(), 3);
    let again = import(&bench, &exported);
    assert_eq!(again.rows.columns(), first.rows.columns());
    assert_eq!(again.declared("v").properties["unit"], "V");
    for name in ["wf_increment", "wf_start_time", "wf_start_offset"] {
        let of = |table: &Imported| table.declared("v").properties[name].clone();
        assert_eq!(of(&again), of(&first), "{name}");
    }
    // A part of the rows, without the index.
    let rows = ScanRequest::new().columns(["v"]).take(2);
    let part =
        export(&bench, &first.answer.id.unwrap(), ExportTdmsRequest::new().rows(rows)).unwrap();
    let part = import(&bench, &part);
    assert_eq!(part.column("v").unwrap().as_primitive::<Float64Type>().values(), &[0.0, 2.0]);
    assert_eq!(part.declared("row").column_type, ColumnType::Index);
}

/// A segment has the bytes that memory has room for, whatever its rows.
#[test]
fn long_texts_make_segments_of_fewer_rows() {
    const TEXT: usize = 1024 * 1024;
    let bench = Bench::new();
    let row = |at: usize| {
        format!("{at},{}\n", char::from(b'a' + (at % 26) as u8).to_string().repeat(TEXT))
    };
    let text = "v,s\n".to_owned() + &(0..70).map(row).collect::<String>();
    let id = csv(&bench, ImportTableRequest::new().index_column("v"), &text);
    let exported = export(&bench, &id, ExportTdmsRequest::new()).unwrap();
    let marks = exported.windows(4).filter(|bytes| bytes == b"TDSm").count();
    assert_eq!(marks, 3);
    let found = import(&bench, &exported);
    let texts = found.column("s").unwrap().as_string::<i32>();
    let first = |at: usize| (texts.value(at).len(), texts.value(at).as_bytes()[0]);
    for at in 0..70 {
        assert_eq!(first(at), (TEXT, b'a' + (at % 26) as u8), "{at}");
    }
}

#[test]
fn an_index_of_equal_steps_is_the_axis() {
    let bench = Bench::new();
    let unit = |name: &str| {
        let mut column = Column::new(name, DataType::Int64).column_type(ColumnType::Index);
        column.properties.insert("unit".to_owned(), "us".to_owned());
        column
    };
    let columns = [unit("t"), Column::new("v", DataType::Float64)];
    let request = ImportTableRequest::new().table(CreateTableRequest::new(columns).name("ramp"));
    let id = csv(&bench, request, "t,v\n10,1.5\n30,2.5\n50,3.5\n");
    let found =
        import(&bench, &export(&bench, &id, ExportTdmsRequest::new().group("own")).unwrap());
    assert_eq!(found.name(), "own");
    let nanos = found.column("t").unwrap().as_primitive::<Int64Type>();
    assert_eq!(nanos.values(), &[10_000, 30_000, 50_000]);
    assert_eq!(found.declared("t").column_type, ColumnType::Index);
    // Numbers of rows are no channel.
    let id = csv(&bench, ImportTableRequest::new(), "v\n1.5\n2.5\n");
    let exported = export(&bench, &id, ExportTdmsRequest::new()).unwrap();
    assert!(!exported.windows(6).any(|bytes| bytes == b"/'row'"));
    assert_eq!(import(&bench, &exported).column("v").unwrap().len(), 2);
}

/// Prints the values, properties and times of a file as npTDMS reads them.
const SCRIPT: &str = r#"
import json, sys
import numpy as np
from nptdms import TdmsFile
file = TdmsFile.read(sys.argv[1])
for group in file.groups():
    for channel in group.channels():
        data = channel[:]
        values = data.astype("datetime64[ns]").astype(np.int64) if data.dtype.kind == "M" else data
        axis = None
        if "wf_increment" in channel.properties:
            axis = channel.time_track(absolute_time=True).astype("datetime64[ns]").astype(np.int64).tolist()
        texts = {k: v for k, v in channel.properties.items() if isinstance(v, str)}
        print(json.dumps([group.name, channel.name, str(data.dtype), values.tolist(), texts, axis]))
"#;

#[test]
fn nptdms_reads_what_is_exported() {
    let Some(python) = crate::oracle::python_with_nptdms() else { return };
    let bench = Bench::new();
    let text = "t,f,n,b,s\n2024-01-01T00:00:00Z,0.5,1,true,x\n2024-01-01T00:00:01Z,1.5,2,false,ä\n\
                2024-01-01T00:00:02Z,2.5,3,true,\"\"\n";
    let request = ImportTableRequest::new()
        .index_column("t")
        .table(CreateTableRequest::new([]).name("it's a/run"));
    let id = csv(&bench, request, text);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.tdms");
    std::fs::write(&path, export(&bench, &id, ExportTdmsRequest::new()).unwrap()).unwrap();
    let output = Command::new(&python).args(["-c", SCRIPT]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let first = 1_704_067_200_000_000_000i64;
    let axis = [first, first + 1_000_000_000, first + 2_000_000_000];
    let wave = r#"{"wf_xname": "t", "wf_xunit_string": "s"}"#;
    let expected: Vec<serde_json::Value> = [
        ("f", "float64", "[0.5, 1.5, 2.5]"),
        ("n", "int64", "[1, 2, 3]"),
        ("b", "bool", "[true, false, true]"),
        ("s", "object", r#"["x", "ä", ""]"#),
    ]
    .into_iter()
    .map(|(name, kind, values)| {
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        serde_json::json!(["it's a/run", name, kind, json(values), json(wave), axis])
    })
    .collect();
    let found: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(found, expected);
}
