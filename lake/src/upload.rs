//! Uploads of data files: large ones in parts, and what is there is looked at.

use bytes::Bytes;
use futures::stream::{FuturesUnordered, StreamExt};
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStore, ObjectStoreExt, PutPayload};
use stationdb::{Control, Error, Result};

use crate::remote::{Remote, failed};

/// Bytes up to which an object is written by one request.
const WHOLE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a part of a larger object.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// Parts that are on their way at a time.
const PARTS: usize = 4;

impl Remote {
    /// Writes an object under a name that nobody else uses: large ones in parts, of which some are
    /// on their way at a time. What is there has the right size when this returns.
    pub(crate) fn upload(&self, path: &Path, bytes: &Bytes, control: &Control) -> Result<()> {
        let attempt = format!("uploading {path}");
        let mut failures = 0;
        loop {
            let answer = self.retried(control, &attempt, || {
                let (objects, path, bytes) = (self.objects.clone(), path.clone(), bytes.clone());
                async move { put_parts(objects.as_ref(), &path, bytes).await }
            })?;
            answer.map_err(|error| failed(&attempt, error))?;
            if crate::checks::is_off(crate::checks::Check::UploadSize) {
                return Ok(());
            }
            let found = self.size(path, control)?;
            if found == Some(bytes.len() as u64) {
                return Ok(());
            }
            let cut = std::io::Error::other(format!(
                "{} bytes were sent, and {} are there",
                bytes.len(),
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

async fn put_parts(
    objects: &dyn ObjectStore,
    path: &Path,
    bytes: Bytes,
) -> std::result::Result<(), StoreError> {
    if bytes.len() <= WHOLE_BYTES {
        return objects.put(path, PutPayload::from(bytes)).await.map(drop);
    }
    let mut upload = objects.put_multipart(path).await?;
    let mut on_their_way = FuturesUnordered::new();
    let mut left = bytes;
    let sent = async {
        while !left.is_empty() {
            let part = left.split_to(left.len().min(PART_BYTES));
            if on_their_way.len() >= PARTS {
                on_their_way.next().await.transpose()?;
            }
            on_their_way.push(upload.put_part(PutPayload::from(part)));
        }
        while let Some(done) = on_their_way.next().await {
            done?;
        }
        upload.complete().await.map(drop)
    };
    let sent = sent.await;
    if sent.is_err() {
        // Its parts are removed; if that fails as well, the store's own rules remove them.
        let _ = upload.abort().await;
    }
    sent
}
