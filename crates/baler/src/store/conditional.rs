//! Deletes one version of an object and no other, by a signed request, and finds out whether the store can.
//!
//! S3 and Azure compare the ETag. Google compares a generation: a HEAD tells the generation of the version with the
//! expected ETag, and only that generation is deleted. A store that ignored the condition would delete what somebody
//! has just written, so none is trusted before it has refused a stale one.

use baler_core::file::Identity;
use baler_journal::host;
use baler_journal::store::{StoreError, identity_of};
use http::{HeaderName, Method, StatusCode, header::IF_MATCH};
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt, PutPayload};

use super::bucket::Bucket;
use super::client::Unsigned;
use super::{DeleteIf, Purpose, Scheme};

const IF_GENERATION: HeaderName = HeaderName::from_static("x-goog-if-generation-match");

/// Probes that a collector may spoil before the store is given up.
const PROBES_MAX: u32 = 3;

impl Bucket {
    /// Deletes the object if it is still this version. A store that cannot do that deletes nothing.
    pub async fn delete_if(&self, path: &str, expected: &Identity) -> Result<DeleteIf, StoreError> {
        match self.can_delete_if().await? {
            true => self.delete_version(Purpose::Delete, path, expected).await,
            false => Ok(DeleteIf::Unsupported),
        }
    }

    /// Whether the store deletes by condition: found out once in the life of a process, by an object under
    /// `_baler/probe/` that is written twice. A delete of its first version must be refused, one of its second must
    /// work.
    pub async fn can_delete_if(&self) -> Result<bool, StoreError> {
        // The interface of such a store has no call for it.
        if self.url().scheme() == Scheme::Own {
            return Ok(false);
        }
        let found = self
            .deletes_by_condition()
            .get_or_try_init(|| self.probe_delete())
            .await?;
        Ok(*found)
    }

    async fn probe_delete(&self) -> Result<bool, StoreError> {
        for _ in 1..PROBES_MAX {
            if let Some(found) = self.probe_delete_once().await? {
                return Ok(found);
            }
        }
        Ok(self.probe_delete_once().await?.unwrap_or(false))
    }

    /// `None` if the object vanished under the probe: a collector that waits for nobody took it away.
    async fn probe_delete_once(&self) -> Result<Option<bool>, StoreError> {
        let path = format!("_baler/probe/delete-{:032x}", host::wide_chance());
        let found = self.probe_delete_of(&path).await;
        if !matches!(found, Ok(Some(true))) {
            let left = self
                .objects(Purpose::Probe)
                .delete(&Path::from(path.as_str()))
                .await;
            tracing::debug!(path, ?left, "took the probe's object away");
        }
        found
    }

    async fn probe_delete_of(&self, path: &str) -> Result<Option<bool>, StoreError> {
        let first = self.write_probe(path, "first").await?;
        let second = self.write_probe(path, "the second version").await?;
        match self.delete_version(Purpose::Probe, path, &first).await? {
            DeleteIf::Changed => {}
            DeleteIf::Missing => return Ok(None),
            DeleteIf::Deleted | DeleteIf::Unsupported => return Ok(Some(false)),
        }
        match self.identity_for(Purpose::Probe, path).await? {
            Some(found) if found == second => {}
            Some(_) => return Ok(Some(false)),
            None => return Ok(None),
        }
        let deleted = self.delete_version(Purpose::Probe, path, &second).await?;
        let left = self.identity_for(Purpose::Probe, path).await?;
        match deleted {
            DeleteIf::Missing => Ok(None),
            deleted => Ok(Some(deleted == DeleteIf::Deleted && left.is_none())),
        }
    }

    async fn write_probe(&self, path: &str, text: &'static str) -> Result<Identity, StoreError> {
        let location = Path::from(path);
        let failed = |error: Error| StoreError::from_object_store(path, &error);
        let objects = self.objects(Purpose::Probe);
        objects
            .put(&location, PutPayload::from_static(text.as_bytes()))
            .await
            .map_err(failed)?;
        let meta = objects.head(&location).await.map_err(failed)?;
        Ok(identity_of(&meta))
    }

    async fn delete_version(
        &self,
        purpose: Purpose,
        path: &str,
        expected: &Identity,
    ) -> Result<DeleteIf, StoreError> {
        let (name, value) = match self.url().scheme() {
            Scheme::S3 | Scheme::Az => (IF_MATCH, expected.tag.to_string()),
            Scheme::Gs => match self.generation(purpose, path, expected).await? {
                Ok(generation) => (IF_GENERATION, generation),
                Err(without) => return Ok(without),
            },
            Scheme::Own => return Ok(DeleteIf::Unsupported),
        };
        let unsigned = Unsigned {
            method: Method::DELETE,
            key: &self.key(path),
            query: &[],
            header: Some((name, &value)),
        };
        let answer = self.send(purpose, path, unsigned).await?;
        match answer.status {
            status if status.is_success() => Ok(DeleteIf::Deleted),
            StatusCode::NOT_FOUND => Ok(DeleteIf::Missing),
            StatusCode::PRECONDITION_FAILED => match self.identity_for(purpose, path).await? {
                Some(_) => Ok(DeleteIf::Changed),
                None => Ok(DeleteIf::Missing),
            },
            StatusCode::NOT_IMPLEMENTED | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST => {
                Ok(DeleteIf::Unsupported)
            }
            _ => Err(answer.into_error(path)),
        }
    }

    /// Google's number of the version, if it is the expected one.
    async fn generation(
        &self,
        purpose: Purpose,
        path: &str,
        expected: &Identity,
    ) -> Result<Result<String, DeleteIf>, StoreError> {
        let location =
            Path::parse(path).map_err(|error| StoreError::from_object_store(path, &error.into()))?;
        match self.objects(purpose).head(&location).await {
            Ok(meta) if identity_of(&meta) != *expected => Ok(Err(DeleteIf::Changed)),
            Ok(meta) => Ok(meta.version.ok_or(DeleteIf::Unsupported)),
            Err(Error::NotFound { .. }) => Ok(Err(DeleteIf::Missing)),
            Err(error) => Err(StoreError::from_object_store(path, &error)),
        }
    }
}
