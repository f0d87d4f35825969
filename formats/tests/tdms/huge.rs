//! A file of any size is read in the memory of a small one, and none of it is kept.

use std::io::{Read, Seek, SeekFrom};

use stationdb::Control;
use stationdb::arrow::array::AsArray;
use stationdb::arrow::datatypes::{Float64Type, Int64Type};
use stationdb::tables::{ImportTableRequest, TableSchema, TableSource};
use stationdb_formats::tdms::{TdmsOptions, tables};

use crate::bytes::{F64, I64, NO_DATA, RAW, WHOLE, metadata, object, segment_of, values};

/// Rows of a segment: few enough that values are read through the blocks that are kept.
const ROWS: u64 = 2_000;
/// Bytes of the raw data of a segment.
const DATA: u64 = ROWS * 16;
const LEAD_IN: u64 = 28;

/// A file whose bytes are computed when they are read: two channels, whose value is the number of the
/// row. Only the first segment has metadata.
struct Generated {
    first: Vec<u8>,
    other: Vec<u8>,
    segments: u64,
    at: u64,
}

impl Generated {
    fn new(segments: u64) -> Self {
        let objects = metadata(&[
            object("/'g'", &NO_DATA, &[]),
            object("/'g'/'v'", &values(F64, ROWS), &[]),
            object("/'g'/'n'", &values(I64, ROWS), &[]),
        ]);
        let head = |contents, metadata: &[u8]| {
            let next = metadata.len() as u64 + DATA;
            segment_of(contents, metadata, &[], Some(next))
        };
        Self { first: head(WHOLE, &objects), other: head(RAW, &[]), segments, at: 0 }
    }

    fn len(&self) -> u64 {
        self.first.len() as u64 + DATA + (self.segments - 1) * (LEAD_IN + DATA)
    }

    /// The number of the segment at a position, its head, and the position in it.
    fn place(&self, at: u64) -> (u64, &[u8], u64) {
        let first = self.first.len() as u64 + DATA;
        match at.checked_sub(first) {
            None => (0, &self.first, at),
            Some(rest) => (1 + rest / (LEAD_IN + DATA), &self.other, rest % (LEAD_IN + DATA)),
        }
    }
}

impl Read for Generated {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() && self.at < self.len() {
            let (segment, head, within) = self.place(self.at);
            let out = &mut out[filled..];
            let taken = if within < head.len() as u64 {
                let rest = &head[within as usize..];
                let taken = rest.len().min(out.len());
                out[..taken].copy_from_slice(&rest[..taken]);
                taken
            } else {
                let data = within - head.len() as u64;
                let row = segment * ROWS + data / 8 % ROWS;
                let value =
                    if data / 8 < ROWS { (row as f64).to_le_bytes() } else { row.to_le_bytes() };
                let from = (data % 8) as usize;
                let taken = (8 - from).min(out.len());
                out[..taken].copy_from_slice(&value[from..from + taken]);
                taken
            };
            filled += taken;
            self.at += taken as u64;
        }
        Ok(filled)
    }
}

impl Seek for Generated {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(back) => self.len().checked_add_signed(back).unwrap(),
            SeekFrom::Current(by) => self.at.checked_add_signed(by).unwrap(),
        };
        Ok(self.at)
    }
}

/// Reads a file of so many segments, and compares each value. Returns the number of rows.
fn read(segments: u64) -> u64 {
    let (control, request) = (Control::default(), ImportTableRequest::new());
    let mut tables = tables(&request, Box::new(Generated::new(segments)), TdmsOptions::new());
    assert!(tables.advance(&control).unwrap());
    let rows = tables.table().unwrap().rows;
    let schema = TableSchema::with_default_limit(rows.columns().unwrap()).unwrap();
    let mut row = 0;
    while let Some(batch) = rows.next_batch(&schema, &control).unwrap() {
        let v = batch.column_by_name("v").unwrap().as_primitive::<Float64Type>().values();
        let n = batch.column_by_name("n").unwrap().as_primitive::<Int64Type>().values();
        assert!(batch.num_rows() <= 64 * 1024);
        for (at, (v, n)) in v.iter().zip(n).enumerate() {
            assert_eq!((*v, *n), ((row + at) as f64, (row + at) as i64));
        }
        row += batch.num_rows();
    }
    assert_eq!(row as u64, segments * ROWS);
    assert!(!tables.advance(&control).unwrap());
    row as u64
}

/// The peak of resident memory of this process, in KiB.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_huge_file_is_read_in_the_memory_of_a_small_one() {
    const CHILD: &str = "STATIONDB_TDMS_HUGE_CHILD";
    let huge = (crate::sizes::size("tdms_bytes") / DATA).max(8);
    if std::env::var_os(CHILD).is_none() {
        // Alone in a process, so that other tests do not count.
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "huge::a_huge_file_is_read_in_the_memory_of_a_small_one"])
            .args(["--nocapture", "--test-threads=1"])
            .env(CHILD, "1")
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("1 passed"), "{text}");
        println!("{}", text.lines().filter(|line| line.contains("counted")).collect::<String>());
        return;
    }
    // Both are larger than the blocks that are kept.
    read(1_500);
    let small = peak();
    let rows = read(huge.max(2_000));
    let large = peak();
    assert!(large - small < 8 * 1024, "{small} KiB, then {large} KiB");
    println!(
        "counted: {rows} rows, {} MiB of file, {small} KiB then {large} KiB",
        huge * DATA >> 20
    );
}
