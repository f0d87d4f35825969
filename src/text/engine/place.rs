//! The directory of an index: resuming its state from a checkpoint, or starting empty.

use std::io;
use std::sync::Arc;

use tantivy::IndexSettings;

use super::directory::StoreDirectory;
use super::failure::failed;
use super::schema::schema;
use super::state::IndexState;
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, Result};
use crate::text::checkpoint::{Checkpoint, FileEntry};
use crate::text::document::Shape;

/// Directory and identity of an index.
pub(crate) struct IndexDirectory {
    pub disk: SharedDisk,
    pub path: String,
    pub store_id: String,
    pub fingerprint: u64,
}

impl IndexDirectory {
    /// The state of a checkpoint.
    ///
    /// # Errors
    /// If anything does not match the checkpoint.
    pub(crate) fn resume(
        &self,
        checkpoint: &Checkpoint,
        with_contents: bool,
        shape: &Shape,
    ) -> Result<IndexState> {
        if checkpoint.store_id != self.store_id || checkpoint.fingerprint != self.fingerprint {
            return Err(Error::corrupt(
                "the index belongs to another store, another version of this crate or another \
                 setting of search_folds_diacritics",
            ));
        }
        let listed =
            self.disk.list(&self.path).map_err(|error| Error::io("listing the index", error))?;
        for file in &checkpoint.files {
            if !listed.iter().any(|entry| entry.name == file.name && entry.len == file.len) {
                return Err(Error::corrupt(format!(
                    "{} is missing, or its length is not {}",
                    file.name, file.len
                )));
            }
            if with_contents && self.crc(file)? != file.crc {
                return Err(Error::corrupt(format!("{} is damaged", file.name)));
            }
        }
        let meta = self.read(&checkpoint.meta)?;
        if crc32fast::hash(&meta) != checkpoint.meta.crc {
            return Err(Error::corrupt(format!("{} is damaged", checkpoint.meta.name)));
        }
        let is_known = |name: &str| {
            name == checkpoint.meta.name || checkpoint.files.iter().any(|file| file.name == name)
        };
        for stray in listed.iter().filter(|entry| !entry.is_dir && !is_known(&entry.name)) {
            // A file that cannot be removed does no harm: its name is not used again.
            let _ = self.disk.remove_file(&format!("{}/{}", self.path, stray.name));
        }
        let directory = StoreDirectory::new(
            Arc::clone(&self.disk),
            &self.path,
            checkpoint.files.clone(),
            Some(meta),
        );
        let engine = tantivy::Index::open(directory.clone()).map_err(failed)?;
        let (schema, _) = schema(shape);
        let metas = engine.load_metas().map_err(failed)?;
        if engine.schema() != schema
            || metas.payload.as_deref() != Some(&self.payload(checkpoint.sequence))
        {
            return Err(Error::corrupt("the list of segments is not that of the checkpoint"));
        }
        let mut state = IndexState::new(directory, engine, shape, checkpoint.sequence)?;
        let most = listed.iter().filter_map(|entry| generation_of(&entry.name)).max().unwrap_or(0);
        state.generation = checkpoint.generation.max(most);
        state.meta_name = Some(checkpoint.meta.name.clone());
        Ok(state)
    }

    /// An empty state in an empty directory.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub(crate) fn anew(&self, shape: &Shape) -> Result<IndexState> {
        let attempt =
            |error| Error::io(format!("creating an empty text index in {}", self.path), error);
        let listed = self.disk.list(&self.path).unwrap_or_default();
        let generation =
            listed.iter().filter_map(|entry| generation_of(&entry.name)).max().unwrap_or(0);
        if !listed.is_empty() {
            let aside = format!("{}.old", self.path);
            let _ = self.disk.remove_dir_all(&aside);
            // Where open files prevent the rename of a directory, the old files stay until the next
            // opening.
            if self.disk.rename(&self.path, &aside).is_ok() {
                let _ = self.disk.remove_dir_all(&aside);
            }
        }
        if self.disk.create_dir_all(&self.path).is_err() {
            // A file where the directory should be is worthless: replace it.
            let _ = self.disk.remove_file(&self.path);
            self.disk.create_dir_all(&self.path).map_err(attempt)?;
        }
        self.disk.sync_dir(crate::disk::parent(&self.path)).map_err(attempt)?;
        let directory = StoreDirectory::new(Arc::clone(&self.disk), &self.path, Vec::new(), None);
        let settings =
            IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let (schema, _) = schema(shape);
        let engine = tantivy::Index::create(directory.clone(), schema, settings).map_err(failed)?;
        let mut state = IndexState::new(directory, engine, shape, 0)?;
        state.generation = generation;
        Ok(state)
    }

    /// The payload of a commit up to `sequence`.
    pub(crate) fn payload(&self, sequence: u64) -> String {
        format!("{} {:016x} {sequence}", self.store_id, self.fingerprint)
    }

    /// The path of a file, and the error of reading it.
    fn reading(&self, entry: &FileEntry) -> (String, impl Fn(io::Error) -> Error + use<>) {
        let path = format!("{}/{}", self.path, entry.name);
        let what = format!("reading {path}");
        (path, move |error| Error::io(what.clone(), error))
    }

    fn read(&self, entry: &FileEntry) -> Result<Vec<u8>> {
        let (path, attempt) = self.reading(entry);
        let file = self.disk.open(&path, Mode::Read).map_err(&attempt)?;
        if file.len().map_err(&attempt)? != entry.len {
            return Err(Error::corrupt(format!(
                "the length of {} is not {}",
                entry.name, entry.len
            )));
        }
        let mut bytes = vec![0; usize::try_from(entry.len).unwrap_or(0)];
        file.read_exact_at(&mut bytes, 0).map_err(&attempt)?;
        Ok(bytes)
    }

    fn crc(&self, entry: &FileEntry) -> Result<u32> {
        const STEP: u64 = 1024 * 1024;
        let (path, attempt) = self.reading(entry);
        let file = self.disk.open(&path, Mode::Read).map_err(&attempt)?;
        let mut crc = crc32fast::Hasher::new();
        let mut at = 0;
        let mut buffer = Vec::new();
        while at < entry.len {
            buffer.resize(usize::try_from(STEP.min(entry.len - at)).unwrap_or(0), 0);
            file.read_exact_at(&mut buffer, at).map_err(&attempt)?;
            crc.update(&buffer);
            at += buffer.len() as u64;
        }
        Ok(crc.finalize())
    }
}

fn generation_of(name: &str) -> Option<u64> {
    name.strip_prefix("meta-")?.strip_suffix(".json")?.parse().ok()
}
