//! A directory as an object store that is durable when it answers. `LocalFileSystem` reads it; it
//! does not sync what it writes.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
    UploadPart,
};

/// What is not complete yet, beside the objects.
const NEW: &str = "new";

/// The object store.
#[derive(Clone, Debug)]
pub struct Objects {
    directory: PathBuf,
    read: Arc<LocalFileSystem>,
}

fn failed(error: std::io::Error) -> Error {
    Error::Generic { store: "directory", source: error.into() }
}

impl Objects {
    /// The objects below a directory, which is made.
    pub fn new(directory: PathBuf) -> Result<Self> {
        let objects = directory.join("objects");
        std::fs::create_dir_all(&objects).map_err(failed)?;
        std::fs::create_dir_all(directory.join(NEW)).map_err(failed)?;
        let around = directory.parent().map(PathBuf::from).into_iter();
        for directory in around.chain([directory.clone()]) {
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
        }
        Ok(Self { read: Arc::new(LocalFileSystem::new_with_prefix(objects)?), directory })
    }

    /// Writes an object: its bytes are durable before it has its name, and its name on return.
    fn write(&self, location: &Path, parts: &[PutPayload], mode: &PutMode) -> Result<PutResult> {
        let objects = self.directory.join("objects");
        let target = objects.join(location.as_ref());
        let name = location.as_ref().replace('/', "-");
        let new = self.directory.join(NEW).join(name);
        let write = || {
            // It may be a link to an object.
            let _ = std::fs::remove_file(&new);
            let mut file = File::create_new(&new)?;
            for part in parts.iter().flat_map(|part| part.iter()) {
                file.write_all(part)?;
            }
            file.sync_all()?;
            let parent = target.parent().unwrap_or(&objects);
            std::fs::create_dir_all(parent)?;
            if *mode == PutMode::Create {
                std::fs::hard_link(&new, &target)?;
                std::fs::remove_file(&new)?;
            } else {
                std::fs::rename(&new, &target)?;
            }
            parent
                .ancestors()
                .take_while(|directory| directory.starts_with(&objects))
                .try_for_each(|directory| File::open(directory)?.sync_all())
        };
        match write() {
            Ok(()) => Ok(PutResult { e_tag: None, version: None }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Error::AlreadyExists { path: location.to_string(), source: error.into() })
            }
            Err(error) => Err(failed(error)),
        }
    }
}

impl std::fmt::Display for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "objects in {}", self.directory.display())
    }
}

#[async_trait]
impl ObjectStore for Objects {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.write(location, &[payload], &opts.mode)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Ok(Box::new(Upload {
            objects: self.clone(),
            location: location.clone(),
            parts: Vec::new(),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.read.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        Box::pin(futures::stream::once(std::future::ready(Err(Error::NotImplemented {
            operation: "delete".to_owned(),
            implementer: self.to_string(),
        }))))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.read.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.read.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        let (operation, implementer) = ("copy".to_owned(), self.to_string());
        Err(Error::NotImplemented { operation, implementer })
    }
}

/// An upload, whose parts are in memory until it is complete.
#[derive(Debug)]
struct Upload {
    objects: Objects,
    location: Path,
    parts: Vec<PutPayload>,
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.parts.push(data);
        Box::pin(std::future::ready(Ok(())))
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.objects.write(&self.location, &self.parts, &PutMode::Overwrite)
    }

    async fn abort(&mut self) -> Result<()> {
        self.parts.clear();
        Ok(())
    }
}
