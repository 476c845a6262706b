//! The clients of the three kinds of store, built from environment variables. Building sends nothing.
//!
//! There is one client for each purpose, because each has its own stack of HTTP services. They share their
//! credentials: these come from a client of their own, so that a token is fetched once and not once a purpose. That
//! one may try again by itself; the others never do.

mod aws;
mod azure;
mod gcs;
mod options;
mod profile;
mod sign;
mod tls;

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientOptions, ObjectStore, RetryConfig};

pub(super) use sign::{Signer, Unsigned};

use super::http::{Explained, Ready, Shared, stack};
use super::{BucketUrl, OutputSettings, Purpose, Scheme, Variables};

/// The clients of a bucket.
#[derive(Debug)]
pub(super) struct Clients {
    /// What the store is reached through.
    pub(super) endpoint: String,
    /// A client for each purpose, at the top of the bucket.
    pub(super) stores: BTreeMap<Purpose, Arc<dyn ObjectStore>>,
    /// Signs what the clients have no call for; nobody does so for a store of a program's own.
    pub(super) signer: Option<Signer>,
    /// Sends what was signed.
    pub(super) http: BTreeMap<Purpose, HttpClient>,
}

/// What the builders need.
struct Plan<'a> {
    url: &'a BucketUrl,
    variables: &'a Variables,
    settings: &'a OutputSettings,
    connector: &'a Arc<dyn HttpConnector>,
}

/// Builds the clients of a bucket.
pub(super) fn build(
    url: &BucketUrl,
    variables: &Variables,
    settings: &OutputSettings,
    connector: &Arc<dyn HttpConnector>,
    shared: &Shared,
) -> Result<Clients, String> {
    if let Some(own) = url.own() {
        return Ok(of_own(url, own));
    }
    tls::choose_crypto();
    let plan = Plan {
        url,
        variables,
        settings,
        connector,
    };
    match url.scheme() {
        Scheme::S3 => aws::build(&plan, shared),
        Scheme::Gs => gcs::build(&plan, shared),
        Scheme::Az => azure::build(&plan, shared),
        Scheme::Own => Err("the program that brought this store has not said which it is".to_owned()),
    }
}

/// One store for every purpose. Whether it tries again by itself is its owner's affair: the journal's entries can bear it.
fn of_own(url: &BucketUrl, store: &Arc<dyn ObjectStore>) -> Clients {
    Clients {
        endpoint: url.to_string(),
        stores: Purpose::ALL.map(|purpose| (purpose, store.clone())).into(),
        signer: None,
        http: BTreeMap::new(),
    }
}

impl Plan<'_> {
    fn variable(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?.as_str();
        (!value.is_empty()).then_some(value)
    }

    /// The first of these that is set.
    fn first_of(&self, names: &[&'static str]) -> Option<(&'static str, &str)> {
        names.iter().find_map(|name| Some((*name, self.variable(name)?)))
    }

    fn is_true(&self, name: &str) -> bool {
        self.variable(name)
            .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }

    /// The stack above the wire for each purpose.
    fn stacks(
        &self,
        options: &ClientOptions,
        shared: &Shared,
    ) -> Result<BTreeMap<Purpose, HttpClient>, String> {
        let connect = |options: &ClientOptions| self.connector.connect(options).map_err(words);
        let wire = connect(&options::for_data(options))?;
        let journal = connect(&options::for_journal(options))?;
        let stacks = Purpose::ALL.map(|purpose| {
            let wire = match purpose {
                Purpose::Journal => journal.clone(),
                _ => wire.clone(),
            };
            (purpose, stack(self.url, purpose, wire, shared))
        });
        Ok(BTreeMap::from(stacks))
    }

    fn for_credentials(&self) -> ForCredentials {
        ForCredentials(self.url.clone(), self.connector.clone())
    }
}

/// Connects to whoever hands out credentials.
#[derive(Debug)]
struct ForCredentials(BucketUrl, Arc<dyn HttpConnector>);

impl HttpConnector for ForCredentials {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let wire = self.1.connect(options)?;
        Ok(HttpClient::new(Explained::new(wire, &self.0)))
    }
}

/// One store for each purpose, by a function that builds it on a stack.
fn each_purpose<S: ObjectStore>(
    stacks: &BTreeMap<Purpose, HttpClient>,
    build: impl Fn(Purpose, Ready) -> object_store::Result<S>,
) -> Result<BTreeMap<Purpose, Arc<dyn ObjectStore>>, String> {
    let built = stacks.iter().map(|(purpose, http)| {
        let store = build(*purpose, Ready(http.clone())).map_err(words)?;
        Ok((*purpose, Arc::new(store) as Arc<dyn ObjectStore>))
    });
    built.collect()
}

fn no_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    }
}

/// Tokens come from servers next door: a few quick tries say enough.
fn credential_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 2,
        retry_timeout: std::time::Duration::from_secs(20),
        ..RetryConfig::default()
    }
}

fn words(error: object_store::Error) -> String {
    match error {
        object_store::Error::Generic { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}
