use super::*;
use crate::store::Location;

fn open(url: &str, variables: &[(&str, &str)]) -> Result<Bucket, String> {
    let Ok(Location::Bucket(url)) = url.parse() else {
        panic!("{url} is no bucket")
    };
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let opened = Bucket::open_with(&url, &variables.collect(), OutputSettings::default());
    opened.map_err(|error| error.to_string())
}

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "hidden")];

fn endpoint(url: &str, variables: &[(&str, &str)]) -> String {
    let bucket = open(url, variables).expect("a bucket");
    assert_eq!(bucket.usage(), Usage::default(), "opening sends nothing");
    bucket.journal_store().endpoint()
}

#[test]
fn the_endpoint_tells_stores_apart_and_no_secrets() {
    assert_eq!(endpoint("s3://b", &KEYS), "s3 us-east-1");
    let with = |more| [KEYS[0], KEYS[1], more];
    assert_eq!(
        endpoint("s3://b", &with(("AWS_REGION", "eu-west-1"))),
        "s3 eu-west-1"
    );
    let own = with(("AWS_ENDPOINT_URL", "https://user:hidden@s3.example:9000/"));
    assert_eq!(endpoint("s3://b", &own), "https://s3.example:9000");
    assert_eq!(
        endpoint("gs://b", &[("GOOGLE_SKIP_SIGNATURE", "true")]),
        "https://storage.googleapis.com"
    );
    let account = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "acme"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "aGlkZGVu"),
    ];
    assert_eq!(endpoint("az://c", &account), "https://acme.blob.core.windows.net");
    let emulator = [("AZURE_STORAGE_USE_EMULATOR", "true")];
    assert_eq!(
        endpoint("az://c", &emulator),
        "http://127.0.0.1:10000/devstoreaccount1"
    );
}

#[test]
fn an_unencrypted_endpoint_is_for_this_machine_or_for_those_who_ask() {
    let at = |endpoint| [KEYS[0], KEYS[1], ("AWS_ENDPOINT_URL", endpoint)];
    for here in [
        "http://127.0.0.1:9000",
        "http://localhost:9000",
        "http://[::1]:9000",
    ] {
        open("s3://b", &at(here)).expect(here);
    }
    let words = open("s3://b", &at("http://10.0.0.7:9000")).expect_err("not encrypted");
    assert!(words.contains("AWS_ALLOW_HTTP=true"), "{words}");
    let asked = [
        at("http://10.0.0.7:9000").as_slice(),
        &[("AWS_ALLOW_HTTP", "true")],
    ]
    .concat();
    open("s3://b", &asked).expect("asked for");
    let words = open("s3://b", &at("10.0.0.7:9000")).expect_err("no URL");
    assert!(words.contains("AWS_ENDPOINT_URL"), "{words}");
}

#[test]
fn what_is_missing_is_named() {
    let words = open("az://c", &[]).expect_err("no account");
    assert!(words.contains("AZURE_STORAGE_ACCOUNT_NAME"), "{words}");
    let words = open("s3://b", &KEYS[..1]).expect_err("half a key");
    assert!(words.to_lowercase().contains("secret"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_be_reached_says_so() {
    let nobody = [KEYS[0], KEYS[1], ("AWS_ENDPOINT_URL", "http://127.0.0.1:1")];
    let bucket = open("s3://b/p", &nobody).expect("a bucket");
    let error = bucket.journal_store().get("x").await.expect_err("nobody there");
    assert!(matches!(error, StoreError::Unknown { .. }), "{error:?}");
    assert!(
        error.to_string().contains("cannot connect to 127.0.0.1"),
        "{error}"
    );
    assert_eq!(bucket.usage().requests(), 1);
    bucket.identity("x").await.expect_err("nobody there");
    assert!(bucket.usage().retries > 0, "others than the journal try again");
}
