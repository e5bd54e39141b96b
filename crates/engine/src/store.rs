//! Traces on S3-compatible stores: what is asked of them is fetched once, onto the disk of whoever reads it.
//!
//! A trace's manifest says the hash of each of its files, so that a copy is known to be what was sealed, and nothing need be asked of
//! the store again.

use anyhow::{Context, Result, anyhow, bail, ensure};
use futures::StreamExt;
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig, aws::AmazonS3Builder, path::Path as Key};
use sched_distill_core::{
    file::{self, PendingFile},
    level::sha256_hex,
};
use sched_distill_trace::TableFile;
use std::{
    collections::HashMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};
use tokio::runtime::Runtime;

/// How the address of a trace on a store begins.
pub const SCHEME: &str = "s3://";

/// The file that says what a trace has.
const MANIFEST: &str = "manifest.json";

/// How often a request is sent again that a store did not answer or could not, and for how long at most.
const RETRIES: (usize, Duration) = (4, Duration::from_secs(30));

/// A folder of a store: `s3://BUCKET/PREFIX`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    bucket: String,
    prefix: String,
}

impl Address {
    /// From text.
    ///
    /// # Errors
    ///
    /// Text that begins like an address and is none. None: text that is no address, but the name of a local folder.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let Some(rest) = text.strip_prefix(SCHEME) else {
            ensure!(!text.contains("://"), "{text}: traces are read from folders and from {SCHEME}BUCKET/PREFIX");
            return Ok(None);
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        ensure!(!bucket.is_empty() && !prefix.is_empty(), "{text}: expected {SCHEME}BUCKET/PREFIX");
        Ok(Some(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() }))
    }

    /// The address of a file of the folder.
    fn of(&self, file: &str) -> String {
        format!("{SCHEME}{}/{}/{file}", self.bucket, self.prefix)
    }

    /// Fetches the manifest of the trace, and returns the local folder that stands for it: what is in it is what was fetched.
    ///
    /// # Errors
    ///
    /// No such trace, credentials that the store does not take, a store that does not answer, a full disk.
    pub fn fetch_manifest(&self, copies: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
        let mut text = Vec::new();
        self.get(MANIFEST, |piece| {
            text.extend_from_slice(piece);
            Ok(())
        })?;
        // Of another trace at the same address nothing that was fetched holds any more.
        let name = sha256_hex(&[self.of("").as_bytes(), &text].concat());
        let folder = copies()?.join(name);
        let place = folder.join(MANIFEST);
        let written = fs::create_dir_all(&folder).and_then(|()| file::write(&place, &text));
        written.with_context(|| format!("{}: cannot be written", place.display()))?;
        Ok(folder)
    }

    /// Fetches a file of the trace into the folder that stands for it, unless it is there.
    ///
    /// # Errors
    ///
    /// As for [`Self::fetch_manifest`], and a file that is not what the manifest says.
    pub fn fetch_file(&self, file: &TableFile, folder: &Path) -> Result<()> {
        let to = folder.join(&file.path);
        if to.exists() {
            return Ok(());
        }
        let cannot = || format!("{}: cannot be written", to.display());
        to.parent().map_or(Ok(()), fs::create_dir_all).with_context(cannot)?;
        let mut copy = PendingFile::create(&to).with_context(cannot)?;
        self.get(&file.path, |piece| copy.write_all(piece).with_context(cannot))?;
        let found = copy.commit_soon().with_context(cannot)?;
        if !file.sha256.is_empty() && file.sha256 != found {
            fs::remove_file(&to).with_context(|| format!("{}: cannot be deleted", to.display()))?;
            bail!("{}: {}", self.of(&file.path), file.other_hash(&found));
        }
        Ok(())
    }

    /// Fetches a file, some bytes at a time.
    fn get(&self, name: &str, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let from = self.of(name);
        let store = self.store()?;
        let key = Key::parse(format!("{}/{name}", self.prefix)).map_err(|error| anyhow!("{from}: {error}"))?;
        runtime()?.block_on(async {
            let mut pieces = store.get(&key).await.map_err(|error| told(&from, &error))?.into_stream();
            while let Some(piece) = pieces.next().await {
                take(&piece.map_err(|error| told(&from, &error))?)?;
            }
            Ok(())
        })
    }

    /// The store of the bucket, as the environment describes it.
    fn store(&self) -> Result<Arc<dyn ObjectStore>> {
        static STORES: OnceLock<Mutex<HashMap<String, Arc<dyn ObjectStore>>>> = OnceLock::new();
        // Nobody panics while he holds it.
        let mut stores = STORES.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(store) = stores.get(&self.bucket) {
            return Ok(store.clone());
        }
        let retry = RetryConfig { max_retries: RETRIES.0, retry_timeout: RETRIES.1, ..RetryConfig::default() };
        let store = AmazonS3Builder::from_env().with_bucket_name(&self.bucket).with_retry(retry).build();
        let store: Arc<dyn ObjectStore> = Arc::new(
            store.map_err(|error| anyhow!("{SCHEME}{}: the environment describes no store: {error}", self.bucket))?,
        );
        stores.insert(self.bucket.clone(), store.clone());
        Ok(store)
    }
}

/// What a store said, in one line.
fn told(from: &str, error: &object_store::Error) -> anyhow::Error {
    use object_store::Error;
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let cause = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    match error {
        Error::NotFound { .. } => {
            anyhow!("{from}: is not in the store; name the folder that has the trace's {MANIFEST}, or restore the file")
        }
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => anyhow!(
            "{from}: may not be read; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to what the store takes ({cause})"
        ),
        _ => anyhow!("{from}: cannot be read; is the store at AWS_ENDPOINT_URL, or at AWS_REGION of Amazon? ({cause})"),
    }
}

/// Where requests are sent from. Whoever reads waits for them, on a thread that may.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let build = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    RUNTIME.get_or_init(build).as_ref().map_err(|error| anyhow!("no thread can be had for the network: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_folders() {
        let parse = |text| Address::parse(text).map_err(|error| error.to_string());
        assert_eq!(parse("runs/s3/trace"), Ok(None));
        let address = parse("s3://logs/2026/trace/").unwrap().unwrap();
        assert_eq!((address.bucket.as_str(), address.prefix.as_str()), ("logs", "2026/trace"));
        assert_eq!(address.of("job/part-00000.parquet"), "s3://logs/2026/trace/job/part-00000.parquet");
        for wrong in ["s3://", "s3://logs", "s3:///trace", "gs://logs/trace"] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(wrong) && error.contains("s3://BUCKET/PREFIX"), "{error}");
        }
    }
}
