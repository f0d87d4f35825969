//! W7: files. 200 files of 1 MiB, each durable when its call returns, and one streamed file of 1
//! GiB. Then each is read into one buffer, verified by the store and summed by the reader.

use std::io::Read;
use std::time::Instant;

use stationdb::files::{FileService, GetFilesRequest, UploadFileRequest};
use stationdb::{Control, Identity, Store};

use crate::common::{Res, Scale, hash, median, timed};

const MIB: usize = 1 << 20;
const SMALL: usize = 200;
/// The column numbers of the generator, as in the peers' programs.
const SMALL_COLUMN: u64 = 90;
const BIG_COLUMN: u64 = 500;
const NOTE: &str = "a call a file, durable on return: blob, directory, record; every read verified; reads warm (page cache)";

fn fill(column: u64, len: usize) -> Vec<u8> {
    (0..(len / 8) as u64).flat_map(|row| hash(column, row).to_le_bytes()).collect()
}

fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks::<8>().0;
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

fn rate(bytes: usize, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds
}

/// Lets the disk finish earlier writes.
fn settle() -> Res<()> {
    // Optional: it only makes the figures more stable.
    let _ = std::process::Command::new("sync").status();
    Ok(())
}

fn named(name: String) -> UploadFileRequest {
    UploadFileRequest::new().name(name)
}

pub fn run(scale: &Scale) -> Res<()> {
    let big_len = scale.big_mib * MIB;
    let count = if scale.big_mib < 64 { 8 } else { SMALL };
    let small: Vec<Vec<u8>> = (0..count).map(|at| fill(SMALL_COLUMN + at as u64, MIB)).collect();
    let big = fill(BIG_COLUMN, big_len);
    let sums: Vec<u64> = small.iter().map(|bytes| sum(bytes)).collect();
    let big_sum = sum(&big);
    let control = Control::default();
    let (mut write_small, mut write_median, mut write_big) = (Vec::new(), Vec::new(), Vec::new());
    let (mut read_small, mut read_big, mut range) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..scale.repetitions {
        let store = Store::open(scale.scratch("w7")?.join("store"))?;
        let session = store.session(Identity::user("bench"));
        settle()?;
        let mut ids = Vec::new();
        let mut times = Vec::new();
        for (at, bytes) in small.iter().enumerate() {
            let (seconds, id) = timed(|| {
                Ok(session.upload_file(&mut bytes.as_slice(), named(format!("{at}")), &control)?)
            })?;
            ids.push(id);
            times.push(seconds);
        }
        write_small.push(rate(count * MIB, times.iter().sum()));
        write_median.push(median(&times) * 1e3);
        settle()?;
        // In pieces of 1 MiB, like a stream.
        let (seconds, big_id) = timed(|| {
            Ok(session.upload_file(
                &mut Pieces { rest: &big },
                named("big".to_owned()),
                &control,
            )?)
        })?;
        write_big.push(rate(big_len, seconds));

        let mut buffer = Vec::with_capacity(MIB);
        let (seconds, ()) = timed(|| {
            for (id, expected) in ids.iter().zip(&sums) {
                buffer.clear();
                session.download_file(id, &mut buffer, &control)?;
                assert_eq!(sum(&buffer), *expected);
            }
            Ok(())
        })?;
        read_small.push(rate(count * MIB, seconds));
        let mut buffer = vec![0; MIB];
        let (seconds, total) = timed(|| {
            let mut reader = session.open_file(&big_id)?;
            let mut total = 0u64;
            for _ in 0..big_len / MIB {
                reader.read_exact(&mut buffer)?;
                total = total.wrapping_add(sum(&buffer));
            }
            Ok(total)
        })?;
        assert_eq!(total, big_sum);
        read_big.push(rate(big_len, seconds));
        range.push(ranges(&session, &big_id, &big)?);
        let listed = session.get_files(GetFilesRequest::default())?;
        assert_eq!(listed.total_count, count as u64 + 1);
    }
    scale.emit("W7", "write_200x1MiB", &write_small, "MB/s", NOTE);
    scale.emit("W7", "write_1MiB_p50", &write_median, "ms", NOTE);
    scale.emit("W7", "write_1GiB", &write_big, "MB/s", NOTE);
    scale.emit("W7", "read_200x1MiB", &read_small, "MB/s", NOTE);
    scale.emit("W7", "read_1GiB", &read_big, "MB/s", NOTE);
    scale.emit(
        "W7",
        "read_4KiB_range_p50",
        &range,
        "us",
        "4 KiB anywhere in the large file, opened before",
    );
    Ok(())
}

/// Returns the median time of a short read at a random place of the large file, in microseconds.
fn ranges(session: &stationdb::Session, id: &str, big: &[u8]) -> Res<f64> {
    let mut reader = session.open_file(&id.into())?;
    let mut times = Vec::new();
    for draw in 0..200 {
        let from = usize::try_from(hash(600, draw))? % (big.len() - 4096);
        let mut buffer = [0; 4096];
        let began = Instant::now();
        let mut filled = 0;
        while filled < buffer.len() {
            filled += reader.read_at(&mut buffer[filled..], (from + filled) as u64)?;
        }
        times.push(began.elapsed().as_secs_f64() * 1e6);
        assert_eq!(buffer, big[from..from + 4096]);
    }
    Ok(median(&times))
}

/// A reader that returns at most 1 MiB at once.
struct Pieces<'b> {
    rest: &'b [u8],
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.rest.len().min(buffer.len()).min(MIB);
        let (now, rest) = self.rest.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.rest = rest;
        Ok(count)
    }
}
