//! Groups and channels become tables and columns.

use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::{
    Float64Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType,
};
use stationdb::prelude::*;
use stationdb::tables::{
    ColumnType, CreateTableRequest, DataType, ImportTableRequest, ListTablesRequest,
};
use stationdb::{Control, ErrorKind};
use stationdb_formats::tdms::TdmsOptions;
use stationdb_formats::{ImportFiles, ImportResults};

use crate::Bench;
use crate::bytes::{
    F64, NO_DATA, Property, TIME, U64, doubles, object, segment, texts, texts_index, values,
};

const SECONDS_TO_1970: i64 = 2_082_844_800;

fn wave<'p>(start: Option<i64>, increment: f64, unit: &'p str) -> Vec<(&'p str, Property<'p>)> {
    let mut all = vec![
        ("wf_start_offset", Property::Double(0.25)),
        ("wf_increment", Property::Double(increment)),
        ("unit_string", Property::Text(unit)),
    ];
    if let Some(seconds) = start {
        all.push(("wf_start_time", Property::Time(seconds + SECONDS_TO_1970, 0)));
    }
    all
}

#[test]
fn waveform_properties_are_axis_and_unit() {
    let bytes = segment(
        &[
            object(
                "/",
                &NO_DATA,
                &[("author", Property::Text("ada")), ("k", Property::Double(1.5))],
            ),
            object("/'run'", &NO_DATA, &[("k", Property::Text("own"))]),
            object("/'run'/'volts'", &values(F64, 3), &wave(Some(10), 0.1, "V")),
            object("/'run'/'plain'", &values(F64, 3), &[("note", Property::Text("x"))]),
            object("/'offset'/'amps'", &values(F64, 2), &wave(None, 0.5, "A")),
            object("/'fine'/'y'", &values(F64, 2), &wave(Some(10), 1e-10, "V")),
            object("/'fft'/'y'", &values(F64, 2), &{
                let mut all = wave(Some(10), 2.0, "V");
                all.push(("wf_xunit_string", Property::Text("Hz")));
                all.push(("wf_xname", Property::Text("Frequency")));
                all
            }),
        ],
        &doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]),
    );
    let tables = Bench::new().import(&bytes, TdmsOptions::new()).unwrap();
    let names: Vec<&str> = tables.iter().map(super::Imported::name).collect();
    assert_eq!(names, ["run", "offset", "fine", "fft"]);
    let run = &tables[0];
    let time = run.column("time").unwrap().as_primitive::<TimestampNanosecondType>();
    assert_eq!(time.values(), &[10_250_000_000, 10_350_000_000, 10_450_000_000]);
    assert_eq!(run.declared("time").column_type, ColumnType::Index);
    assert_eq!(run.declared("volts").properties["unit"], "V");
    assert_eq!(run.declared("volts").properties["wf_increment"], "0.1");
    assert_eq!(run.declared("plain").properties["note"], "x");
    assert_eq!(
        run.column("plain").unwrap().as_primitive::<Float64Type>().values(),
        &[4.0, 5.0, 6.0]
    );
    let properties = run.properties();
    assert_eq!(properties["author"], "ada");
    assert_eq!((properties["k"].as_str(), properties["file.k"].as_str()), ("own", "1.5"));
    assert_eq!(run.answer.columns[1].unit.as_deref(), Some("V"));
    assert_eq!(run.answer.warnings, Vec::<String>::new());

    let offset = &tables[1];
    let nanos = offset.column("time").unwrap().as_primitive::<Int64Type>();
    assert_eq!(nanos.values(), &[250_000_000, 750_000_000]);
    assert_eq!(offset.declared("time").properties["unit"], "ns");

    // Steps below a nanosecond, and axes of other units, are numbers beside those of the rows.
    for (table, name, unit, expected) in [
        (&tables[2], "time", "s", [0.25, 0.25 + 1e-10]),
        (&tables[3], "Frequency", "Hz", [0.25, 2.25]),
    ] {
        assert_eq!(table.declared("row").column_type, ColumnType::Index);
        assert_eq!(table.declared(name).properties["unit"], unit);
        assert_eq!(table.column(name).unwrap().as_primitive::<Float64Type>().values(), &expected);
    }
}

/// The last value of a property is that of all rows, which is told where others had another one.
#[test]
fn properties_that_change_behind_values_are_told() {
    let channel = |start: i64, unit: &str, note: &str| {
        let mut all = wave(Some(start), 0.1, unit);
        all.push(("note", Property::Text(note)));
        segment(&[object("/'g'/'c'", &values(F64, 2), &all)], &doubles(&[1.0, 2.0]))
    };
    let first = channel(10, "V", "x");
    for (second, told) in [
        (channel(10, "V", "y"), None),
        (
            channel(3610, "V", "x"),
            Some("1, the first of them \"wf_start_time\" of /'g'/'c', at byte"),
        ),
        (channel(3610, "mV", "x"), Some("2, the first of them \"unit_string\" of /'g'/'c'")),
    ] {
        let bytes = [first.clone(), second].concat();
        let tables = Bench::new().import(&bytes, TdmsOptions::new()).unwrap();
        let found = &tables[0].answer.warnings;
        assert_eq!(found.len(), usize::from(told.is_some()), "{found:?}");
        assert!(told.is_none_or(|told| found[0].contains(told)), "{found:?}");
    }
    // A file with values in another unit is told where it is appended.
    let bench = Bench::new();
    let tables = bench.import(&first, TdmsOptions::new()).unwrap();
    let id = tables[0].answer.id.clone().unwrap().to_string();
    let bytes = channel(20, "mV", "x");
    let request = ImportTableRequest::new().id(&id);
    let told = bench.import_as(request, &bytes, TdmsOptions::new()).unwrap();
    let told = told[0].answer.warnings.join("\n");
    assert!(told.contains("\"c\" has \"mV\", and \"V\" in the table"), "{told}");
}

#[test]
fn channels_of_other_lengths_and_rates_are_tables_of_their_own_and_it_is_told() {
    let bytes = segment(
        &[
            object("/'g'/'a'", &values(F64, 2), &wave(None, 0.5, "")),
            object("/'g'/'b'", &values(F64, 1), &[]),
            object("/'g'/'c'", &values(F64, 2), &wave(None, 0.25, "")),
            object("/'g'/'d'", &values(F64, 2), &[]),
            object("/'g'/'void'", &NO_DATA, &[("p", Property::Double(0.0))]),
        ],
        &doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
    );
    let bench = Bench::new();
    let request = ImportTableRequest::new().table(CreateTableRequest::new([]).name("run7"));
    let tables = bench.import_as(request, &bytes, TdmsOptions::new()).unwrap();
    let names: Vec<&str> = tables.iter().map(super::Imported::name).collect();
    assert_eq!(names, ["run7/g/a", "run7/g/b", "run7/g/c"]);
    assert!(tables[0].column("d").is_some(), "it has no axis, so it shares one of its length");
    let told = tables[0].answer.warnings.join("\n");
    assert!(told.contains("\"void\"") && told.contains("3 tables"), "{told}");
    assert_eq!(tables[1].answer.warnings, Vec::<String>::new());

    // Rows can be appended to a table where the file has one.
    let id = tables[1].answer.id.clone().unwrap().to_string();
    let error = bench
        .import_as(ImportTableRequest::new().id(&id), &bytes, TdmsOptions::new())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("3 tables"), "{error}");
    let one = segment(&[object("/'g'/'b'", &values(F64, 2), &[])], &doubles(&[8.0, 9.0]));
    let appended =
        bench.import_as(ImportTableRequest::new().id(&id), &one, TdmsOptions::new()).unwrap();
    let rows = &appended[0];
    assert_eq!(rows.column("b").unwrap().as_primitive::<Float64Type>().values(), &[3.0, 8.0, 9.0]);
    assert_eq!(rows.column("row").unwrap().as_primitive::<Int64Type>().values(), &[0, 1, 2]);
}

#[test]
fn values_beyond_the_usual_type_get_a_wider_one_and_rounding_is_told() {
    let mut data = Vec::new();
    for (seconds, fractions) in [(SECONDS_TO_1970, 1u64 << 40), (1i64 << 35, 0)] {
        data.extend(fractions.to_le_bytes());
        data.extend(seconds.to_le_bytes());
    }
    data.extend(u64::MAX.to_le_bytes());
    data.extend(7u64.to_le_bytes());
    for (seconds, fractions) in [(SECONDS_TO_1970, 1u64 << 32), (SECONDS_TO_1970, 1 << 63)] {
        data.extend(fractions.to_le_bytes());
        data.extend(seconds.to_le_bytes());
    }
    let strange = texts(&[b"\xb0C", b"ok"]);
    data.extend(&strange);
    let bytes = segment(
        &[
            object("/'g'/'late'", &values(TIME, 2), &[]),
            object("/'g'/'large'", &values(U64, 2), &[]),
            object("/'g'/'fine'", &values(TIME, 2), &[]),
            object("/'g'/'text'", &texts_index(2, strange.len() as u64), &[]),
        ],
        &data,
    );
    let tables = Bench::new().import(&bytes, TdmsOptions::new()).unwrap();
    let table = &tables[0];
    assert_eq!(table.declared("late").data_type, DataType::TimestampMicros);
    let late = table.column("late").unwrap().as_primitive::<TimestampMicrosecondType>();
    assert_eq!(late.value(1), ((1i64 << 35) - SECONDS_TO_1970) * 1_000_000);
    assert_eq!(table.declared("large").data_type, DataType::String);
    let large = table.column("large").unwrap().as_string::<i32>();
    assert_eq!((large.value(0), large.value(1)), ("18446744073709551615", "7"));
    let fine = table.column("fine").unwrap().as_primitive::<TimestampNanosecondType>();
    assert_eq!(fine.values(), &[0, 500_000_000]);
    assert_eq!(table.column("text").unwrap().as_string::<i32>().value(0), "\u{fffd}C");
    let told = table.answer.warnings.join("\n");
    for part in
        ["1 times of column \"fine\"", "1 times of column \"late\"", "microseconds", "1 texts of"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn requests_name_index_and_types() {
    let bytes = segment(
        &[
            object("/'g'/'n'", &values(U64, 2), &[]),
            object("/'g'/'v'", &values(F64, 2), &wave(None, 0.5, "")),
        ],
        &[5u64.to_le_bytes().to_vec(), 6u64.to_le_bytes().to_vec(), doubles(&[1.0, 2.0])].concat(),
    );
    let bench = Bench::new();
    let import = |request| bench.import_as(request, &bytes, TdmsOptions::new());
    let tables = import(ImportTableRequest::new().index_column("n")).unwrap();
    assert_eq!(tables[0].declared("n").column_type, ColumnType::Index);
    assert_eq!(tables[0].declared("time").column_type, ColumnType::Normal);
    let tables = import(ImportTableRequest::new().column_types([("n", DataType::String)])).unwrap();
    assert_eq!(tables[0].column("n").unwrap().as_string::<i32>().value(1), "6");
    let before = bench.tables();
    for (request, part) in [
        (ImportTableRequest::new().index_column("x"), "no column \"x\""),
        (ImportTableRequest::new().index_column("v"), "cannot be the index"),
        (ImportTableRequest::new().column_types([("x", DataType::Bool)]), "no column \"x\""),
    ] {
        let error = import(request).err().unwrap();
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!(bench.tables(), before);
}

/// A file of measured values is scaled unless its raw values are asked for.
#[test]
fn files_and_directories_are_read_raw_where_it_is_asked() {
    let scale = [
        ("NI_Number_Of_Scales", Property::Double(1.0)),
        ("NI_Scale[0]_Scale_Type", Property::Text("Linear")),
        ("NI_Scale[0]_Linear_Slope", Property::Double(2.0)),
        ("NI_Scale[0]_Linear_Y_Intercept", Property::Double(1.0)),
    ];
    let bytes = segment(&[object("/'g'/'c'", &values(F64, 2), &scale)], &doubles(&[1.0, 2.0]));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.tdms");
    std::fs::write(&path, &bytes).unwrap();
    let bench = Bench::new();
    let control = Control::default();
    let why = |answer: &stationdb::tables::ImportTableResponse| answer.columns[1].why.clone();
    for (raw, part) in [(false, "scaled"), (true, "values of type")] {
        let file = stationdb_formats::SourceFile::open(&path).unwrap().raw(raw);
        let answers =
            bench.session.import_source(ImportTableRequest::new(), file, None, &control).unwrap();
        assert!(why(&answers[0]).contains(part), "{answers:?}");
        for is_one in [false, true] {
            let request = stationdb_formats::ImportDirectoryRequest::new(dir.path())
                .raw(raw)
                .all_or_nothing(is_one);
            let report = bench.session.import_directory(&request, &control).unwrap();
            let (_, imported) = report.imported().next().unwrap();
            assert!(why(&imported.tables()[0]).contains(part), "{imported:?}");
        }
    }
}

#[test]
fn files_and_directories_have_the_tables_of_their_groups() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = segment(
        &[object("/'a'/'v'", &values(F64, 1), &[]), object("/'b'/'s'", &texts_index(1, 6), &[])],
        &[doubles(&[1.0]), texts(&[b"hi"])].concat(),
    );
    std::fs::write(dir.path().join("run.tdms"), &bytes).unwrap();
    let mut index = bytes.clone();
    index[..4].copy_from_slice(b"TDSh");
    std::fs::write(dir.path().join("run.tdms_index"), &index).unwrap();
    let bench = Bench::new();
    let request = stationdb_formats::ImportDirectoryRequest::new(dir.path());
    let report = bench.session.import_directory(&request, &Control::default()).unwrap();
    let imported: Vec<usize> =
        report.imported().map(|(_, imported)| imported.tables().len()).collect();
    assert_eq!(imported, [2]);
    let (path, error) = report.refused().next().unwrap();
    assert_eq!(path.to_str(), Some("run.tdms_index"));
    assert!(error.message().contains("import the .tdms file beside it"), "{error}");
    let tables = bench.session.list_tables(ListTablesRequest::new()).unwrap().tables;
    let mut names: Vec<String> = tables.into_iter().filter_map(|table| table.name).collect();
    names.sort();
    assert_eq!(names, ["run/a", "run/b"]);
    let error = bench.import(&index, TdmsOptions::new()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("import the .tdms file beside it"), "{error}");
}
