//! Compressed files that become very many bytes, and files that are filled up with zeros.

use std::io::{self, Read, Write};

use stationdb::{Control, ErrorKind};
use stationdb_formats::stdf::{self, ByteOrder, ImportOptions};

use super::Bench;
use super::builder::File;

/// What compression makes of a MiB.
const MIB: usize = 1024 * 1024;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file of one part, with its end.
fn lot() -> File {
    File::lot(ByteOrder::Little).pir(1, 1).prr(0, (1, 1), (1, 2), 100, "A").mrr()
}

/// Bytes that are repeated, of which is counted how many were read.
struct Repeated {
    first: Vec<u8>,
    again: Vec<u8>,
    at: usize,
    left: usize,
    reads: usize,
    cancel_at: Option<(usize, Control)>,
}

impl Read for Repeated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if let Some((at, control)) = &self.cancel_at
            && self.reads == *at
        {
            control.cancel();
        }
        for (count, byte) in out.iter_mut().enumerate() {
            if self.at == self.first.len() {
                if self.left == 0 {
                    return Ok(count);
                }
                (self.left, self.at) = (self.left - 1, 0);
                self.first.clone_from(&self.again);
            }
            *byte = self.first[self.at];
            self.at += 1;
        }
        Ok(out.len())
    }
}

fn repeated(first: Vec<u8>, again: Vec<u8>, left: usize) -> Repeated {
    Repeated { first, again, at: 0, left, reads: 0, cancel_at: None }
}

#[test]
fn a_small_file_that_becomes_very_many_bytes_is_refused_early() {
    let bench = Bench::new();
    // Records of a type of the tester's maker without any field, and zeros.
    let records = [0u8, 0, 180, 1].repeat(MIB / 4);
    for pack in [gzip as fn(&[u8]) -> Vec<u8>, bzip2] {
        for bytes in [&records[..], &[0; MIB]] {
            let mut input = repeated(pack(&lot().bytes), pack(bytes), 100_000);
            let options = ImportOptions::new();
            let error = stdf::import(&bench.session, &mut input, &options, &Control::default())
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
            assert!(error.message().contains("500 times"), "{error}");
            assert!(input.left > 90_000, "{} of 100,000 MiB are left", input.left);
        }
    }
    assert_eq!(bench.counts().0, 0);
    // As many bytes that are not as small before.
    let noise: Vec<u8> =
        (0u32..1 << 16).flat_map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let mut body = Vec::new();
    for part in noise.chunks(1 << 14) {
        body.extend((part.len() as u16).to_le_bytes());
        body.extend([180, 1]);
        body.extend(part);
    }
    let mut input = repeated(gzip(&lot().bytes), gzip(&body), 68);
    let control = Control::default();
    let report = stdf::import(&bench.session, &mut input, &ImportOptions::new(), &control).unwrap();
    assert_eq!((report.results.len(), input.left), (1, 0));
}

/// Members of gzip that have nothing give the reader no bytes, and end by the control all the same.
#[test]
fn an_import_is_cancelled_inside_of_decompression() {
    let bench = Bench::new();
    let control = Control::default();
    let mut input = repeated(gzip(&lot().bytes), gzip(b""), 4 * MIB);
    input.cancel_at = Some((5, control.clone()));
    let options = ImportOptions::new();
    let error = stdf::import(&bench.session, &mut input, &options, &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(input.reads < 8, "{} reads", input.reads);
    let late = Control::default().with_deadline(std::time::Instant::now());
    let mut input = repeated(gzip(&lot().bytes), gzip(b""), 4 * MIB);
    let error = stdf::import(&bench.session, &mut input, &options, &late).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error}");
    assert!(input.reads < 3, "{} reads", input.reads);
    assert_eq!(bench.counts().0, 0);
}

#[test]
fn zeros_behind_the_records_are_told_and_left_out() {
    let bench = Bench::new();
    let mut file = lot();
    let end = file.bytes.len();
    file.bytes.extend([0; 70_000]);
    let report = bench.import(&file).unwrap();
    assert_eq!(report.results.len(), 1);
    assert_eq!(
        report.warnings,
        [format!(
            "from byte {end} on the file has zeros instead of records; what follows is left out"
        )]
    );
    let properties = bench.work_item(&report).properties.unwrap();
    assert!(!properties.contains_key("stdf.cut"), "{properties:?}");
    // It is the same file the next time, and another one with other zeros.
    let options = ImportOptions::new();
    let mut slow = repeated(file.bytes.clone(), Vec::new(), 0).take(u64::MAX);
    let error = stdf::import(&bench.session, &mut slow, &options, &Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    file.bytes.push(0);
    assert!(bench.import(&file).is_ok());
    // Zeros instead of the end.
    let cut = File::lot(ByteOrder::Big).pir(1, 1).prr(0, (1, 1), (1, 2), 100, "A");
    let mut cut = cut;
    cut.bytes.extend([0; 512]);
    let report = bench.import(&cut).unwrap();
    let told = report.warnings.join("\n");
    assert!(told.contains("zeros instead of records") && told.contains("no MRR"), "{told}");
}
