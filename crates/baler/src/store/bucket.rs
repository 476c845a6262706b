//! A bucket: the stacks of all purposes, rooted at one prefix.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use baler_core::file::Identity;
use baler_journal::store::{ObjectStoreStore, Store, StoreError, identity_of};
use http::StatusCode;
use object_store::client::{HttpConnector, ReqwestConnector};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use tokio::sync::OnceCell;

use super::checked::Checked;
use super::client::{self, Clients, Unsigned};
use super::completion::Settled;
use super::faults::Faults;
use super::http::Shared;
use super::layer::{Layered, Next};
use super::outputs::Marked;
use super::resume::Resumed;
use super::uniform::Uniform;
use super::unreliable::Unreliable;
use super::{BucketUrl, OpenError, OutputSettings, Purpose, Scheme, Usage, Variables, environment};

/// A prefix in a bucket. Copies share everything.
#[derive(Clone)]
pub struct Bucket(Arc<Opened>);

/// What copies share.
struct Opened {
    url: BucketUrl,
    clients: Clients,
    stores: BTreeMap<Purpose, Next>,
    shared: Shared,
    deletes_by_condition: OnceCell<bool>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.0.url.to_string()).finish()
    }
}

impl Bucket {
    /// Opens a bucket with the settings in the environment. Nothing is sent.
    pub fn open(url: &BucketUrl) -> Result<Self, OpenError> {
        Self::open_with(url, &environment(), OutputSettings::default())
    }

    /// Opens a bucket with these variables in place of the environment, and marks outputs so. Nothing is sent.
    pub fn open_with(
        url: &BucketUrl,
        variables: &Variables,
        settings: OutputSettings,
    ) -> Result<Self, OpenError> {
        let network: Arc<dyn HttpConnector> = Arc::new(ReqwestConnector::default());
        Self::open_through(url, variables, settings, &network)
    }

    /// The same, and everything is sent through what this connector connects to.
    pub fn open_through(
        url: &BucketUrl,
        variables: &Variables,
        settings: OutputSettings,
        connector: &Arc<dyn HttpConnector>,
    ) -> Result<Self, OpenError> {
        let (shared, settings) = (Shared::default(), Arc::new(settings));
        let clients = client::build(url, variables, &settings, connector, &shared).map_err(|reason| {
            OpenError::Settings {
                url: url.to_string(),
                reason,
            }
        })?;
        let stack = |purpose, client: &Next| layers(url, purpose, client, &settings, &shared);
        let stores = clients
            .stores
            .iter()
            .map(|(purpose, client)| (*purpose, stack(*purpose, client)));
        Ok(Self(Arc::new(Opened {
            url: url.clone(),
            stores: stores.collect(),
            clients,
            shared,
            deletes_by_condition: OnceCell::new(),
        })))
    }

    /// Where it is.
    pub fn url(&self) -> &BucketUrl {
        &self.0.url
    }

    /// The journal's store. Nothing in it tries again.
    pub fn journal_store(&self) -> Arc<dyn Store> {
        let objects = self.objects(Purpose::Journal);
        Arc::new(ObjectStoreStore::new(self.0.clients.endpoint.clone(), objects))
    }

    /// The store for a purpose, rooted at the prefix. That of the journal does not try again, the others do.
    pub fn objects(&self, purpose: Purpose) -> Arc<dyn ObjectStore> {
        let store = self.0.stores.get(&purpose);
        store.expect("there is a store for each purpose").clone()
    }

    /// What was sent and received since it was opened.
    pub fn usage(&self) -> Usage {
        self.0.shared.meter.usage()
    }

    /// A child process asked this much more.
    pub fn charge(&self, more: &Usage) {
        self.0.shared.meter.add(more);
    }

    /// Which version of an object is there; `None` only if there is none. That the bucket is missing, or that the
    /// question is not allowed, is an error.
    pub async fn identity(&self, path: &str) -> Result<Option<Identity>, StoreError> {
        self.identity_for(Purpose::Head, path).await
    }

    pub(super) async fn identity_for(
        &self,
        purpose: Purpose,
        path: &str,
    ) -> Result<Option<Identity>, StoreError> {
        let location =
            Path::parse(path).map_err(|error| StoreError::from_object_store(path, &error.into()))?;
        let objects = self.objects(purpose);
        match objects.head(&location).await {
            // An answer to HEAD has no body to say what is missing, the bucket or the object; one to GET does.
            Err(Error::NotFound { .. }) if self.0.url.scheme() != Scheme::Az => {}
            answer => return present(path, answer),
        }
        present(path, objects.get(&location).await.map(|result| result.meta))
    }

    /// Whether the store deletes by condition, once that is known.
    pub(super) fn deletes_by_condition(&self) -> &OnceCell<bool> {
        &self.0.deletes_by_condition
    }

    /// The whole key of a path below the prefix.
    pub(super) fn key(&self, path: &str) -> String {
        match self.0.url.prefix() {
            "" => path.to_owned(),
            prefix => format!("{prefix}/{path}"),
        }
    }

    /// Signs a request, sends it, and reads the answer.
    pub(super) async fn send(
        &self,
        purpose: Purpose,
        path: &str,
        unsigned: Unsigned<'_>,
    ) -> Result<Answer, StoreError> {
        let unknown = |reason: String| StoreError::Unknown {
            path: path.to_owned(),
            reason,
        };
        let clients = &self.0.clients;
        let (Some(signer), Some(http)) = (&clients.signer, clients.http.get(&purpose)) else {
            return Err(unknown(
                "this store takes no requests but those of its interface".to_owned(),
            ));
        };
        let request = signer.sign(unsigned).await.map_err(unknown)?;
        let failed = |error: object_store::client::HttpError| unknown(error.to_string());
        let answer = http.execute(request).await.map_err(failed)?;
        let status = answer.status();
        let body = answer.into_body().bytes().await.map_err(failed)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { status, body })
    }
}

/// What a store answered to a signed request.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: String,
}

impl Answer {
    /// As an error.
    pub(super) fn into_error(self, path: &str) -> StoreError {
        let path = path.to_owned();
        let reason = format!("{}: {}", self.status, self.body);
        match self.status {
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => StoreError::Denied { path, reason },
            _ => StoreError::Unknown { path, reason },
        }
    }
}

fn present(
    path: &str,
    meta: object_store::Result<object_store::ObjectMeta>,
) -> Result<Option<Identity>, StoreError> {
    match meta {
        Ok(meta) => Ok(Some(identity_of(&meta))),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(StoreError::from_object_store(path, &error)),
    }
}

/// The stores around a client, from below.
fn layers(
    url: &BucketUrl,
    purpose: Purpose,
    client: &Next,
    settings: &Arc<OutputSettings>,
    shared: &Shared,
) -> Next {
    let mut store = Layered::around(client.clone(), Uniform);
    if let Some(faults) = Faults::wanted() {
        store = Layered::around(store, Unreliable(faults));
    }
    store = Layered::around(store, Checked);
    if purpose != Purpose::Journal {
        let (budget, meter) = (shared.budget.clone(), shared.meter.clone());
        store = Layered::around(store, Resumed { budget, meter });
    }
    if matches!(purpose, Purpose::Output | Purpose::Publish) {
        store = Layered::around(store, Settled);
        let settings = settings.clone();
        let sets_class = (url.scheme(), purpose) != (Scheme::S3, Purpose::Publish);
        store = Layered::around(store, Marked { settings, sets_class });
    }
    match url.prefix() {
        "" => store,
        prefix => Arc::new(PrefixStore::new(store, Path::from(prefix))),
    }
}

#[cfg(test)]
mod tests;
