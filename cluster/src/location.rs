//! Where a lake is.

use std::path::Path;
use std::sync::Arc;

use datafusion::common::exec_err;
use datafusion::error::DataFusionError;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use stationdb_lake::with_checked_footers;
use url::Url;

use crate::{Error, Result};

/// A lake's directory or object store. All processes of a cluster name the same one.
#[derive(Clone, Debug)]
pub struct LakeLocation {
    url: Url,
    store: Arc<dyn ObjectStore>,
}

impl LakeLocation {
    /// Opens a directory, a `file://` URL or, with the feature `s3`, an `s3://BUCKET/` URL, whose
    /// credentials, region and endpoint are in the environment (`AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT`, …).
    ///
    /// # Errors
    /// [`Error::Location`] for a directory that does not exist, and for any other text.
    pub fn open(text: &str) -> Result<Self> {
        let error = |problem: &str| Error::Location { place: text.into(), problem: problem.into() };
        // `C:\lake` parses as a URL, whose scheme has one letter.
        let url = Url::parse(text).ok().filter(|url| url.scheme().len() > 1);
        match url {
            None => Self::directory(Path::new(text), text),
            Some(url) if url.scheme() == "file" => {
                let path = url.to_file_path().map_err(|()| error("names no local directory"))?;
                Self::directory(&path, text)
            }
            Some(url) if url.scheme() == "s3" => Self::s3(url, text),
            Some(_) => Err(error("is no lake; name a directory, a file:// or an s3:// URL")),
        }
    }

    fn directory(path: &Path, text: &str) -> Result<Self> {
        let error = |problem: String| Error::Location { place: text.into(), problem };
        let path = path
            .canonicalize()
            .map_err(|cause| error(format!("the lake's directory cannot be opened: {cause}")))?;
        let url = Url::from_directory_path(&path)
            .map_err(|()| error("the path of the directory has no URL".into()))?;
        Ok(Self { url, store: Arc::new(LocalFileSystem::new()) })
    }

    #[cfg(feature = "s3")]
    fn s3(url: Url, text: &str) -> Result<Self> {
        let error = |problem: String| Error::Location { place: text.into(), problem };
        let bucket = url.host_str().ok_or_else(|| error("names no bucket".into()))?;
        let store = object_store::aws::AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .build()
            .map_err(|cause| error(format!("the settings in the environment: {cause}")))?;
        Ok(Self { url, store: Arc::new(store) })
    }

    #[cfg(not(feature = "s3"))]
    fn s3(_url: Url, text: &str) -> Result<Self> {
        let problem = "this program was built without the feature `s3`".into();
        Err(Error::Location { place: text.into(), problem })
    }

    /// The URL of the lake, with a slash at the end.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The object store of the lake's URL. For a directory it is the whole file system, so paths
    /// in it are absolute.
    #[must_use]
    pub fn objects(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    /// A path below the place as one of the object store.
    pub(crate) fn path(&self, below: &ObjectPath) -> Result<ObjectPath, object_store::path::Error> {
        let place = ObjectPath::from_url_path(self.url.path())?;
        Ok(place.parts().chain(below.parts()).collect())
    }

    /// What plans may use: this object store and no other, and a directory for what exceeds the
    /// memory.
    pub(crate) fn runtime(&self, spill: &Path) -> Result<Arc<RuntimeEnv>, DataFusionError> {
        RuntimeEnvBuilder::new()
            .with_temp_file_path(spill)
            .with_object_store_registry(Arc::new(LakeRegistry::new(self)))
            .build_arc()
    }
}

/// A registry with the object store of one lake.
#[derive(Debug)]
struct LakeRegistry {
    url: Url,
    /// The object store, which checks the footers of Parquet files.
    checked: Arc<dyn ObjectStore>,
}

impl LakeRegistry {
    fn new(place: &LakeLocation) -> Self {
        Self { url: place.url.clone(), checked: with_checked_footers(place.objects()) }
    }
}

impl ObjectStoreRegistry for LakeRegistry {
    fn register_store(
        &self,
        _url: &Url,
        _store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>, DataFusionError> {
        if url.scheme() == self.url.scheme() && url.host_str() == self.url.host_str() {
            return Ok(self.checked.clone());
        }
        exec_err!("this process reads the lake {} and not {url}", self.url)
    }
}

#[cfg(test)]
mod tests {
    use stationdb_lake::faults::nested_parquet;

    use super::*;

    #[test]
    fn directories_and_their_urls_are_the_same_place() {
        let directory = tempfile::tempdir().unwrap();
        let place = LakeLocation::open(directory.path().to_str().unwrap()).unwrap();
        assert_eq!(place.url().scheme(), "file");
        assert!(place.url().path().ends_with('/'));
        assert_eq!(LakeLocation::open(place.url().as_str()).unwrap().url(), place.url());
    }

    #[test]
    fn paths_are_below_the_place() {
        let directory = tempfile::Builder::new().prefix("a b%").tempdir().unwrap();
        let place = LakeLocation::open(directory.path().to_str().unwrap()).unwrap();
        let found = directory.path().canonicalize().unwrap().join("plant");
        assert_eq!(
            place.path(&"plant".into()).unwrap(),
            ObjectPath::from_absolute_path(&found).unwrap()
        );
    }

    #[test]
    fn what_is_no_lake_is_refused() {
        for (text, told) in [
            ("/no/such/directory", "cannot be opened"),
            ("https://example.org/lake", "name a directory"),
            ("file://host.example/lake", "names no local directory"),
        ] {
            let error = LakeLocation::open(text).unwrap_err();
            assert!(matches!(&error, Error::Location { place, .. } if place == text), "{error:?}");
            #[cfg(unix)]
            assert!(error.to_string().contains(told), "{error}");
            let _ = told;
        }
    }

    #[test]
    fn other_object_stores_are_out_of_reach() {
        let directory = tempfile::tempdir().unwrap();
        let place = LakeLocation::open(directory.path().to_str().unwrap()).unwrap();
        let runtime = place.runtime(directory.path()).unwrap();
        let get = || runtime.object_store_registry.get_store(place.url()).unwrap();
        assert!(Arc::ptr_eq(&get(), &get()), "every plan has the same object store");
        let other = Url::parse("s3://elsewhere/").unwrap();
        let error = runtime.object_store_registry.get_store(&other).unwrap_err();
        assert!(error.to_string().contains("and not s3://elsewhere"), "{error}");
    }

    #[tokio::test]
    async fn a_file_that_nests_too_deeply_ends_no_executor() {
        let directory = tempfile::tempdir().unwrap();
        let place = LakeLocation::open(directory.path().to_str().unwrap()).unwrap();
        let runtime = place.runtime(directory.path()).unwrap();
        let objects = runtime.object_store_registry.get_store(place.url()).unwrap();
        let path = place.path(&ObjectPath::from("file.parquet")).unwrap();
        for (groups, fits) in [(32, true), (33, false)] {
            let file = nested_parquet(groups);
            let end = file.len() as u64;
            std::fs::write(directory.path().join("file.parquet"), file).unwrap();
            let read = objects.get_ranges(&path, std::slice::from_ref(&(0..end))).await;
            assert_eq!(read.is_ok(), fits, "{groups}");
        }
    }

    #[cfg(not(feature = "s3"))]
    #[test]
    fn a_bucket_needs_the_feature() {
        let error = LakeLocation::open("s3://bucket/lake").unwrap_err();
        assert!(error.to_string().contains("feature `s3`"), "{error}");
    }

    #[cfg(feature = "s3")]
    #[test]
    fn a_bucket_is_a_place() {
        assert_eq!(
            LakeLocation::open("s3://bucket/lake").unwrap().url().host_str(),
            Some("bucket")
        );
    }
}
