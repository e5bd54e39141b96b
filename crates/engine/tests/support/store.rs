//! An S3-compatible store on loopback, for tests.

use anyhow::Result;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use s3s::{auth::SimpleAuth, service::S3ServiceBuilder};
use s3s_fs::FileSystem;
use std::path::Path;
use tokio::{net::TcpListener, runtime::Runtime};

/// A store whose buckets are the folders of a folder. It ends with the test.
pub struct Store {
    _runtime: Runtime,
    endpoint: String,
}

/// What the store takes.
pub const KEYS: [&str; 2] = ["somebody", "his secret"];

impl Store {
    pub fn of(folder: &Path) -> Result<Self> {
        let runtime = Runtime::new()?;
        let files = FileSystem::new(folder).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(KEYS[0], KEYS[1]));
        let service = service.build();
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let http = Builder::new(TokioExecutor::new());
                    let _ = http.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Ok(Self { _runtime: runtime, endpoint })
    }

    /// The environment of a process that reads from it with these keys.
    pub fn environment(&self, keys: [&str; 2]) -> Vec<(String, String)> {
        let variables = [
            ("AWS_ENDPOINT_URL", self.endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", keys[0]),
            ("AWS_SECRET_ACCESS_KEY", keys[1]),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }
}
