//! Files that were cut or damaged: what is whole is imported, or nothing is.

use std::io::Read as _;

use proptest::prelude::*;
use stationdb::ErrorKind;
use stationdb_formats::stdf::{ByteOrder, ImportOptions, Records};

use super::Bench;
use super::builder::{File, V, cn, limits, ptr};

const NONE: (i16, i16) = (-32_768, -32_768);

/// A file with three parts, and the end of each of its records.
fn file(order: ByteOrder) -> (File, Vec<usize>) {
    let rest = limits(0b1110, [3, 0, 0], [0.0, 2.0], ["V", "%.2f", "", ""]);
    let steps: Vec<Box<dyn Fn(File) -> File>> = vec![
        Box::new(|file| file.add("WIR", &[V::U1(1), V::U1(255), V::U4(2000), cn("W")])),
        Box::new(|file| file.pir(1, 1)),
        Box::new(move |file| file.add("PTR", &[ptr(1, (0, 0), 1.0, "a"), rest.clone()].concat())),
        Box::new(|file| file.prr(0, (1, 1), NONE, 100, "A")),
        Box::new(|file| file.pir(1, 1)),
        Box::new(|file| file.ptr(1, (0x80, 0), 3.0, "")),
        Box::new(|file| file.prr(8, (2, 2), (1, 2), 100, "B")),
        Box::new(|file| file.pir(1, 1)),
        Box::new(|file| file.prr(1, (1, 1), (3, 4), 100, "A")),
        Box::new(File::mrr),
    ];
    let mut file = File::lot(order);
    let mut ends = vec![6, file.bytes.len()];
    for step in steps {
        file = step(file);
        ends.push(file.bytes.len());
    }
    (file, ends)
}

#[test]
fn a_file_that_was_cut_ends_with_what_is_whole() {
    let bench = Bench::new();
    let options = ImportOptions::new().again(true);
    let (file, ends) = file(ByteOrder::Little);
    // The ends of the records PRR.
    let parts = [ends[5], ends[8], ends[10]];
    for end in 0..=file.bytes.len() {
        let bytes = &file.bytes[..end];
        if end < 6 {
            let error = bench.import_with(bytes, &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{end}: {error}");
            continue;
        }
        let report = bench.import_with(bytes, &options).unwrap();
        let whole = parts.iter().filter(|part| **part <= end).count();
        assert_eq!(report.results.len(), whole, "{end}");
        let first = report.warnings.first().map_or("", String::as_str);
        if end == file.bytes.len() {
            assert_eq!(report.warnings, [""; 0]);
        } else if ends.contains(&end) {
            assert!(first.contains("has no MRR"), "{end}: {first}");
        } else {
            assert!(first.starts_with("the file was cut: the file ends within"), "{end}: {first}");
            let at = ends.iter().rfind(|record| **record < end).unwrap();
            assert!(first.contains(&format!("at byte {at},")), "{end}: {first}");
        }
        let properties = bench.work_item(&report).properties.unwrap();
        assert_eq!(properties.contains_key("stdf.cut"), end < file.bytes.len(), "{end}");
        let is_open = report.warnings.iter().any(|warning| warning.contains("have no PRR"));
        let opened = [ends[3], ends[6], ends[9]].iter().filter(|pir| **pir <= end).count();
        assert_eq!(is_open, opened > whole, "{end}");
    }
}

#[test]
fn compressed_bytes_that_end_too_early_are_a_cut() {
    let bench = Bench::new();
    let (file, ends) = file(ByteOrder::Big);
    let mut packed = Vec::new();
    let fast = flate2::Compression::none();
    flate2::read::GzEncoder::new(&file.bytes[..], fast).read_to_end(&mut packed).unwrap();
    // Stored without compression: the cut is within the last PRR.
    let missing = file.bytes.len() - ends[10] + 8 + 4;
    let report =
        bench.import_with(&packed[..packed.len() - missing], &ImportOptions::new()).unwrap();
    assert_eq!(report.results.len(), 2);
    assert!(report.warnings[0].contains("compressed bytes end too early"), "{:?}", report.warnings);
    // Damaged ones are refused.
    let last = packed.len() - 6;
    packed[last] ^= 1;
    let error = bench.refusal(&packed);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.message().contains("compressed bytes are damaged"), "{error}");
}

#[test]
fn a_damaged_record_refuses_the_file_with_its_place() {
    let bench = Bench::new();
    let (mut file, ends) = file(ByteOrder::Little);
    // The length of the text of the second PTR.
    let text = ends[6] + 4 + 12;
    assert_eq!(file.bytes[text], 0);
    file.bytes[text] = 9;
    let error = bench.refusal(&file.bytes);
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let told = format!("the PTR at byte {} ends within its field TEST_TXT", ends[6]);
    assert!(error.message().contains(&told), "{error}");
}

thread_local! {
    static BENCH: Bench = Bench::new();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 192, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Any bytes are imported or refused for what they are.
    #[test]
    fn other_bytes_are_imported_or_refused(
        is_big in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let order = if is_big { ByteOrder::Big } else { ByteOrder::Little };
        let mut bytes = file(order).0.bytes;
        for (place, byte) in changes {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        BENCH.with(|bench| {
            let before = bench.counts();
            match bench.import_with(&bytes, &ImportOptions::new().again(true)) {
                Ok(report) => {
                    assert_eq!(bench.counts().1, before.1 + 1);
                    let steps: usize =
                        (0..report.results.len()).map(|at| bench.steps(&report, at).len()).sum();
                    assert_eq!(steps, report.steps);
                }
                Err(error) => {
                    let kinds = [ErrorKind::InvalidArgument, ErrorKind::Unsupported];
                    assert!(kinds.contains(&error.kind()), "{error:?}");
                    assert_eq!(bench.counts(), before);
                }
            }
        });
    }

    #[test]
    fn records_are_whole_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = [&b"\x02\x00\x00\x0a\x02\x04"[..], &bytes].concat();
        let mut records = Records::new(&file[..]).unwrap();
        let mut end = 0;
        while let Some(record) = records.next_record().unwrap() {
            assert_eq!(record.position(), end);
            end += record.body().len() as u64 + 4;
            let fields = record.fields().len();
            if let Ok(values) = record.values() {
                assert_eq!(values.len(), fields);
            }
        }
        let is_short = records.cut().is_some() || records.padding().is_some();
        assert_eq!(is_short, end < file.len() as u64);
        assert!(records.padding().is_none_or(|at| at == end));
    }
}
