//! The damage that tests do to a store.

use crate::store::tests::prelude::*;
use std::ops::Range;

const SECTOR: u64 = 512;

/// All files with their lengths.
pub(super) fn files(disk: &dyn Disk) -> Vec<(String, u64)> {
    walk(disk, "").unwrap()
}

pub(super) fn read(disk: &dyn Disk, path: &str) -> Vec<u8> {
    let file = disk.open(path, Mode::Read).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn write(disk: &dyn Disk, path: &str, at: u64, bytes: &[u8]) {
    disk.open(path, Mode::ReadWrite).unwrap().write_all_at(bytes, at).unwrap();
}

/// A copy of all files.
pub(super) fn copy(disk: &dyn Disk) -> Arc<MemoryDisk> {
    let copied = MemoryDisk::new();
    for (path, _) in files(disk) {
        copied.create_dir_all(parent(&path)).unwrap();
        copied.open(&path, Mode::CreateNew).unwrap().write_all_at(&read(disk, &path), 0).unwrap();
    }
    Arc::new(copied)
}

/// The kind of a damage, for the counts.
pub(super) type Kind = (&'static str, &'static str, &'static str);

#[derive(Clone, Debug)]
pub(super) enum Damage {
    Flip { path: String, at: u64, bit: u64 },
    ZeroSector { path: String, at: u64 },
    Cut { path: String, len: u64 },
    Missing { path: String },
    SwapSectors { path: String, at: u64, other: String, other_at: u64 },
    SwapFiles { path: String, other: String },
}

/// Bytes of a file that were changed.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) path: String,
    pub(super) range: Range<u64>,
}

impl Damage {
    /// Half of the damages are in the record file, the others in any file.
    pub(super) fn draw(random: &mut Random, disk: &MemoryDisk) -> Self {
        let files: Vec<(String, u64)> =
            files(disk).into_iter().filter(|(_, len)| *len > 0).collect();
        let any = |random: &mut Random| {
            files[usize::try_from(random.below(files.len() as u64)).unwrap()].clone()
        };
        let records = || files.iter().find(|(path, _)| path == "records.redb").unwrap().clone();
        let (path, len) = if random.below(2) == 0 { records() } else { any(random) };
        let sector = |random: &mut Random, len: u64| random.below(len.div_ceil(SECTOR)) * SECTOR;
        match random.below(12) {
            0..4 => Self::Flip { at: random.below(len), bit: random.below(8), path },
            4..8 => Self::ZeroSector { at: sector(random, len), path },
            8 => Self::Cut { len: random.below(len), path },
            9 if path != "records.redb" => Self::Missing { path },
            9 | 10 => {
                let (other, other_len) =
                    if random.below(3) > 0 { (path.clone(), len) } else { any(random) };
                Self::SwapSectors {
                    at: sector(random, len),
                    other_at: sector(random, other_len),
                    path,
                    other,
                }
            }
            _ => Self::SwapFiles { path, other: any(random).0 },
        }
    }

    pub(super) fn kind(&self, is_closed: bool) -> Kind {
        let (kind, path) = match self {
            Self::Flip { path, .. } => ("flip", path),
            Self::ZeroSector { path, .. } => ("zero sector", path),
            Self::Cut { path, .. } => ("cut", path),
            Self::Missing { path } => ("missing", path),
            Self::SwapSectors { path, .. } => ("swap of sectors", path),
            Self::SwapFiles { path, .. } => ("swap of files", path),
        };
        let file = match path.as_str() {
            path if path.starts_with("search") => "search/",
            path if path.starts_with("files") => "a content",
            path if path.ends_with(".parquet") => "a .parquet",
            path if path.ends_with(".summary") => "a .summary",
            "records.redb" => "records.redb",
            _ => "FORMAT, LOCK",
        };
        (if is_closed { "closed" } else { "killed" }, kind, file)
    }

    /// Damages a store; returns the bytes that differ.
    pub(super) fn strike(&self, disk: &MemoryDisk) -> Vec<Touched> {
        let before = |path: &str| (path.to_owned(), read(disk, path));
        let paths = match self {
            Self::SwapSectors { path, other, .. } | Self::SwapFiles { path, other }
                if path != other =>
            {
                vec![before(path), before(other)]
            }
            Self::Flip { path, .. }
            | Self::ZeroSector { path, .. }
            | Self::Cut { path, .. }
            | Self::Missing { path }
            | Self::SwapSectors { path, .. }
            | Self::SwapFiles { path, .. } => vec![before(path)],
        };
        match self {
            Self::Flip { path, at, bit } => {
                let byte = paths[0].1[usize::try_from(*at).unwrap()];
                write(disk, path, *at, &[byte ^ (1 << bit)]);
            }
            Self::ZeroSector { path, at } => {
                let len = (paths[0].1.len() as u64 - at).min(SECTOR);
                write(disk, path, *at, &vec![0; usize::try_from(len).unwrap()]);
            }
            Self::Cut { path, len } => {
                disk.open(path, Mode::ReadWrite).unwrap().set_len(*len).unwrap();
            }
            Self::Missing { path } => disk.remove_file(path).unwrap(),
            Self::SwapSectors { path, at, other, other_at } => {
                let second = paths.last().unwrap();
                let len = (paths[0].1.len() as u64 - at)
                    .min(second.1.len() as u64 - other_at)
                    .min(SECTOR);
                let part = |bytes: &[u8], at: u64| {
                    bytes[usize::try_from(at).unwrap()..][..usize::try_from(len).unwrap()].to_vec()
                };
                write(disk, path, *at, &part(&second.1, *other_at));
                write(disk, other, *other_at, &part(&paths[0].1, *at));
            }
            Self::SwapFiles { path, other } if path != other => {
                disk.rename(path, "swapped").unwrap();
                disk.rename(other, path).unwrap();
                disk.rename("swapped", other).unwrap();
            }
            Self::SwapFiles { .. } => {}
        }
        let mut touched = Vec::new();
        for (path, before) in paths {
            let after = if disk.exists(&path).unwrap() { read(disk, &path) } else { Vec::new() };
            let mut at = 0;
            while at < before.len().max(after.len()) {
                let end = (at + 64).min(before.len().max(after.len()));
                let part = |bytes: &[u8]| bytes.get(at..end).map(<[u8]>::to_vec);
                if part(&before) != part(&after) {
                    touched.push(Touched { path: path.clone(), range: at as u64..end as u64 });
                }
                at = end;
            }
        }
        touched
    }
}
