use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_128;

use super::format::{BLOCK_BYTES, CHECK_BYTES, CHECKS_BYTES, PIECE_BYTES, block_offset, path};
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
    let content = bytes(BLOCK_BYTES + PIECE_BYTES + 100);
    let info = put(&blobs, 7, &content);
    let file = disk.open(&path(7), Mode::ReadWrite).unwrap();
    let len = file.len().unwrap();
    let kind = |read: io::Result<()>| {
        read.map_err(|error| error.get_ref().unwrap().downcast_ref::<Error>().unwrap().kind())
    };
    // Part of a piece by itself, the rest of a block after a read before it, and a whole block with
    // and without room for its checksums. The first tells which pieces the others need.
    let read = |from: usize, len: usize| {
        let mut reader = blobs.read(7, info.len).unwrap();
        reader.seek(SeekFrom::Start(from as u64)).unwrap();
        let mut out = vec![0; len];
        let read = reader.read_exact(&mut out);
        read.map(|()| assert_eq!(out, content[from..from + len]))
    };
    for at in (0..len).step_by(997).chain(0..16).chain(len - 112..len) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let error = blobs.check(&info, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}");
        let Some(in_first) = at.checked_sub(block_offset(0)) else {
            file.write_all_at(&byte, at).unwrap();
            continue;
        };
        let (block, in_block) = match at.checked_sub(block_offset(1)) {
            Some(in_block) => (1, in_block as usize),
            None => (0, in_first as usize),
        };
        let held = [BLOCK_BYTES, PIECE_BYTES + 100][block];
        let piece = match in_block.checked_sub(held) {
            None => in_block / PIECE_BYTES,
            Some(in_checks) => in_checks / CHECK_BYTES,
        };
        let piece = block * (BLOCK_BYTES / PIECE_BYTES) + piece;
        for start in (0..content.len()).step_by(PIECE_BYTES) {
            let is_damaged = start == piece * PIECE_BYTES;
            let expected = if is_damaged { Err(ErrorKind::Corrupt) } else { Ok(()) };
            // The first byte begins a sequence of reads.
            let from = start + 50;
            if start > 0 {
                assert_eq!(kind(read(from, 20)), expected, "byte {at}, read of {from}");
            }
        }
        let start = block * BLOCK_BYTES;
        for room in [held, held + CHECKS_BYTES, 100] {
            let mut reader = blobs.read(7, info.len).unwrap();
            let mut out = vec![0; room];
            if block == 1 {
                reader.read_at(&mut vec![0; BLOCK_BYTES], 0).unwrap();
            }
            // What was read and refused is not returned by the next read either.
            for _ in 0..2 {
                let error = reader.read_at(&mut out, start as u64).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}, read of a block");
            }
        }
        file.write_all_at(&byte, at).unwrap();
    }
    blobs.check(&info, &Control::default()).unwrap();
}

/// Pieces with sound checksums in the place of others: of the same file and of another.
#[test]
fn a_misplaced_piece_is_found() {
    let (disk, blobs) = store();
    let content = bytes(2 * BLOCK_BYTES);
    let infos = [put(&blobs, 1, &content), put(&blobs, 2, &content)];
    let open = |id| disk.open(&path(id), Mode::ReadWrite).unwrap();
    let place = |block: u64, piece: usize| {
        let start = block_offset(block);
        (start + (piece * PIECE_BYTES) as u64, start + (BLOCK_BYTES + piece * CHECK_BYTES) as u64)
    };
    let moved = |from: (u64, u64, usize), to: (u64, u64, usize)| {
        let (source, target) = (open(from.0), open(to.0));
        let kept = crate::disk::read_file(&*disk, &path(to.0), u64::MAX).unwrap();
        let ((bytes, check), (bytes_to, check_to)) = (place(from.1, from.2), place(to.1, to.2));
        let mut piece = [0; PIECE_BYTES];
        source.read_exact_at(&mut piece, bytes).unwrap();
        target.write_all_at(&piece, bytes_to).unwrap();
        let mut piece = [0; CHECK_BYTES];
        source.read_exact_at(&mut piece, check).unwrap();
        target.write_all_at(&piece, check_to).unwrap();
        let mut out = vec![0; 10];
        let at = to.1 * BLOCK_BYTES as u64 + (to.2 * PIECE_BYTES) as u64 + 7;
        let read = blobs.read(to.0, infos[0].len).unwrap().read_at(&mut out, at);
        assert_eq!(read.unwrap_err().kind(), ErrorKind::Corrupt, "{from:?} in {to:?}");
        target.write_all_at(&kept, 0).unwrap();
        blobs.check(&infos[to.0 as usize - 1], &Control::default()).unwrap();
    };
    moved((1, 0, 3), (1, 0, 4));
    moved((1, 0, 3), (1, 1, 3));
    moved((2, 1, 5), (1, 1, 5));
}

/// A backup compares the checksums of a file with those of its copy.
#[test]
fn the_checksums_are_where_the_length_tells() {
    let (disk, blobs) = store();
    for (id, len) in [0, 1, 4096, 4097, 65_535, 65_536, 65_537, 200_000].into_iter().enumerate() {
        let id = id as u64;
        put(&blobs, id, &bytes(len));
        let file = crate::disk::read_file(&*disk, &path(id), u64::MAX).unwrap();
        let mut content = file.clone();
        let mut checks = Vec::new();
        for range in format::check_ranges(file.len() as u64).collect::<Vec<_>>().into_iter().rev() {
            let range = range.start as usize..range.end as usize;
            checks.splice(0..0, content.drain(range));
        }
        assert_eq!(content[format::HEADER_BYTES..], bytes(len), "{len}");
        let expected: Vec<u8> = format::checksums(id, 0, &bytes(len)).flatten().collect();
        assert_eq!(checks, expected, "{len}");
        assert_eq!(checks.len(), len.div_ceil(PIECE_BYTES) * CHECK_BYTES);
    }
    // No length makes a range outside of the file.
    for len in 0..70_000 {
        assert!(
            format::check_ranges(len).all(|range| range.start <= range.end && range.end <= len)
        );
    }
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
    let block = (BLOCK_BYTES + CHECKS_BYTES) as u64;
    let piece = (PIECE_BYTES + CHECK_BYTES) as u64;
    let mut range = |from: usize, len: usize, most: u64| {
        let mut out = vec![0; len];
        reader.seek(SeekFrom::Start(from as u64)).unwrap();
        reader.read_exact(&mut out).unwrap();
        let whole = [content.as_slice(), &content].concat();
        assert_eq!(out, whole[from..from + len]);
        let count = read.swap(0, Ordering::SeqCst);
        assert!(count <= most, "{count} bytes were read for {len} from {from}");
    };
    range(70 * BLOCK_BYTES + 5, 1, piece);
    range(70 * BLOCK_BYTES + 9, PIECE_BYTES - 9, 0);
    range(70 * BLOCK_BYTES + 3 * PIECE_BYTES + 1, PIECE_BYTES, 2 * piece);
    // What follows is the rest of the block.
    range(70 * BLOCK_BYTES + 4 * PIECE_BYTES + 1, 10, 0);
    range(70 * BLOCK_BYTES + 5 * PIECE_BYTES, 10, piece);
    range(70 * BLOCK_BYTES + 5 * PIECE_BYTES + 10, PIECE_BYTES, block);
    range(70 * BLOCK_BYTES + 8 * PIECE_BYTES, 8 * PIECE_BYTES, 0);
    range(3 * BLOCK_BYTES, BLOCK_BYTES, block);
    range(5 * BLOCK_BYTES - 1, 2, piece + block);
    range(9 * BLOCK_BYTES + 7, 20 * BLOCK_BYTES, 21 * block);
    range(40 * BLOCK_BYTES, 3 * BLOCK_BYTES + 100, 4 * block);
    range(98 * BLOCK_BYTES, 2 * BLOCK_BYTES + 40, 4 * block);
    // The last bytes of one part and the first of the next.
    range(content.len() - 4, 8, piece + block);
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
