//! Options of the HTTP clients: time-outs, proxies, and whether a connection may go unencrypted.

use std::net::IpAddr;
use std::time::Duration;

use http::HeaderValue;
use object_store::client::ClientConfigKey;
use object_store::{ClientOptions, signer::Url};

use super::Plan;

/// A connection that says nothing for so long is broken.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// A request for data that takes longer is given up. A part of an upload is a few megabytes.
const DATA_TIMEOUT: Duration = Duration::from_secs(300);
/// A request of the journal that takes longer has an unknown outcome.
const JOURNAL_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The options in variables with this prefix, such as `AWS_PROXY_URL`.
pub(super) fn from_variables(plan: &Plan<'_>, prefix: &str) -> ClientOptions {
    let agent = HeaderValue::from_static(concat!("baler/", env!("CARGO_PKG_VERSION")));
    let mut options = ClientOptions::new()
        .with_user_agent(agent)
        .with_connect_timeout(CONNECT_TIMEOUT);
    for (name, value) in plan.variables {
        let Some(name) = name.strip_prefix(prefix) else {
            continue;
        };
        if let Ok(key) = name.to_ascii_lowercase().parse::<ClientConfigKey>() {
            options = options.with_config(key, value);
        }
    }
    options
}

/// Reads and writes of data.
pub(super) fn for_data(options: &ClientOptions) -> ClientOptions {
    options
        .clone()
        .with_timeout(DATA_TIMEOUT)
        .with_read_timeout(SILENCE_MAX)
}

/// The journal's requests.
pub(super) fn for_journal(options: &ClientOptions) -> ClientOptions {
    options.clone().with_timeout(JOURNAL_TIMEOUT)
}

/// Unencrypted connections are for this machine, or for those who ask for them.
pub(super) fn allow_http(
    options: ClientOptions,
    endpoint: Option<(&str, &str)>,
    asked: (&str, bool),
) -> Result<ClientOptions, String> {
    let Some((variable, endpoint)) = endpoint else {
        return Ok(options);
    };
    let url = Url::parse(endpoint).map_err(|error| format!("{variable}={endpoint} is no URL: {error}"))?;
    match url.scheme() {
        "https" => Ok(options),
        "http" if asked.1 || is_loopback(&url) => Ok(options.with_allow_http(true)),
        "http" => Err(format!(
            "{variable}={endpoint} is not encrypted; use https://, or set {}=true if that is meant",
            asked.0
        )),
        _ => Err(format!(
            "{variable}={endpoint} begins neither with https:// nor with http://"
        )),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The endpoint as it is shown and recorded: without a password.
pub(super) fn shown(endpoint: &str) -> String {
    let Ok(mut url) = Url::parse(endpoint) else {
        return endpoint.to_owned();
    };
    let _without_user = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url.as_str().trim_end_matches('/').to_owned()
}
