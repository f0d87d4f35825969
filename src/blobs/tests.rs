use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_128;

use super::format::{BLOCK_BYTES, block_offset, path};
use super::*;
use crate::disk::{CountingDisk, Disk, MemoryDisk, Mode};
use crate::error::{Error, ErrorKind};
use crate::value::Control;

fn store() -> (Arc<MemoryDisk>, BlobStore) {
    let disk = Arc::new(MemoryDisk::new());
    let blobs = BlobStore::open(disk.clone()).unwrap();
    (disk, blobs)
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect()
}

fn put(blobs: &BlobStore, id: u64, content: &[u8]) -> BlobInfo {
    blobs.put(id, &mut &*content, None, &Control::default()).unwrap()
}

#[test]
fn what_goes_in_comes_out_at_every_length() {
    let (_disk, blobs) = store();
    let lengths = [
        0,
        1,
        BLOCK_BYTES - 1,
        BLOCK_BYTES,
        BLOCK_BYTES + 1,
        8 * BLOCK_BYTES,
        17 * BLOCK_BYTES + 5,
    ];
    for (id, len) in lengths.into_iter().enumerate() {
        let content = bytes(len);
        let info = put(&blobs, id as u64, &content);
        assert_eq!((info.len, info.hash), (len as u64, xxh3_128(&content)));
        let mut out = Vec::new();
        let mut reader = blobs.read(info.id, info.len).unwrap();
        reader.copy_to(&mut out, Some(info.hash), &Control::default()).unwrap();
        assert_eq!(out, content);
        let entry =
            blobs.list().unwrap().into_iter().find(|entry| entry.id == Some(id as u64)).unwrap();
        assert_eq!(entry.file_len, BlobStore::file_len(info.len));
        // Written in pieces of odd length, the bytes on disk are the same.
        let mut writer = blobs.writer(1000 + id as u64).unwrap();
        content.chunks(10_007).for_each(|piece| writer.write(piece).unwrap());
        assert_eq!(writer.finish().unwrap().hash, info.hash);
        let mut out = Vec::new();
        blobs.read(1000 + id as u64, info.len).unwrap().read_to_end(&mut out).unwrap();
        assert_eq!(out, content);
    }
}

#[test]
fn ranges_are_those_of_the_content_across_blocks_and_parts() {
    let (_disk, blobs) = store();
    let content = bytes(5 * BLOCK_BYTES + 77);
    let (left, right) = content.split_at(2 * BLOCK_BYTES + 5);
    let parts = [put(&blobs, 1, left), put(&blobs, 2, &[]), put(&blobs, 3, right)];
    let mut readers = [
        ContentReader::parts(&blobs, &[put(&blobs, 4, &content)]).unwrap(),
        ContentReader::parts(&blobs, &parts).unwrap(),
        ContentReader::small(content.clone(), xxh3_128(&content)).unwrap(),
    ];
    for reader in &mut readers {
        assert_eq!(reader.len(), content.len() as u64);
        for (from, len) in [
            (0, 10),
            (BLOCK_BYTES - 3, 7),
            (2 * BLOCK_BYTES, 20),
            (content.len() - 4, 4),
            (9, 200_000),
        ] {
            reader.seek(SeekFrom::Start(from as u64)).unwrap();
            let mut out = vec![0; len];
            reader.read_exact(&mut out).unwrap();
            assert_eq!(out, content[from..from + len]);
        }
        assert_eq!(reader.seek(SeekFrom::End(-1)).unwrap(), content.len() as u64 - 1);
        assert_eq!(reader.seek(SeekFrom::Current(100)).unwrap(), content.len() as u64 + 99);
        assert_eq!(reader.read(&mut [0; 4]).unwrap(), 0);
        assert!(reader.seek(SeekFrom::End(-1_000_000_000)).is_err());
        let mut out = Vec::new();
        reader.copy_to(&mut out, &Control::default()).unwrap();
        assert_eq!(out, content);
    }
}

#[test]
fn every_flipped_bit_is_found_by_the_read_that_needs_it() {
    let (disk, blobs) = store();
    let content = bytes(BLOCK_BYTES + 100);
    let info = put(&blobs, 7, &content);
    let file = disk.open(&path(7), Mode::ReadWrite).unwrap();
    let len = file.len().unwrap();
    for at in (0..len).step_by(997).chain(0..16).chain(len - 104..len) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let error = blobs.check(&info, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}");
        if at >= block_offset(1) {
            // The first block is undamaged, and a read of it alone succeeds.
            let mut start = [0; 100];
            blobs.read(7, info.len).unwrap().read_exact(&mut start).unwrap();
            assert_eq!(start, content[..100]);
        } else if at >= block_offset(0) {
            // Through the reader's own buffer, and directly into a buffer with room for the
            // checksum.
            for room in [100, BLOCK_BYTES + format::CHECK_BYTES] {
                let error = blobs.read(7, info.len).unwrap().read(&mut vec![0; room]).unwrap_err();
                let own = error.get_ref().unwrap().downcast_ref::<Error>().unwrap();
                assert_eq!(own.kind(), ErrorKind::Corrupt);
            }
        }
        file.write_all_at(&byte, at).unwrap();
    }
    blobs.check(&info, &Control::default()).unwrap();
}

#[test]
fn blobs_in_the_place_of_others_and_of_other_lengths_are_found() {
    let (disk, blobs) = store();
    let one = put(&blobs, 1, &bytes(100));
    put(&blobs, 2, &bytes(100));
    disk.rename(&path(2), &path(1)).unwrap();
    assert_eq!(blobs.read(1, one.len).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(blobs.read(2, 100).unwrap_err().kind(), ErrorKind::NotFound);
    put(&blobs, 3, &bytes(100));
    assert_eq!(blobs.read(3, 99).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_refused_or_failed_upload_leaves_nothing() {
    let (_disk, blobs) = store();
    let control = Control::default();
    let content = bytes(3 * BLOCK_BYTES);
    let over = blobs.put(1, &mut &*content, Some(content.len() as u64 - 1), &control).unwrap_err();
    assert_eq!(over.kind(), ErrorKind::LimitExceeded);
    assert!(blobs.put(2, &mut &*content, Some(content.len() as u64), &control).is_ok());
    struct Failing(u64);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 20 {
                Err(io::Error::other("unplugged"))
            } else {
                Ok(buffer.len().min(10_000))
            }
        }
    }
    assert_eq!(blobs.put(3, &mut Failing(0), None, &control).unwrap_err().kind(), ErrorKind::Io);
    drop(blobs.writer(4).unwrap());
    let stopping = Control::default();
    let seen = Arc::new(AtomicU64::new(0));
    let (flag, count) = (stopping.clone(), seen.clone());
    let watched = stopping.clone().with_progress(move |progress| {
        count.store(progress.done, Ordering::SeqCst);
        flag.cancel();
    });
    assert_eq!(
        blobs.put(5, &mut &*content, None, &watched).unwrap_err().kind(),
        ErrorKind::Cancelled
    );
    assert_eq!(seen.load(Ordering::SeqCst), BLOCK_BYTES as u64);
    let left: Vec<Option<u64>> = blobs.list().unwrap().into_iter().map(|entry| entry.id).collect();
    assert_eq!(left, [Some(2)]);
    // The ids can be used again, but not an id whose file exists.
    put(&blobs, 3, &content);
    assert_eq!(blobs.put(2, &mut &*content, None, &control).unwrap_err().kind(), ErrorKind::Io);
    blobs.check(&put(&blobs, 5, &content), &control).unwrap();
}

#[test]
fn a_reader_reads_on_after_the_removal() {
    let (_disk, blobs) = store();
    let content = bytes(2 * BLOCK_BYTES);
    put(&blobs, 1, &content);
    let mut reader = blobs.read(1, content.len() as u64).unwrap();
    blobs.delete(&[1, 99]).unwrap();
    blobs.delete(&[1]).unwrap();
    let mut out = Vec::new();
    reader.read_to_end(&mut out).unwrap();
    assert_eq!(out, content);
    assert_eq!(blobs.read(1, content.len() as u64).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn strays_are_listed_without_an_id() {
    let (disk, blobs) = store();
    put(&blobs, 0x1234, &[1]);
    assert_eq!(path(0x1234), "files/12/0000000000001234");
    disk.create_dir_all("files/zz").unwrap();
    for stray in ["files/zz/0000000000000001", "files/12/notes.txt", "files/loose"] {
        disk.open(stray, Mode::CreateNew).unwrap();
    }
    let listed = blobs.list().unwrap();
    assert_eq!(listed.iter().filter(|entry| entry.id.is_none()).count(), 3);
    assert_eq!(listed.iter().filter_map(|entry| entry.id).collect::<Vec<_>>(), [0x1234]);
}

#[test]
fn a_range_reads_the_blocks_that_it_lies_in_and_no_more() {
    let read = Arc::new(AtomicU64::new(0));
    let disk = CountingDisk { read: read.clone(), ..CountingDisk::default() };
    let blobs = BlobStore::open(Arc::new(disk)).unwrap();
    let content = bytes(100 * BLOCK_BYTES + 9);
    let parts = [put(&blobs, 1, &content), put(&blobs, 2, &content)];
    assert_eq!(read.swap(0, Ordering::SeqCst), 0, "writing reads nothing");
    let mut reader = ContentReader::parts(&blobs, &parts).unwrap();
    let header = format::HEADER_BYTES as u64;
    assert_eq!(read.swap(0, Ordering::SeqCst), 2 * header, "opening reads what tells a blob");
    let block = (BLOCK_BYTES + format::CHECK_BYTES) as u64;
    let mut range = |from: usize, len: usize, blocks: u64| {
        let mut out = vec![0; len];
        reader.seek(SeekFrom::Start(from as u64)).unwrap();
        reader.read_exact(&mut out).unwrap();
        let whole = [content.as_slice(), &content].concat();
        assert_eq!(out, whole[from..from + len]);
        let count = read.swap(0, Ordering::SeqCst);
        assert!(count <= blocks * block, "{count} bytes were read for {len} from {from}");
    };
    range(70 * BLOCK_BYTES + 5, 1, 1);
    range(70 * BLOCK_BYTES + 9, BLOCK_BYTES - 9, 0);
    range(3 * BLOCK_BYTES, BLOCK_BYTES, 1);
    range(5 * BLOCK_BYTES - 1, 2, 2);
    range(9 * BLOCK_BYTES + 7, 20 * BLOCK_BYTES, 21);
    range(40 * BLOCK_BYTES, 3 * BLOCK_BYTES + 100, 4);
    range(98 * BLOCK_BYTES, 2 * BLOCK_BYTES + 40, 4);
    // The last bytes of one part and the first of the next.
    range(content.len() - 4, 8, 2);
}

/// A file of an upload session has a part for each 10 MiB, and a process may be limited to a
/// thousand open files.
#[test]
fn content_of_many_parts_has_one_of_them_open() {
    let most_open = Arc::new(AtomicU64::new(0));
    let disk = CountingDisk { most_open: most_open.clone(), ..CountingDisk::default() };
    let blobs = BlobStore::open(Arc::new(disk)).unwrap();
    let content = bytes(300);
    let parts: Vec<BlobInfo> =
        content.iter().zip(0..).map(|(byte, id)| put(&blobs, id, &[*byte])).collect();
    most_open.store(0, Ordering::SeqCst);
    let mut reader = ContentReader::parts(&blobs, &parts).unwrap();
    let mut out = Vec::new();
    reader.read_to_end(&mut out).unwrap();
    assert_eq!(out, content);
    reader.verify(&Control::default()).unwrap();
    for at in [299, 0, 150, 150, 149] {
        let mut byte = [0];
        assert_eq!(reader.read_at(&mut byte, at).unwrap(), 1);
        assert_eq!(byte[0], content[at as usize]);
    }
    assert_eq!(most_open.load(Ordering::SeqCst), 1);
    let another = ContentReader::parts(&blobs, &parts[7..9]).unwrap();
    drop(reader);
    let held = |id| blobs.is_held(&path(id));
    assert_eq!(
        [held(6), held(7), held(8), held(9), blobs.is_held("files/7")],
        [false, true, true, false, false]
    );
    drop(another);
    assert!(!held(7));
    // A missing part is reported at once, whichever it is.
    blobs.delete(&[299]).unwrap();
    assert_eq!(ContentReader::parts(&blobs, &parts).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(!held(0));
}

#[test]
fn long_content_is_synced_beside_its_writing_and_a_failed_sync_ends_it() {
    use crate::disk::sim::{Fault, OpKind, Pick, SimDisk};
    let mebibytes = |count: u64| std::io::repeat(5).take(count * 1024 * 1024);
    let disk = SimDisk::new(1);
    let blobs = BlobStore::open(Arc::new(disk.clone())).unwrap();
    let control = Control::default();
    let syncs = |of: &str| {
        disk.trace().iter().filter(|entry| entry.kind == OpKind::Sync && &*entry.path == of).count()
    };
    blobs.put(1, &mut mebibytes(20), None, &control).unwrap();
    assert_eq!(syncs(&path(1)), 1, "short content is synced once");
    let long = blobs.put(2, &mut mebibytes(100), None, &control).unwrap();
    assert!(syncs(&path(2)) >= 2, "{}", syncs(&path(2)));
    blobs.check(&long, &control).unwrap();
    disk.inject(Pick::kind(OpKind::Sync).on_path(&path(3)).nth(1), Fault::DropDirty);
    let error = blobs.put(3, &mut mebibytes(100), None, &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert_eq!(syncs(&path(3)), 1, "it is not synced again after a sync that failed");
    assert!(blobs.list().unwrap().iter().all(|entry| entry.id != Some(3)));
}
