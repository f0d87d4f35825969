//! A file of 3 GiB is uploaded and downloaded, and memory does not grow with it.
//!
//! The test needs that much disk space while it runs.

use std::io::{self, Read, Seek, SeekFrom, Write};

use stationdb::files::{FileService, GetFilesRequest, UploadFileRequest};
use stationdb::{Control, Identity, Store};

const LEN: u64 = 3 * 1024 * 1024 * 1024 + 12_345;
const MEMORY_KIB: u64 = 64 * 1024;

/// Bytes that are computed from their offset, without a file.
struct Sparse(u64);

fn word(at: u64) -> [u8; 8] {
    (at / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

impl Read for Sparse {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = usize::try_from((LEN - self.0).min(buffer.len() as u64)).unwrap();
        // Nearly all zeros, with a mark in each 64 KiB, so that the source costs almost no time.
        buffer[..count].fill(0);
        let mark = self.0.next_multiple_of(65_536);
        if let Some(room) = buffer[..count].get_mut((mark - self.0) as usize..) {
            let len = room.len().min(8);
            room[..len].copy_from_slice(&word(mark)[..len]);
        }
        self.0 += count as u64;
        Ok(count)
    }
}

struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Peak and present memory of this process, if the system reports them.
fn memory_kib(line: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|text| text.starts_with(line))?.split_whitespace().nth(1)?.parse().ok()
}

/// Bytes that this process has read from files, if the system reports them.
fn read_bytes() -> Option<u64> {
    let io = std::fs::read_to_string("/proc/self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar:"))?.trim().parse().ok()
}

#[test]
fn three_gibibytes_stream_in_and_out_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::options().maintenance_thread(false).open(dir.path()).unwrap();
    let session = store.session(Identity::user("ada"));
    let idle = memory_kib("VmRSS:");
    let request = UploadFileRequest::new().name("large");
    let begun = std::time::Instant::now();
    let id = session.upload_file(&mut Sparse(0), request, &Control::default()).unwrap();
    let up = begun.elapsed();
    let mut target = Counting(0);
    assert_eq!(session.download_file(&id, &mut target, &Control::default()).unwrap(), LEN);
    let down = begun.elapsed() - up;
    assert_eq!(target.0, LEN);
    let file = session.get_files(GetFilesRequest::default()).unwrap().available_files.remove(0);
    assert_eq!((file.size, file.size64), (-1, LEN as i64));
    let read_before = read_bytes();
    let mut handle = session.open_file(&id).unwrap();
    for block in [0, 1, 17, 40_000, 49_151] {
        let mut read = [0; 8];
        handle.seek(SeekFrom::Start(block * 65_536)).unwrap();
        handle.read_exact(&mut read).unwrap();
        assert_eq!(read, word(block * 65_536));
    }
    if let (Some(before), Some(after)) = (read_before, read_bytes()) {
        // One block for each range, the header of the file, and the bytes that the record file and
        // this measurement itself read.
        assert!(after - before < 6 * 65_536, "{} bytes were read for five ranges", after - before);
    }
    println!(
        "3 GiB: {up:.1?} in, {down:.1?} out, idle {idle:?} KiB, peak {:?} KiB",
        memory_kib("VmHWM:")
    );
    if let (Some(idle), Some(peak)) = (idle, memory_kib("VmHWM:")) {
        assert!(peak - idle <= MEMORY_KIB, "{peak} KiB at the peak, {idle} KiB idle");
    }
}
