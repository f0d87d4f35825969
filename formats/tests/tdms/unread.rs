//! Channels of types that are not read are left out, and the rest of their files is imported.

use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::{Float64Type, Int32Type};
use stationdb_formats::tdms::TdmsOptions;

use crate::bytes::{
    EXTENDED, F64, I16, INTERLEAVED, NO_DATA, Property, WHOLE, doubles, metadata, object, segment,
    segment_of, texts_index, values,
};
use crate::{Bench, Imported};

/// Extended-precision floats with a unit.
const EXTENDED_WITH_UNIT: u32 = 0x1b;
const FIXED_POINT: u32 = 0x4f;

fn import(bytes: &[u8]) -> Vec<Imported> {
    Bench::new().import(bytes, TdmsOptions::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn column(table: &Imported, name: &str) -> Vec<f64> {
    let column = table.column(name).unwrap_or_else(|| panic!("no column {name}"));
    column.as_primitive::<Float64Type>().values().to_vec()
}

/// Each size, with values behind and before, as one chunk and as several.
#[test]
fn the_values_around_extended_floats_are_found() {
    for (size, chunks) in [(16, 1), (10, 1), (12, 1), (16, 3), (10, 3), (12, 1)] {
        let objects = [
            object("/'g'/'a'", &values(F64, 2), &[]),
            object("/'g'/'x'", &values(EXTENDED, 3), &[]),
            object("/'g'/'b'", &values(F64, 2), &[]),
        ];
        let chunk =
            |at: f64| [doubles(&[at, at + 1.0]), vec![0x55; 3 * size], doubles(&[-at, -1.0])];
        let data: Vec<u8> = (0..chunks).flat_map(|at| chunk(f64::from(at)).concat()).collect();
        // The second segment has no metadata.
        let second = segment_of(8, &[], &data, None);
        let bytes = [segment(&objects, &data), second].concat();
        let tables = import(&bytes);
        let once = |of: fn(f64) -> [f64; 2]| (0..chunks).flat_map(move |at| of(f64::from(at)));
        let twice = |of: fn(f64) -> [f64; 2]| once(of).chain(once(of)).collect::<Vec<f64>>();
        assert_eq!(column(&tables[0], "a"), twice(|at| [at, at + 1.0]), "{size} {chunks}");
        assert_eq!(column(&tables[0], "b"), twice(|at| [-at, -1.0]), "{size} {chunks}");
        assert!(tables[0].column("x").is_none());
        let told = &tables[0].answer.warnings;
        assert_eq!(told.len(), 1, "{told:?}");
        for part in ["\"g\"", "\"x\"", "extended-precision floats", "left out"] {
            assert!(told[0].contains(part), "{part}: {told:?}");
        }
    }
}

#[test]
fn interleaved_values_beside_extended_floats_are_found() {
    let objects = metadata(&[
        object("/'g'/'a'", &values(F64, 2), &[]),
        object("/'g'/'x'", &values(EXTENDED_WITH_UNIT, 2), &[]),
        object("/'g'/'n'", &values(I16, 2), &[]),
    ]);
    let row = |value: f64, number: i16| {
        [doubles(&[value]), vec![0x77; 10], number.to_le_bytes().to_vec()].concat()
    };
    let data = [row(1.5, 7), row(2.5, 8)].concat();
    let tables = import(&segment_of(WHOLE | INTERLEAVED, &objects, &data, None));
    assert_eq!(column(&tables[0], "a"), [1.5, 2.5]);
    let numbers = tables[0].column("n").unwrap().as_primitive::<Int32Type>();
    assert_eq!(numbers.values(), &[7, 8]);
}

/// A type of any size hides nothing in a segment of its own, nor where its bytes are told.
#[test]
fn unknown_types_hide_no_other_segments() {
    let other = segment(
        &[object("/'f'/'x'", &values(FIXED_POINT, 5), &[]), object("/'f'", &NO_DATA, &[])],
        &[1; 35],
    );
    let more = segment_of(8, &[], &[1; 70], None);
    let plain = segment(&[object("/'g'/'v'", &values(F64, 2), &[])], &doubles(&[1.0, 2.0]));
    let told = |bytes: &[u8]| {
        let tables = import(bytes);
        assert_eq!(tables.len(), 1);
        assert_eq!(column(&tables[0], "v"), [1.0, 2.0]);
        tables[0].answer.warnings.join("\n")
    };
    for bytes in [
        [&other[..], &more, &plain].concat(),
        [&plain[..], &other, &more].concat(),
        [&plain[..], &other[..other.len() - 3]].concat(),
    ] {
        let told = told(&bytes);
        assert!(told.contains("\"x\" (fixed-point numbers)"), "{told}");
    }
    let mut index = texts_index(2, 13);
    index[4] = 0x77;
    let with_bytes = segment(
        &[object("/'g'/'x'", &index, &[]), object("/'g'/'v'", &values(F64, 2), &[])],
        &[vec![9; 13], doubles(&[1.0, 2.0])].concat(),
    );
    let told = told(&with_bytes);
    assert!(told.contains("\"x\" (values of the unknown type 0x77)"), "{told}");
}

#[test]
fn properties_of_extended_floats_are_left_out() {
    for size in [16, 10, 12] {
        let properties = [
            ("before", Property::Text("a")),
            ("p", Property::Other(EXTENDED, &[7; 16][..size])),
            ("after", Property::Text("b")),
        ];
        let bytes = segment(
            &[
                object("/'g'/'v'", &values(F64, 2), &properties),
                object("/'g'/'w'", &values(F64, 2), &[]),
            ],
            &doubles(&[1.0, 2.0, 3.0, 4.0]),
        );
        let tables = import(&bytes);
        assert_eq!(column(&tables[0], "w"), [3.0, 4.0], "{size}");
        let found = &tables[0].declared("v").properties;
        assert_eq!((found["before"].as_str(), found["after"].as_str()), ("a", "b"), "{size}");
        assert!(!found.contains_key("p"));
        let told = tables[0].answer.warnings.join("\n");
        assert!(told.contains("1 properties have extended-precision floats"), "{told}");
    }
}

/// The last segment of a recording that was stopped has the values before.
#[test]
fn an_unfinished_segment_with_values_that_are_not_read_is_told() {
    let plain = segment(&[object("/'g'/'v'", &values(F64, 2), &[])], &doubles(&[1.0, 2.0]));
    let mut mixed = segment(
        &[object("/'g'/'x'", &values(EXTENDED, 1), &[]), object("/'g'/'v'", &values(F64, 2), &[])],
        &[vec![0; 16], doubles(&[3.0, 4.0])].concat(),
    );
    mixed.truncate(mixed.len() - 3);
    let tables = import(&[plain, mixed].concat());
    assert_eq!(column(&tables[0], "v"), [1.0, 2.0]);
    let told = tables[0].answer.warnings.join("\n");
    assert!(told.contains("none of its values are found"), "{told}");
}

/// A size is taken only if no other one fits the bytes of the segment.
#[test]
fn floats_of_two_possible_sizes_are_refused() {
    let bytes = segment(
        &[object("/'g'/'x'", &values(EXTENDED, 5), &[]), object("/'g'/'v'", &values(F64, 2), &[])],
        // 11 chunks with 16 bytes a float, and 16 chunks with 10.
        &[0; 1056],
    );
    let error = Bench::new().import(&bytes, TdmsOptions::new()).err().unwrap();
    assert_eq!(error.kind(), stationdb::ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("does not tell how many bytes they take"), "{error}");
}
