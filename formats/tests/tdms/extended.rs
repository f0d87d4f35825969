//! Extended-precision floats, in bytes made by hand.

use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::{Float64Type, Int32Type};
use stationdb_formats::tdms::TdmsOptions;

use crate::bytes::{
    EXTENDED, F64, I16, INTERLEAVED, Property, WHOLE, doubles, object, segment, segment_of, values,
};
use crate::{Bench, Imported};

/// Extended-precision floats with a unit.
const EXTENDED_WITH_UNIT: u32 = 0x1b;
const BIG_ENDIAN: u32 = 64;

fn import(bytes: &[u8]) -> Vec<Imported> {
    Bench::new().import(bytes, TdmsOptions::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn column(table: &Imported, name: &str) -> Vec<f64> {
    let column = table.column(name).unwrap_or_else(|| panic!("no column {name}"));
    column.as_primitive::<Float64Type>().values().to_vec()
}

/// A number of 80 bits in `size` bytes: its sign and power, and its digits.
fn float(sign_and_power: u16, digits: u64, size: usize) -> Vec<u8> {
    let mut out = digits.to_le_bytes().to_vec();
    out.extend(sign_and_power.to_le_bytes());
    out.resize(size, 0);
    out
}

const ONE: u64 = 1 << 63;
/// 1, -2.5, a third (which a double rounds), and the largest number of 80 bits.
const FLOATS: [(u16, u64); 4] = [
    (0x3fff, ONE),
    (0xc000, 0xa000_0000_0000_0000),
    (0x3ffd, 0xaaaa_aaaa_aaaa_aaab),
    (0x7ffe, u64::MAX),
];
const DOUBLES: [f64; 4] = [1.0, -2.5, 1.0 / 3.0, f64::INFINITY];

fn floats(size: usize) -> Vec<u8> {
    FLOATS.iter().flat_map(|(power, digits)| float(*power, *digits, size)).collect()
}

/// Each size, with values behind and before, as one chunk and as several.
#[test]
fn floats_of_each_size_and_the_values_around_them_are_found() {
    for (size, chunks) in [(16, 1), (10, 1), (12, 1), (16, 3), (10, 3)] {
        let objects = [
            object("/'g'/'a'", &values(F64, 4), &[]),
            object("/'g'/'x'", &values(EXTENDED, 4), &[]),
            object("/'g'/'b'", &values(F64, 4), &[]),
        ];
        let chunk = |at: f64| [doubles(&[at; 4]), floats(size), doubles(&[-at; 4])];
        let data: Vec<u8> = (0..chunks).flat_map(|at| chunk(f64::from(at)).concat()).collect();
        // The second segment has no metadata.
        let second = segment_of(8, &[], &data, None);
        let bytes = [segment(&objects, &data), second].concat();
        let tables = import(&bytes);
        let twice = |of: fn(f64) -> [f64; 4]| {
            let once = || (0..chunks).flat_map(move |at| of(f64::from(at)));
            once().chain(once()).collect::<Vec<f64>>()
        };
        assert_eq!(column(&tables[0], "a"), twice(|at| [at; 4]), "{size} {chunks}");
        assert_eq!(column(&tables[0], "x"), twice(|_| DOUBLES), "{size} {chunks}");
        assert_eq!(column(&tables[0], "b"), twice(|at| [-at; 4]), "{size} {chunks}");
        let count = 2 * chunks;
        let told = &tables[0].answer.warnings;
        let of = "extended-precision floats of column \"x\"";
        let expected = [
            format!("{count} {of} have more digits than a double, and are rounded"),
            format!("{count} {of} are beyond a double, and are infinite"),
        ];
        assert_eq!(told, &expected, "{size} {chunks}");
        let why = &tables[0].answer.columns.iter().find(|column| column.name == "x").unwrap().why;
        assert!(why.contains(&format!("type EXT, in {size} bytes")), "{why}");
    }
}

/// Floats that a double holds are not told, also where nothing else is in the file.
#[test]
fn floats_alone_are_read_exactly() {
    for size in [16, 10, 12] {
        let data = [float(0x4000, 0xc000_0000_0000_0000, size), float(0, 0, size)].concat();
        let objects = [object("/'g'/'x'", &values(EXTENDED_WITH_UNIT, 2), &[])];
        let tables = import(&segment(&objects, &data));
        assert_eq!(column(&tables[0], "x"), [3.0, 0.0], "{size}");
        assert_eq!(tables[0].answer.warnings, [""; 0], "{size}");
    }
    // 16 bytes without zeros behind are a number of 128 bits; and bytes of neither are told.
    let quad = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0x40];
    let data = [&quad[..], &float(0x3fff, 1, 16)].concat();
    let tables = import(&segment(&[object("/'g'/'x'", &values(EXTENDED, 2), &[])], &data));
    let found = column(&tables[0], "x");
    assert!(found[0] == 3.0 && found[1].is_nan(), "{found:?}");
    let told = tables[0].answer.warnings.join("\n");
    assert!(told.contains("1 extended-precision floats of column \"x\" have bytes"), "{told}");
}

/// A scale of the channel takes the doubles.
#[test]
fn floats_are_scaled() {
    let properties = [
        ("NI_Number_Of_Scales", Property::Double(1.0)),
        ("NI_Scale[0]_Scale_Type", Property::Text("Linear")),
        ("NI_Scale[0]_Linear_Slope", Property::Double(2.0)),
        ("NI_Scale[0]_Linear_Y_Intercept", Property::Double(0.5)),
    ];
    let data = floats(10);
    let objects = [object("/'g'/'x'", &values(EXTENDED, 4), &properties)];
    let tables = import(&segment(&objects, &data));
    assert_eq!(column(&tables[0], "x"), DOUBLES.map(|value| 2.0 * value + 0.5));
    assert!(tables[0].answer.warnings[0].starts_with("1 extended-precision floats"));
}

#[test]
fn interleaved_and_big_endian_floats_are_found() {
    for (contents, is_big) in [(INTERLEAVED, false), (INTERLEAVED | BIG_ENDIAN, true)] {
        let ordered = |mut bytes: Vec<u8>| {
            if is_big {
                bytes.reverse();
            }
            bytes
        };
        let index = |kind: u32| {
            let words = [20, kind, 1].map(|word: u32| ordered(word.to_le_bytes().to_vec()));
            [words.concat(), ordered(2u64.to_le_bytes().to_vec())].concat()
        };
        let objects = ["a", "x", "n"].into_iter().zip([F64, EXTENDED_WITH_UNIT, I16]);
        let mut all = ordered(3u32.to_le_bytes().to_vec());
        for (name, kind) in objects {
            let path = format!("/'g'/'{name}'");
            all.extend(ordered((path.len() as u32).to_le_bytes().to_vec()));
            all.extend(path.as_bytes());
            all.extend(index(kind));
            all.extend([0; 4]);
        }
        let row = |value: f64, (power, digits): (u16, u64), number: i16| {
            [
                ordered(doubles(&[value])),
                ordered(float(power, digits, 10)),
                ordered(number.to_le_bytes().to_vec()),
            ]
            .concat()
        };
        let data = [row(1.5, FLOATS[0], 7), row(2.5, FLOATS[1], 8)].concat();
        let mut bytes = segment_of(WHOLE | contents, &all, &data, None);
        if is_big {
            for (from, to) in [(8, 12), (12, 20), (20, 28)] {
                bytes[from..to].reverse();
            }
        }
        let tables = import(&bytes);
        assert_eq!(column(&tables[0], "a"), [1.5, 2.5]);
        assert_eq!(column(&tables[0], "x"), DOUBLES[..2]);
        let numbers = tables[0].column("n").unwrap().as_primitive::<Int32Type>();
        assert_eq!(numbers.values(), &[7, 8]);
    }
}

#[test]
fn properties_of_extended_floats_are_read() {
    for size in [16, 10, 12] {
        let third = float(FLOATS[2].0, FLOATS[2].1, size);
        let exact = float(FLOATS[1].0, FLOATS[1].1, size);
        let properties = [
            ("before", Property::Text("a")),
            ("p", Property::Other(EXTENDED, &exact)),
            ("q", Property::Other(EXTENDED_WITH_UNIT, &third)),
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
        for (key, value) in
            [("before", "a"), ("p", "-2.5"), ("q", "0.3333333333333333"), ("after", "b")]
        {
            assert_eq!(found[key], value, "{size} {key}");
        }
        let told = &tables[0].answer.warnings;
        let expected = "1 extended-precision floats of properties have more digits than a double, and \
                        are rounded";
        assert_eq!(told, &[expected], "{size}");
    }
}

/// The last segment of a recording that was stopped has the values before.
#[test]
fn an_unfinished_segment_with_values_of_an_unknown_size_is_told() {
    let plain = segment(&[object("/'g'/'v'", &values(F64, 2), &[])], &doubles(&[1.0, 2.0]));
    let mut mixed = segment(
        &[object("/'g'/'x'", &values(EXTENDED, 1), &[]), object("/'g'/'v'", &values(F64, 2), &[])],
        &[vec![0; 16], doubles(&[3.0, 4.0])].concat(),
    );
    mixed.truncate(mixed.len() - 3);
    let tables = import(&[plain, mixed].concat());
    assert_eq!(column(&tables[0], "v"), [1.0, 2.0]);
    let told = tables[0].answer.warnings.join("\n");
    assert!(told.contains("none of them are found"), "{told}");
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
