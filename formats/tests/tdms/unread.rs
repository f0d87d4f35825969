//! Channels of types that are not read are left out, and the rest of their files is imported.

use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::Float64Type;
use stationdb_formats::tdms::TdmsOptions;

use crate::bytes::{F64, NO_DATA, doubles, object, segment, segment_of, texts_index, values};
use crate::{Bench, Imported};

const FIXED_POINT: u32 = 0x4f;

fn import(bytes: &[u8]) -> Vec<Imported> {
    Bench::new().import(bytes, TdmsOptions::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn column(table: &Imported, name: &str) -> Vec<f64> {
    let column = table.column(name).unwrap_or_else(|| panic!("no column {name}"));
    column.as_primitive::<Float64Type>().values().to_vec()
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
