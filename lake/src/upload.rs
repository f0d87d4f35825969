//! Uploads of data files: large ones in parts, and what is there is looked at.

use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error as StoreError, MultipartUpload, ObjectStore, ObjectStoreExt};
use stationdb::{Control, Error, Result};
use tokio::task::{JoinError, JoinSet};

use crate::body::Body;
use crate::buffers::Buffers;
use crate::remote::{Remote, failed};

/// Parts that are on their way at a time.
const PARTS: usize = 4;

/// An upload of which the first attempt is on its way. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Upload {
    path: Path,
    body: Arc<Body>,
    first: Option<JoinSet<Answer>>,
}

/// How an attempt ended. The inner error is that of reading the file, which does not pass.
type Answer = std::result::Result<Result<()>, StoreError>;

impl Remote {
    /// Begins to write an object under a name that nobody else uses: large ones in parts, of which
    /// some are on their way at a time.
    pub(crate) fn begin_upload(&self, path: Path, body: Arc<Body>) -> Result<Upload> {
        let first = self.start(self.attempt(&path, &body))?;
        Ok(Upload { path, body, first: Some(first) })
    }

    /// An attempt to write an object.
    fn attempt(
        &self,
        path: &Path,
        body: &Arc<Body>,
    ) -> impl Future<Output = Answer> + Send + 'static {
        let (objects, path, body) = (self.objects.clone(), path.clone(), body.clone());
        let buffers = self.buffers.clone();
        async move { put_parts(objects.as_ref(), &path, body, buffers).await }
    }

    /// Waits for an upload, and tries again if it failed. What is there has the right size when this
    /// returns.
    pub(crate) fn end_upload(&self, upload: Upload, control: &Control) -> Result<()> {
        let Upload { path, body, mut first } = upload;
        let attempt = format!("uploading {path}");
        let mut failures = 0;
        loop {
            let answer = self.retried(control, &attempt, || {
                let (first, next) = (first.take(), self.attempt(&path, &body));
                async move {
                    match first {
                        Some(mut first) => match first.join_next().await {
                            Some(Ok(answer)) => answer,
                            Some(Err(source)) => Err(StoreError::JoinError { source }),
                            None => next.await,
                        },
                        None => next.await,
                    }
                }
            })?;
            answer.map_err(|error| failed(&attempt, error))??;
            if crate::checks::is_off(crate::checks::Check::UploadSize) {
                return Ok(());
            }
            let found = self.size(&path, control)?;
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

/// Bytes of a file in memory, in pieces.
async fn read(
    body: &Arc<Body>,
    buffers: &Arc<Buffers>,
    start: u64,
    byte_count: usize,
) -> Result<Vec<Bytes>> {
    let (body, buffers) = (body.clone(), buffers.clone());
    let read = tokio::task::spawn_blocking(move || {
        let chunk_bytes = buffers.chunk_bytes();
        let chunks = (0..byte_count).step_by(chunk_bytes).map(|at| {
            let mut buffer = buffers.take(chunk_bytes.min(byte_count - at));
            body.read_at(start + at as u64, &mut buffer)?;
            Ok(buffer.freeze())
        });
        chunks.collect()
    });
    read.await.unwrap_or_else(|error| Err(Error::io("reading a segment", error.into())))
}

/// Sends a file.
async fn put_parts(
    objects: &dyn ObjectStore,
    path: &Path,
    body: Arc<Body>,
    buffers: Arc<Buffers>,
) -> Answer {
    let byte_count = body.byte_count();
    if byte_count <= buffers.part_bytes as u64 {
        let part = match read(&body, &buffers, 0, byte_count as usize).await {
            Ok(part) => part,
            Err(error) => return Ok(Err(error)),
        };
        objects.put(path, part.iter().cloned().collect()).await?;
        buffers.give(part);
        return Ok(Ok(()));
    }
    let mut parts =
        Parts { upload: Some(objects.put_multipart(path).await?), on_their_way: JoinSet::new() };
    let sent = parts.send(&body, &buffers).await;
    if matches!(sent, Ok(Ok(()))) {
        // What could not be put together may be there all the same, and then nothing is removed.
        parts.complete().await?;
    }
    sent
}

/// An upload in parts. The object store keeps parts until it is told what they are, so an upload
/// that fails, or that nobody waits for any more, removes its own when this is dropped. Where that
/// fails as well, only the rules of the object store remove them.
struct Parts {
    /// None once the object is there.
    upload: Option<Box<dyn MultipartUpload>>,
    on_their_way: JoinSet<std::result::Result<Vec<Bytes>, StoreError>>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take() else { return };
        // At the end of the program there is nobody left who could do it.
        let Ok(threads) = tokio::runtime::Handle::try_current() else { return };
        let mut on_their_way = std::mem::take(&mut self.on_their_way);
        threads.spawn(async move {
            on_their_way.shutdown().await;
            let _ = upload.abort().await;
        });
    }
}

impl Parts {
    /// Makes an object of the parts.
    async fn complete(&mut self) -> std::result::Result<(), StoreError> {
        if let Some(upload) = &mut self.upload {
            upload.complete().await?;
            self.upload = None;
        }
        Ok(())
    }

    /// Sends the parts, of which each is read while others are on their way.
    async fn send(&mut self, body: &Arc<Body>, buffers: &Arc<Buffers>) -> Answer {
        let Self { upload: Some(upload), on_their_way } = self else { return Ok(Ok(())) };
        let ended = |done: std::result::Result<std::result::Result<_, StoreError>, JoinError>| {
            buffers.give(done.unwrap_or_else(|source| Err(StoreError::JoinError { source }))?);
            Ok::<_, StoreError>(())
        };
        let mut at = 0;
        while at < body.byte_count() {
            while on_their_way.len() >= PARTS {
                let Some(done) = on_their_way.join_next().await else { break };
                ended(done)?;
            }
            while let Some(done) = on_their_way.try_join_next() {
                ended(done)?;
            }
            let left = body.byte_count() - at;
            let byte_count = usize::try_from(left).unwrap_or(usize::MAX).min(buffers.part_bytes);
            let part = match read(body, buffers, at, byte_count).await {
                Ok(part) => part,
                Err(error) => return Ok(Err(error)),
            };
            at += byte_count as u64;
            let sent = upload.put_part(part.iter().cloned().collect());
            on_their_way.spawn(async move { sent.await.map(|()| part) });
        }
        while let Some(done) = on_their_way.join_next().await {
            ended(done)?;
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use object_store::local::LocalFileSystem;

    use super::*;
    use crate::body::Sink;
    use crate::buffers::{CHUNK_BYTES, PART_BYTES};

    fn body(byte_count: usize) -> (Vec<u8>, Arc<Body>) {
        let bytes: Vec<u8> = (0..byte_count).map(|at| ((at * 31) >> 9) as u8).collect();
        let mut sink = Sink::default();
        sink.write_all(&bytes).unwrap();
        (bytes, Arc::new(sink.finish().unwrap()))
    }

    /// A directory lets all buffers go, so those that are there then are all that were there at once.
    #[test]
    fn uploads_hold_as_many_bytes_as_their_parts() {
        const PART: usize = 2 * CHUNK_BYTES;
        let directory = tempfile::tempdir().unwrap();
        let objects = LocalFileSystem::new_with_prefix(directory.path()).unwrap();
        let mut remote = Remote::new(Arc::new(objects)).unwrap();
        remote.buffers = Arc::new(Buffers::new(PART));
        let control = Control::default();
        for byte_count in
            [1, CHUNK_BYTES - 1, PART, PART + 1, 3 * PART + 7, 21 * PART, 5, 40 * PART]
        {
            let (bytes, body) = body(byte_count);
            let path = Path::from(byte_count.to_string());
            let upload = remote.begin_upload(path.clone(), body).unwrap();
            remote.end_upload(upload, &control).unwrap();
            let found = remote.get(&path, &control).unwrap().unwrap();
            assert!(found == bytes, "{byte_count} bytes");
            let spare = remote.buffers.spare();
            assert!(spare.len() <= (PARTS + 1) * 2, "{} after {byte_count} bytes", spare.len());
            assert!(spare.iter().all(|buffer| buffer.capacity() == CHUNK_BYTES));
            assert!(byte_count <= PART || !spare.is_empty(), "no buffer came back");
        }
    }

    /// Pieces are read and written one by one, whatever the size of a part is.
    #[test]
    fn parts_are_in_pieces() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let byte_count = PART_BYTES - CHUNK_BYTES - 1;
        let (bytes, body) = body(byte_count);
        let part = runtime.block_on(read(&body, &Arc::default(), 1, byte_count - 1)).unwrap();
        assert!(part.iter().all(|piece| piece.len() <= CHUNK_BYTES));
        assert_eq!(part.len(), (byte_count - 1).div_ceil(CHUNK_BYTES));
        assert!(part.concat() == bytes[1..]);
    }
}
