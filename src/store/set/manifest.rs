//! The manifest of a backup: what it is, and where its rows are.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::chunks::{Chunk, Place};
use super::layout::{BACKUPS, NEW, Set, failed, manifest_path, pack_path, read_text};
use crate::disk::Mode;
use crate::error::{Error, Result};
use crate::store::format;
use crate::value::time;

/// The first line.
const MAGIC: &str = "stationdb backup";
/// No manifest is larger: half a million lists are more than a hundred million chunks.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A pack that a backup needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeededPack {
    pub(super) pack: u64,
    /// Its length.
    pub(super) bytes: u64,
    /// How many of its bytes the backup needs.
    pub(super) needed: u64,
}

/// What a backup is, and where its rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) backup: u64,
    /// By the clock.
    pub(super) taken: DateTime<Utc>,
    pub(super) sequence: u64,
    /// The id of the journal that had the commit.
    pub(super) journal: Option<u64>,
    /// Whether the store may not have made the last commit durable.
    pub(super) is_ahead: bool,
    pub(super) rows: u64,
    pub(super) files: u64,
    pub(super) file_bytes: u64,
    /// Number of things that the store lacked or had damaged.
    pub(super) findings: u64,
    pub(super) packs: Vec<NeededPack>,
    pub(super) row_lists: Vec<Chunk>,
    pub(super) file_lists: Vec<Chunk>,
}

impl Manifest {
    fn text(&self, seed: u64) -> String {
        let journal = self.journal.map(|id| format!("\njournal {id:016x}")).unwrap_or_default();
        let mut lines = format!(
            "{MAGIC}\n{}\nstore {seed:016x}\nbackup {}\ntaken {}\nsequence {}{journal}\nahead {}\n\
             rows {}\nfiles {}\nfile-bytes {}\nfindings {}",
            format::form_lines(),
            self.backup,
            time::format(self.taken),
            self.sequence,
            if self.is_ahead { "yes" } else { "no" },
            self.rows,
            self.files,
            self.file_bytes,
            self.findings
        );
        for NeededPack { pack, bytes, needed } in &self.packs {
            lines.push_str(&format!("\npack {pack:016x} {bytes} {needed}"));
        }
        for (name, lists) in [("rows-list", &self.row_lists), ("files-list", &self.file_lists)] {
            for list in lists {
                lines.push_str(&format!("\n{name}"));
                list.places().for_each(|place| lines.push_str(&format!(" {}", place.words())));
            }
        }
        format::with_sum(&lines)
    }

    /// Why not all packs that the backup needs are there, if that is so. `present` has the packs of
    /// the set with their lengths.
    pub(super) fn lost_pack(&self, present: &HashMap<u64, u64>) -> Option<String> {
        let is_lost = |pack: &&NeededPack| present.get(&pack.pack) != Some(&pack.bytes);
        self.packs.iter().find(is_lost).map(|pack| match present.get(&pack.pack) {
            None => format!("{} is missing", pack_path(pack.pack)),
            Some(len) => {
                format!("{} has {len} bytes instead of {}", pack_path(pack.pack), pack.bytes)
            }
        })
    }

    /// Writes the manifest, and makes its name durable. The last step of a backup.
    pub(super) fn write(&self, set: &Set) -> Result<()> {
        let attempt = failed("writing the manifest of the backup");
        let text = self.text(set.seed);
        if text.len() as u64 > BYTES_MAX {
            return Err(Error::new(
                crate::error::ErrorKind::LimitExceeded,
                format!("the manifest of the backup would have more than {BYTES_MAX} bytes"),
            ));
        }
        let path = manifest_path(self.backup);
        let new = format!("{path}{NEW}");
        let file = set.disk.open(&new, Mode::CreateNew).map_err(&attempt)?;
        file.write_all_at(text.as_bytes(), 0).map_err(&attempt)?;
        file.sync_all().map_err(&attempt)?;
        drop(file);
        set.disk.rename(&new, &path).map_err(&attempt)?;
        set.disk.sync_dir(BACKUPS).map_err(&attempt)
    }

    /// Reads the manifest of a backup.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged; `NewerFormat` and `OlderFormat` if this build cannot read the
    /// rows; `Io`.
    pub(super) fn read(set: &Set, backup: u64) -> Result<Self> {
        let path = manifest_path(backup);
        let text = read_text(&set.disk, &path, BYTES_MAX)?;
        let damaged = || Error::corrupt(format!("{path} is damaged"));
        if text.lines().next() != Some(MAGIC) || !format::has_sum(&text) {
            return Err(damaged());
        }
        format::check_form(&text, "the backup").map_err(|error| error.context(&path))?;
        let manifest = Self::parsed(&text).ok_or_else(damaged)?;
        let is_right =
            manifest.backup == backup && format::hexadecimal(&text, "store") == Some(set.seed);
        if is_right { Ok(manifest) } else { Err(damaged()) }
    }

    fn parsed(text: &str) -> Option<Self> {
        let number = |name: &str| format::value(text, name)?.parse::<u64>().ok();
        let mut manifest = Self {
            backup: number("backup")?,
            taken: time::parse(format::value(text, "taken")?)?,
            sequence: number("sequence")?,
            journal: format::hexadecimal(text, "journal"),
            is_ahead: match format::value(text, "ahead")? {
                "yes" => true,
                "no" => false,
                _ => return None,
            },
            rows: number("rows")?,
            files: number("files")?,
            file_bytes: number("file-bytes")?,
            findings: number("findings")?,
            packs: Vec::new(),
            row_lists: Vec::new(),
            file_lists: Vec::new(),
        };
        for line in text.lines() {
            let mut words = line.split(' ');
            match words.next()? {
                "pack" => manifest.packs.push(NeededPack {
                    pack: u64::from_str_radix(words.next()?, 16).ok()?,
                    bytes: words.next()?.parse().ok()?,
                    needed: words.next()?.parse().ok()?,
                }),
                "rows-list" => manifest.row_lists.push(chunk(&mut words)?),
                "files-list" => manifest.file_lists.push(chunk(&mut words)?),
                _ => {}
            }
        }
        Some(manifest)
    }
}

fn chunk<'t>(words: &mut impl Iterator<Item = &'t str>) -> Option<Chunk> {
    let at = Place::from_words(words)?;
    let mut words = words.peekable();
    let base = match words.peek() {
        Some(_) => Some(Place::from_words(&mut words)?),
        None => None,
    };
    Some(Chunk { at, base })
}
