//! The rules of parts and lots, each with a file of its own.

use stationdb::ErrorKind;
use stationdb_formats::stdf::{ByteOrder, ImportOptions};

use super::Bench;
use super::builder::{File, V, c, cn};

const NONE: (i16, i16) = (-32_768, -32_768);
/// What all results of [`File::lot`] have.
const OF_LOT: &str = "host=node-1 operator=ada part=PART-9 program=final";

fn file() -> File {
    File::lot(ByteOrder::Little)
}

/// The lines of the results of a file without warnings.
#[track_caller]
fn results(file: File) -> Vec<String> {
    let bench = Bench::new();
    let report = bench.import(&file.mrr()).unwrap();
    assert_eq!(report.warnings, [""; 0]);
    bench.results(&report)
}

#[track_caller]
fn status(flags: u8) -> String {
    let line = results(file().part(flags, NONE, "A")).remove(0);
    line.split(' ').next().unwrap().to_owned()
}

#[test]
fn the_bits_of_part_flg_are_the_status() {
    for (flags, expected) in [
        (0, "PASSED"),
        (0b1000, "FAILED"),
        (0b1_0000, "DONE"),
        // Without a verdict the bit of the verdict means nothing.
        (0b1_1000, "DONE"),
        (0b100, "TERMINATED"),
        (0b1100, "TERMINATED"),
        (0b1_0100, "TERMINATED"),
    ] {
        assert_eq!(status(flags), expected, "{flags:#b}");
    }
}

#[test]
fn a_part_is_a_result() {
    let site = "HARD_BIN=1 HEAD_NUM=1 LOT_ID=LOT-7 SITE_NUM=1 SOFT_BIN=1";
    assert_eq!(
        results(file().part(0, NONE, "SN-1")),
        [format!("PASSED at Some(1000000) for Some(0.1) | {OF_LOT} serial=SN-1 | {site}")]
    );
    // Without an id by its place, and without a place not at all.
    assert_eq!(
        results(file().part(0, (3, -4), "").part(0, NONE, " ")),
        [
            format!(
                "PASSED at Some(1000000) for Some(0.1) | {OF_LOT} serial=LOT-7/3,-4 | {site} \
                 X_COORD=3 Y_COORD=-4"
            ),
            format!("PASSED at Some(1000100) for Some(0.1) | {OF_LOT} | {site}"),
        ]
    );
}

#[test]
fn a_wafer_is_a_property_and_part_of_a_serial_number() {
    let file = file()
        .add("WIR", &[V::U1(1), V::U1(255), V::U4(2000), cn("W-3")])
        .part(0, (1, 2), "")
        .add("WRR", &wrr("W-3"))
        .part(0, (1, 2), "");
    let lines = results(file);
    assert!(lines[0].contains("at Some(2000000)"), "{}", lines[0]);
    assert!(lines[0].contains("serial=LOT-7/W-3/1,2"), "{}", lines[0]);
    let of_wafer = "FABWF_ID=fab FRAME_ID=frame HARD_BIN=1";
    assert!(lines[0].contains(of_wafer), "{}", lines[0]);
    assert!(lines[0].contains("MASK_ID=mask") && lines[0].contains("WAFER_ID=W-3"), "{}", lines[0]);
    // The wafer has ended.
    assert!(lines[1].contains("serial=LOT-7/1,2"), "{}", lines[1]);
    assert!(!lines[1].contains("FABWF_ID"), "{}", lines[1]);
}

fn wrr(wafer: &str) -> Vec<V> {
    let mut values = vec![V::U1(1), V::U1(255), V::U4(3000), V::U4(1)];
    values.extend([0xffff_ffff_u32; 4].map(V::U4));
    values.extend([wafer, "fab", "frame", "mask"].map(cn));
    values
}

#[test]
fn times_follow_from_those_of_earlier_parts() {
    // Two sites test side by side, then one of them alone.
    let file = file()
        .pir(1, 1)
        .pir(1, 2)
        .prr_at((1, 1), 0, (1, 1), NONE, 500, "A")
        .prr_at((1, 2), 0, (1, 1), NONE, 300, "B")
        .pir(1, 1)
        .prr_at((1, 1), 0, (1, 1), NONE, 0, "C")
        .pir(2, 1)
        .prr_at((2, 1), 0, (1, 1), NONE, 10, "D");
    let lines = results(file);
    let starts: Vec<&str> = lines.iter().map(|line| line.split(' ').nth(2).unwrap()).collect();
    assert_eq!(starts, ["Some(1000000)", "Some(1000000)", "Some(1000500)", "Some(1000000)"]);
}

#[test]
fn retests_name_the_earlier_result() {
    // By the id, by the place, twice the same, and one of an unknown part.
    let file = file()
        .part(8, (1, 1), "A")
        .part(8, (2, 2), "")
        .part(0b1, (9, 9), "A")
        .part(0b10, (2, 2), "other")
        .part(0b1, (1, 1), "A")
        .part(0b1, NONE, "unknown");
    let lines = results(file);
    let retests: Vec<String> = lines
        .iter()
        .map(|line| {
            let of = |key: &str| {
                line.split(' ').find_map(|word| word.strip_prefix(key)).unwrap_or("").to_owned()
            };
            format!("{} {}", of("retest="), of("retestOf="))
        })
        .collect();
    assert_eq!(retests, [" ", " ", "PART_ID #0", "coordinates #1", "PART_ID #2", "PART_ID "]);
}

#[test]
fn equal_places_on_other_wafers_are_other_parts() {
    let wir = |id: &str| vec![V::U1(1), V::U1(255), V::U4(2000), cn(id)];
    let file = file()
        .add("WIR", &wir("1"))
        .part(0, (1, 1), "")
        .add("WRR", &wrr("1"))
        .add("WIR", &wir("2"))
        .part(0b10, (1, 1), "")
        .add("WRR", &wrr("2"));
    assert!(results(file).iter().all(|line| !line.contains("retestOf")));
}

#[test]
fn bins_have_the_names_that_come_at_the_end() {
    let file = file()
        .pir(1, 1)
        .prr(0, (1, 65_535), NONE, 0, "A")
        .pir(1, 1)
        .prr(8, (2, 7), NONE, 0, "B")
        .add("HBR", &[V::U1(255), V::U1(1), V::U2(1), V::U4(1), c("P"), cn("good")])
        .add("HBR", &[V::U1(255), V::U1(1), V::U2(2), V::U4(1), c("F"), cn("bad")])
        .add("SBR", &[V::U1(255), V::U1(1), V::U2(7), V::U4(1), c("F"), cn("leak")]);
    let lines = results(file);
    assert!(lines[0].contains("| HARD_BIN=1 HBIN_NAM=good"), "{}", lines[0]);
    assert!(!lines[0].contains("SBIN") && !lines[0].contains("SOFT_BIN"), "{}", lines[0]);
    assert!(lines[1].contains("HBIN_NAM=bad"), "{}", lines[1]);
    assert!(lines[1].contains("SBIN_NAM=leak") && lines[1].contains("SOFT_BIN=7"), "{}", lines[1]);
}

#[test]
fn a_lot_is_a_work_item() {
    let bench = Bench::new();
    let file = File::new(ByteOrder::Big).add("VUR", &[cn("V4-2007")]);
    let lot = File::lot(ByteOrder::Big);
    let file = File { bytes: [file.bytes, lot.bytes[6..].to_vec()].concat(), ..lot };
    let file = file
        .add("SDR", &[V::U1(1), V::U1(1), V::U1(1), V::U1(1), cn("prober"), cn("P-4")])
        .part(0, NONE, "A")
        .add("PCR", &[V::U1(255), V::U1(1), V::U4(1), V::U4(0), V::U4(0), V::U4(1)])
        .mrr();
    let report = bench.import(&file).unwrap();
    assert_eq!(report.warnings, [""; 0]);
    assert_eq!((report.results.len(), report.commits), (1, 1));
    let item = bench.work_item(&report);
    assert_eq!(item.name.as_deref(), Some("LOT-7"));
    assert_eq!(item.r#type.as_deref(), Some("STDF lot"));
    assert_eq!(item.part_number.as_deref(), Some("PART-9"));
    assert_eq!(item.test_program.as_deref(), Some("final"));
    assert_eq!(item.state.map(|state| state.as_str()), Some("CLOSED"));
    let properties = item.properties.unwrap();
    for (key, text) in [
        ("UPD_NAM", "V4-2007"),
        ("LOT_ID", "LOT-7"),
        ("JOB_REV", "B"),
        ("TSTR_TYP", "T2000"),
        ("SBLOT_ID", "sub-1"),
        ("OPER_NAM", "ada"),
        ("MODE_COD", "P"),
        ("START_T", "1970-01-01T00:16:40Z"),
        ("FINISH_T", "1970-01-01T01:23:20Z"),
        ("USR_DESC", "done"),
        ("SDR.HAND_ID", "P-4"),
        ("PCR.GOOD_CNT", "1"),
    ] {
        assert_eq!(properties.get(key).map(String::as_str), Some(text), "{key}");
    }
    for key in ["BURN_TIM", "RTST_COD", "stdf.unfinished", "stdf.cut"] {
        assert_eq!(properties.get(key), None, "{key}");
    }
    assert_eq!(properties.get("stdf.sha256").map(String::len), Some(64));
}

#[test]
fn options_change_the_import() {
    let bench = Bench::new();
    let file = file().part(0, NONE, "A").mrr();
    let first = bench.import(&file).unwrap();
    let error = bench.refusal(&file.bytes);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.resource(), Some(("WorkItem", first.work_item_id.as_str())));
    let options =
        ImportOptions::new().again(true).part_number("PN-2").workspace("line").time_zone("+01:00");
    let second = bench.import_with(&file.bytes, &options).unwrap();
    assert_ne!(first.work_item_id, second.work_item_id);
    let line = bench.results(&second).remove(0);
    assert!(line.contains("part=PN-2") && line.contains("at Some(-2600000)"), "{line}");
    let result = bench.session_result(&second);
    assert_eq!(result.workspace.as_deref(), Some("line"));
    assert_eq!(bench.work_item(&second).workspace.as_deref(), Some("line"));
    let options = ImportOptions::new().again(true).time_zone("somewhere");
    assert!(bench.import_with(&file.bytes, &options).is_err());
}

/// The counts of the end of a file, and the warnings that they give for two parts of which one was
/// tested again.
#[test]
fn counts_are_compared() {
    let parts = || file().part(8, NONE, "A").part(0, NONE, "B").part(1, NONE, "A");
    let bin = |kind: &str, site: u8, bin: u16, count: u32| {
        parts().add(kind, &[V::U1(site), V::U1(1), V::U2(bin), V::U4(count), c("P"), cn("")])
    };
    let pcr = |counts: [u32; 4]| {
        let counts = counts.map(V::U4);
        parts().add("PCR", &[&[V::U1(255), V::U1(1)], counts.as_slice()].concat())
    };
    let unknown = u32::MAX;
    let tsr = |executed: u32, failed: u32| {
        let test = [V::U1(255), V::U1(1), c("P"), V::U4(7), V::U4(executed), V::U4(failed)];
        let tests = file().pir(1, 1).ptr(7, (0, 0), 1.0, "t").ptr(7, (0x80, 0), 1.0, "t");
        // Not executed, and without a verdict.
        let tests = tests.ptr(7, (0x10, 0), 1.0, "t").ptr(7, (0xc0, 0), 1.0, "t");
        tests.prr(0, (1, 1), NONE, 0, "A").add("TSR", &test)
    };
    let table: Vec<(File, &[&str])> = vec![
        // Both ways of counting parts that were tested again are right.
        (bin("HBR", 255, 1, 3), &[]),
        (bin("HBR", 1, 1, 2), &[]),
        (bin("HBR", 255, 1, 4), &["HBIN_CNT of bin 1 of all sites is 4, and 3 were read"]),
        (bin("HBR", 2, 1, 3), &["HBIN_CNT of bin 1 of head 2, site 1 is 3, and 0 were read"]),
        (bin("SBR", 255, 9, 1), &["SBIN_CNT of bin 9 of all sites is 1, and 0 were read"]),
        (pcr([3, 1, 0, 2]), &[]),
        (pcr([2, unknown, unknown, unknown]), &[]),
        (
            pcr([5, 0, 1, 0]),
            &[
                "ABRT_CNT of all sites is 1, and 0 were read",
                "GOOD_CNT of all sites is 0, and 2 were read",
                "PART_CNT of all sites is 5, and 3 were read",
                "RTST_CNT of all sites is 0, and 1 were read",
            ],
        ),
        (tsr(3, 1), &[]),
        (tsr(unknown, unknown), &[]),
        (
            tsr(4, 0),
            &[
                "EXEC_CNT of test 7 of all sites is 4, and 3 were read",
                "FAIL_CNT of test 7 of all sites is 0, and 1 were read",
            ],
        ),
    ];
    let bench = Bench::new();
    for (file, warnings) in table {
        let file = file.mrr();
        let report = bench.import_with(&file.bytes, &ImportOptions::new().again(true)).unwrap();
        assert_eq!(report.warnings, warnings);
    }
}

#[test]
fn what_does_not_belong_together_is_warned_of() {
    let bench = Bench::new();
    let mut odd = file().ptr(1, (0, 0), 1.0, "t").pir(1, 1).pir(1, 1).ptr(1, (0, 0), 1.0, "t");
    odd.raw((180, 1), b"own");
    let odd = odd
        .prr(0, (1, 1), NONE, 0, "A")
        .prr(0, (1, 1), NONE, 0, "B")
        .pir(1, 2)
        .add("WRR", &wrr("W"))
        .mrr();
    let report = bench.import(&odd).unwrap();
    assert_eq!(report.results.len(), 2);
    assert_eq!((bench.steps(&report, 0).len(), bench.steps(&report, 1).len()), (1, 0));
    let counted: Vec<&str> = report
        .warnings
        .iter()
        .map(|warning| warning.split(", first at byte").next().unwrap())
        .collect();
    assert_eq!(
        counted,
        [
            "1 PRR have no PIR",
            "1 WRR have no WIR",
            "2 parts have no PRR and were left out",
            "1 records of unknown types were left out",
            "1 tests are of no part and were left out",
        ]
    );
}
