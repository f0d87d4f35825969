//! Files that are cut off, damaged or of another kind.

use std::io::Cursor;

use stationdb::arrow::array::{AsArray, Float64Array};
use stationdb::arrow::datatypes::Float64Type;
use stationdb::tables::{ImportTableRequest, TableSchema, TableSource};
use stationdb::{Control, ErrorKind, Result};
use stationdb_formats::tdms::{TdmsOptions, tables};

use crate::Bench;
use crate::bytes::{
    EXTENDED, F64, I16, INTERLEAVED, NO_DATA, Property, WHOLE, doubles, metadata, object, segment,
    segment_of, texts, texts_index, values,
};

/// Bytes of the raw data of the last segment: two doubles, then two numbers.
const LAST: usize = 20;

/// A file of four segments, in which the third one repeats the second one. The last one is contiguous.
fn four() -> Vec<u8> {
    let scales = [
        ("NI_Number_Of_Scales", Property::Double(1.0)),
        ("NI_Scale[0]_Scale_Type", Property::Text("Linear")),
        ("NI_Scale[0]_Linear_Slope", Property::Double(2.0)),
        ("NI_Scale[0]_Linear_Y_Intercept", Property::Double(1.0)),
    ];
    let first = segment(
        &[
            object("/'g'/'v'", &values(F64, 2), &scales),
            object("/'g'/'s'", &texts_index(2, 11), &[]),
        ],
        &[doubles(&[1.0, 2.0]), texts(&[b"ab", b"c"])].concat(),
    );
    let rows = metadata(&[
        object("/'g'/'v'", &values(F64, 2), &[]),
        object("/'g'/'n'", &values(I16, 2), &[]),
    ]);
    let mut data = Vec::new();
    for (value, number) in [(3.0f64, 7i16), (4.0, 8)] {
        data.extend(value.to_le_bytes());
        data.extend(number.to_le_bytes());
    }
    let second = segment_of(WHOLE | INTERLEAVED, &rows, &data, None);
    let index =
        [object("/'g'/'v'", &values(F64, 2), &[]), object("/'g'/'n'", &values(I16, 2), &[])];
    let last = segment(&index, &[doubles(&[5.0, 6.0]), vec![9, 0, 10, 0]].concat());
    [first, second.clone(), second, last].concat()
}

/// Reads all tables, without a store: the values of the column `v`, and the warnings.
fn read(bytes: &[u8]) -> Result<(Vec<f64>, Vec<String>)> {
    let (control, request) = (Control::default(), ImportTableRequest::new());
    let mut tables = tables(&request, Box::new(Cursor::new(bytes.to_vec())), TdmsOptions::new());
    let (mut found, mut told) = (Vec::new(), Vec::new());
    while tables.advance(&control)? {
        let rows = tables.table()?.rows;
        let schema = TableSchema::with_default_limit(rows.columns()?)?;
        while let Some(batch) = rows.next_batch(&schema, &control)? {
            let values = batch.column_by_name("v").map(|column| column.as_primitive_opt());
            let values: Option<&Float64Array> = values.flatten();
            found.extend(values.into_iter().flat_map(|values| values.values().iter().copied()));
        }
        told.extend(rows.warnings());
    }
    Ok((found, told))
}

/// Every prefix is refused, or has the first values of the whole file and a warning.
#[test]
fn a_file_that_is_cut_anywhere_has_the_values_before_the_cut() {
    let bytes = four();
    let (all, told) = read(&bytes).unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(all, [3.0, 5.0, 7.0, 9.0, 7.0, 9.0, 11.0, 13.0]);
    let (mut count, mut counts) = (0, std::collections::BTreeSet::new());
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(b"TDSm")).collect();
    for len in 0..bytes.len() {
        match read(&bytes[..len]) {
            Ok((found, told)) => {
                count += 1;
                assert_eq!(found, all[..found.len()], "{len}");
                counts.insert(found.len());
                // What is cut off is missing at the end, and not from each channel.
                if let Some(left) = len.checked_sub(bytes.len() - LAST) {
                    assert_eq!(found.len(), 6 + (left / 8).min(2), "{len}");
                }
                let is_told = told.iter().any(|told| told.contains("was not finished"));
                assert_eq!(is_told, !starts.contains(&len), "{len}: {told:?}");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{len}: {error}"),
        }
    }
    assert!(count > 100, "{count}");
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8]);
}

/// Every byte in eight other ways: values, or an error. A refused file leaves nothing.
#[test]
fn wrong_bits_are_refused_or_read() {
    let bytes = four();
    let bench = Bench::new();
    let (mut refused, mut count) = (0, 0);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            match read(&damaged) {
                Ok(_) => count += 1,
                Err(_) => {
                    refused += 1;
                    if refused % 100 == 0 {
                        assert!(bench.import(&damaged, TdmsOptions::new()).is_err());
                    }
                }
            }
        }
    }
    assert_eq!(bench.tables(), 0);
    assert!(refused > 500 && count > 500, "{refused} refused, {count} read");
}

#[test]
fn what_is_not_read_is_refused_by_name_and_place() {
    let bench = Bench::new();
    let plain = |objects: &[Vec<u8>]| segment(objects, &doubles(&[1.0, 2.0]));
    let of = |index: &[u8]| plain(&[object("/'g'/'v'", index, &[])]);
    let with =
        |property: Property<'_>| plain(&[object("/'g'/'v'", &values(F64, 2), &[("p", property)])]);
    let scale = |kind: &str, more: &[(&str, Property<'static>)]| {
        let mut all = vec![
            ("NI_Number_Of_Scales", Property::Double(1.0)),
            ("NI_Scale[0]_Scale_Type", Property::Text(kind)),
        ];
        for (name, value) in more {
            if let Property::Double(value) = value {
                all.push((name, Property::Double(*value)));
            }
        }
        plain(&[object("/'g'/'v'", &values(F64, 2), &all)])
    };
    let mut other = of(&values(F64, 2));
    other[0] = b'X';
    let mut beyond = of(&values(F64, 2));
    let mut second = beyond.clone();
    second[3] = b'x';
    beyond.extend(second);
    // Doubles, and values of a type that is not read in so many bytes.
    let beside = |kind: u32, bytes: usize| {
        let objects =
            [object("/'g'/'v'", &values(F64, 2), &[]), object("/'g'/'x'", &values(kind, 2), &[])];
        segment(&objects, &[doubles(&[1.0, 2.0]), vec![0; bytes]].concat())
    };
    let mut odd = values(EXTENDED, 2);
    odd[0] = 24;
    odd.extend([0; 4]);
    let odd = of(&odd);
    let ends = [5u8, 0, 0, 0, 3, 0, 0, 0];
    let index = texts_index(2, 13);
    let falling = segment(&[object("/'g'/'s'", &index, &[])], &[&ends[..], b"abcde"].concat());
    let of_two = |one: u32, two: u32| [of(&values(one, 2)), of(&values(two, 2))].concat();
    use ErrorKind::{InvalidArgument, Unsupported};
    for (bytes, kind, parts) in [
        (of(&values(0x4f, 2)), Unsupported, &["/'g'/'v'", "fixed-point", "byte"][..]),
        // No size of such floats fits.
        (
            of(&values(EXTENDED, 2)),
            Unsupported,
            &["extended-precision", "how many bytes", "byte 0"],
        ),
        (of(&values(0x77, 2)), Unsupported, &["unknown type 0x77"]),
        (beside(0x4f, 32), Unsupported, &["fixed-point", "how many bytes", "byte 0"]),
        (beside(EXTENDED, 7), Unsupported, &["extended-precision", "how many bytes"]),
        (odd, Unsupported, &["takes 24 bytes"]),
        (with(Property::Other(0x4f, &[0; 16])), Unsupported, &["the property \"p\"", "fixed"]),
        (with(Property::Other(EXTENDED, &[0; 15])), Unsupported, &["lead to the end"]),
        (other, InvalidArgument, &["not a TDMS file"]),
        (b"t,v\n1,2\n".to_vec(), InvalidArgument, &["not a TDMS file"]),
        (Vec::new(), InvalidArgument, &["not a TDMS file"]),
        (beyond, InvalidArgument, &["byte 84", "TDSm"]),
        (of_two(F64, I16), InvalidArgument, &["/'g'/'v'", "another type"]),
        (of(&[0; 4]), InvalidArgument, &["as before"]),
        (of(&values(F64, u64::MAX / 4)), InvalidArgument, &["values"]),
        (of(&texts_index(2, 7)), InvalidArgument, &["7 bytes", "2 texts"]),
        (falling, InvalidArgument, &["ends of texts do not rise", "byte"]),
        (of(&NO_DATA), InvalidArgument, &["none of its objects"]),
        (plain(&[object("g", &values(F64, 2), &[])]), InvalidArgument, &["\"g\" is no path"]),
        (segment_of(8, &[], &[0; 8], None), InvalidArgument, &["first segment has no metadata"]),
        (segment(&[object("/'g'", &NO_DATA, &[])], &[]), InvalidArgument, &["no channel"]),
        (scale("Linear", &[]), InvalidArgument, &["NI_Scale[0]_Linear_Slope", "raw"]),
        (scale("RTD", &[]), InvalidArgument, &["NI_Scale[0]_RTD_Input_Source"]),
        (
            scale("Linear", &[("NI_Scale[0]_Linear_Input_Source", Property::Double(0.0))]),
            InvalidArgument,
            &["NI_Scale[0]_Linear_Slope"],
        ),
    ] {
        let error =
            bench.import(&bytes, TdmsOptions::new()).err().unwrap_or_else(|| panic!("{parts:?}"));
        assert_eq!(error.kind(), kind, "{error}");
        for part in parts {
            assert!(error.message().contains(part), "{part:?} is not in {error}");
        }
    }
    assert_eq!(bench.tables(), 0);
    // The raw values of scales that cannot be computed are there.
    let raw = bench.import(&scale("Linear", &[]), TdmsOptions::new().raw(true)).unwrap();
    assert_eq!(raw[0].column("v").unwrap().as_primitive::<Float64Type>().values(), &[1.0, 2.0]);
}
