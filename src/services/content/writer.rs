//! Content that is written before it is known what names it.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use super::guarded::SPACE_CHECK_BYTES;
use super::{NewContent, blob_writer, new_content, new_id, one_blob};
use crate::blobs::{BlobWriter, check_limit};
use crate::error::{Error, Result};
use crate::model::{ContentPart, StoredContent};
use crate::session::{Access, Holder, Session};
use crate::value::{Action, Control, Service, limits};

/// Content of a file or package that is written first and named afterwards, by
/// [`FileService::commit_file`](crate::files::FileService::commit_file) or
/// [`FeedService::commit_package`](crate::feeds::FeedService::commit_package).
///
/// Write to it through [`Write`]. Dropped without a commit it leaves nothing, and neither does a
/// process that ends meanwhile: the next opening of the store removes what it had written. After an
/// error it takes no more bytes. It holds the store open.
pub struct ContentWriter {
    session: Session,
    control: Control,
    /// The bytes, while they are few enough for the record file.
    head: Vec<u8>,
    blob: Option<BlobWriter>,
    len: u64,
    /// Bytes since the last look at the disk.
    unchecked: u64,
    fault: Option<Error>,
}

impl ContentWriter {
    /// A writer for somebody who may create `service`'s resources in at least one workspace.
    pub(in crate::services) fn new<A: Access>(
        access: &A,
        service: Service,
        control: &Control,
    ) -> Result<Self> {
        access.refuse_in_transaction("content that is written before it is named")?;
        let context = access.context();
        context.require_anywhere(service, Action::Create)?;
        context.engine.check_place()?;
        Ok(Self {
            session: Session::of_context(context.clone(), Holder::ContentWriter),
            control: context.control(control),
            head: Vec::new(),
            blob: None,
            len: 0,
            unchecked: SPACE_CHECK_BYTES,
            fault: None,
        })
    }

    /// Bytes that were written.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.control.check()?;
        let engine = self.session.context().engine.clone();
        let len = self.len.saturating_add(bytes.len() as u64);
        check_limit(len, engine.settings.file_bytes_max)?;
        let threshold = engine.settings.small_blob_bytes.min(limits::SMALL_BLOB_BYTES_MAX);
        if self.blob.is_none() && len <= threshold as u64 {
            self.head.extend_from_slice(bytes);
        } else {
            // What goes into the record file is looked at with its commit.
            self.unchecked = self.unchecked.saturating_add(bytes.len() as u64);
            if self.unchecked >= SPACE_CHECK_BYTES {
                engine.check_space(bytes.len() as u64)?;
                self.unchecked = 0;
            }
            let blob = match self.blob.take() {
                Some(blob) => blob,
                None => {
                    let mut blob = blob_writer(&self.session)?;
                    blob.write(&std::mem::take(&mut self.head))?;
                    blob
                }
            };
            self.blob.insert(blob).write(bytes)?;
        }
        self.len = len;
        self.control.report(len, None, "bytes");
        Ok(())
    }

    /// Makes the bytes durable; nothing names them yet. `access` is the handle that is to name
    /// them.
    pub(in crate::services) fn finish<A: Access>(mut self, access: &A) -> Result<NewContent> {
        if !Arc::ptr_eq(&self.session.context().engine, &access.context().engine) {
            return Err(Error::invalid(
                "the content was written to another store than the one that is to name it",
            ));
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.control.check()?;
        if let Some(blob) = self.blob.take() {
            return Ok(new_content(access, one_blob(blob.finish()?), None));
        }
        let part = ContentPart::new(new_id(access)?, self.len, xxh3_128(&self.head));
        let content = StoredContent { parts: vec![part], small: true };
        Ok(new_content(access, content, Some(std::mem::take(&mut self.head))))
    }
}

impl Write for ContentWriter {
    /// Takes at most 4 MiB of `bytes` at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(fault) = &self.fault {
            return Err(io::Error::other(fault.clone()));
        }
        let count = bytes.len().min(usize::try_from(SPACE_CHECK_BYTES).unwrap_or(usize::MAX));
        match self.append(bytes.get(..count).unwrap_or_default()) {
            Ok(()) => Ok(count),
            Err(error) => {
                // Removed now and not when the writer is dropped: the disk may be full.
                self.blob = None;
                self.head = Vec::new();
                self.fault = Some(error.clone());
                Err(io::Error::other(error))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for ContentWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentWriter")
            .field("len", &self.len)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}
