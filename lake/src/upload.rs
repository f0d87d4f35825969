//! Uploads of data files: large ones in parts, and what is there is looked at.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use object_store::{Error as StoreError, MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};
use stationdb::{Control, Error, Result};
use tokio::task::{JoinError, JoinSet};

use crate::body::Body;
use crate::remote::{Remote, failed};

/// Bytes up to which an object is written by one request, and of a part of a larger one.
pub(crate) const PART_BYTES: usize = 8 * 1024 * 1024;
/// The fewest bytes of a part.
pub(crate) const PART_BYTES_MIN: usize = 64 * 1024;
/// Parts that are on their way at a time.
const PARTS: usize = 4;

impl Remote {
    /// Writes an object under a name that nobody else uses: large ones in parts, of which some are
    /// on their way at a time. What is there has the right size when this returns.
    pub(crate) fn upload(&self, path: &Path, body: &Arc<Body>, control: &Control) -> Result<()> {
        let attempt = format!("uploading {path}");
        let mut failures = 0;
        let part_bytes = self.part_bytes;
        loop {
            let answer = self.retried(control, &attempt, || {
                let (objects, path, body) = (self.objects.clone(), path.clone(), body.clone());
                async move { put_parts(objects.as_ref(), &path, body, part_bytes).await }
            })?;
            answer.map_err(|error| failed(&attempt, error))??;
            if crate::checks::is_off(crate::checks::Check::UploadSize) {
                return Ok(());
            }
            let found = self.size(path, control)?;
            if found == Some(body.byte_count()) {
                return Ok(());
            }
            let cut = std::io::Error::other(format!(
                "{} bytes were sent, and {} are there",
                body.byte_count(),
                found.map_or_else(|| "none".to_owned(), |size| size.to_string())
            ));
            failures += 1;
            if failures >= self.backoff.attempts {
                return Err(Error::io(&attempt, cut));
            }
            let told = StoreError::Generic { store: "lake", source: Box::new(cut) };
            self.back_off(control, failures, &attempt, &told)?;
        }
    }
}

/// Bytes of a file in memory, whose buffer may come from an earlier part.
async fn read(body: &Arc<Body>, start: u64, mut buffer: BytesMut) -> Result<Bytes> {
    let body = body.clone();
    let read = tokio::task::spawn_blocking(move || {
        body.read_at(start, &mut buffer)?;
        Ok(buffer.freeze())
    });
    read.await.unwrap_or_else(|error| Err(Error::io("reading a segment", error.into())))
}

/// Sends a file. The inner error is that of reading it, which does not pass.
async fn put_parts(
    objects: &dyn ObjectStore,
    path: &Path,
    body: Arc<Body>,
    part_bytes: usize,
) -> std::result::Result<Result<()>, StoreError> {
    let byte_count = body.byte_count();
    if byte_count <= part_bytes as u64 {
        let bytes = match read(&body, 0, BytesMut::zeroed(byte_count as usize)).await {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
        };
        return objects.put(path, PutPayload::from(bytes)).await.map(|_| Ok(()));
    }
    let mut upload = objects.put_multipart(path).await?;
    let mut on_their_way = JoinSet::new();
    let sent = send_parts(upload.as_mut(), &mut on_their_way, &body, part_bytes).await;
    if !matches!(sent, Ok(Ok(()))) {
        on_their_way.shutdown().await;
        // Its parts are removed; if that fails as well, the store's own rules remove them.
        let _ = upload.abort().await;
        return sent;
    }
    upload.complete().await.map(|_| Ok(()))
}

/// Sends the parts, of which each is read while others are on their way.
async fn send_parts(
    upload: &mut dyn MultipartUpload,
    on_their_way: &mut JoinSet<std::result::Result<Bytes, StoreError>>,
    body: &Arc<Body>,
    part_bytes: usize,
) -> std::result::Result<Result<()>, StoreError> {
    let ended = |done: std::result::Result<_, JoinError>| {
        done.unwrap_or_else(|source| Err(StoreError::JoinError { source }))
    };
    // New memory costs more than reading into it, so the buffers of parts that were sent are used
    // again, if the object store has let them go.
    let mut spare = Vec::new();
    let mut at = 0;
    while at < body.byte_count() {
        while on_their_way.len() >= PARTS {
            let Some(done) = on_their_way.join_next().await else { break };
            spare.extend(ended(done)?.try_into_mut().ok());
        }
        while let Some(done) = on_their_way.try_join_next() {
            spare.extend(ended(done)?.try_into_mut().ok());
        }
        let mut buffer = spare.pop().unwrap_or_else(|| BytesMut::zeroed(part_bytes));
        let left = body.byte_count() - at;
        buffer.truncate(usize::try_from(left).unwrap_or(part_bytes));
        let bytes = match read(body, at, buffer).await {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
        };
        at += bytes.len() as u64;
        let part = upload.put_part(PutPayload::from(bytes.clone()));
        on_their_way.spawn(async move { part.await.map(|()| bytes) });
    }
    while let Some(done) = on_their_way.join_next().await {
        ended(done)?;
    }
    Ok(Ok(()))
}
