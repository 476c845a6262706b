//! The servers themselves: they end when they should, and keep what they acknowledged.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use baler_teststores::{Fault, FaultProxy, Seaweed, shared_azurite, shared_seaweed};
use object_store::{ObjectStoreExt, PutPayload};

fn is_running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_killed_server_is_gone_and_comes_back_with_its_objects() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(seaweed) = Seaweed::start(directory.path()).await.unwrap() else {
        return;
    };
    let bucket = seaweed.new_bucket().await.unwrap();
    let client = seaweed.s3().client(&bucket);
    client
        .put(&"a/b".into(), PutPayload::from_static(b"kept"))
        .await
        .unwrap();
    let pid = seaweed.pid().unwrap();
    assert!(is_running(pid));
    seaweed.kill();
    assert!(!is_running(pid));
    assert!(client.get(&"a/b".into()).await.is_err());
    seaweed.restart().await.unwrap();
    let found = client.get(&"a/b".into()).await.unwrap().bytes().await.unwrap();
    assert_eq!(found, "kept");
    let pid = seaweed.pid().unwrap();
    drop(seaweed);
    assert!(!is_running(pid), "a dropped server is ended");
}

/// Tests are killed too: by a time limit, by Ctrl-C, by a lack of memory. This one runs itself once more, as the process
/// that is killed.
#[tokio::test]
async fn a_server_ends_with_the_process_that_started_it() {
    const VICTIM: &str = "BALER_TEST_VICTIM";
    if std::env::var_os(VICTIM).is_some() {
        let azurite = shared_azurite().await.unwrap();
        println!("\nserver: {}", azurite.pid().unwrap());
        return std::future::pending().await;
    }
    if std::env::var_os("BALER_AZURITE").is_none() {
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("servers::a_server_ends_with_the_process_that_started_it")
        .env(VICTIM, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let mut said = lines.map_while(Result::ok);
    let pid = said
        .find_map(|line| line.strip_prefix("server: ")?.parse().ok())
        .unwrap();
    assert!(is_running(pid));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let begun = Instant::now();
    while is_running(pid) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{pid} is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn buckets_and_containers_are_ones_own() {
    if let Some(seaweed) = shared_seaweed().await {
        let (one, two) = (
            seaweed.new_bucket().await.unwrap(),
            seaweed.new_bucket().await.unwrap(),
        );
        let (one, two) = (seaweed.s3().client(&one), seaweed.s3().client(&two));
        one.put(&"x".into(), PutPayload::from_static(b"1")).await.unwrap();
        assert!(matches!(
            two.head(&"x".into()).await,
            Err(object_store::Error::NotFound { .. })
        ));
    }
    if let Some(azurite) = shared_azurite().await {
        let (one, two) = (
            azurite.new_container().await.unwrap(),
            azurite.new_container().await.unwrap(),
        );
        let (one, two) = (azurite.azure().client(&one), azurite.azure().client(&two));
        one.put(&"x".into(), PutPayload::from_static(b"1")).await.unwrap();
        assert!(matches!(
            two.head(&"x".into()).await,
            Err(object_store::Error::NotFound { .. })
        ));
    }
}

/// What the client is told, and what the server did, for each fault.
#[tokio::test]
async fn the_proxy_does_what_it_says() {
    let Some(seaweed) = shared_seaweed().await else {
        return;
    };
    let bucket = seaweed.new_bucket().await.unwrap();
    let proxy = FaultProxy::start(seaweed.s3()).await.unwrap();
    let through = proxy
        .s3()
        .client_with_timeout(&bucket, Duration::from_millis(500));
    let direct = seaweed.s3().client(&bucket);
    let late = Duration::from_millis(200);
    let faults = [
        (Fault::DropRequest, false),
        (Fault::LoseResponse, true),
        (Fault::DelayResponse(Duration::from_secs(1)), true),
        (Fault::CutResponse(10), true),
        (Fault::Answer(503), false),
        (Fault::ForwardThenAnswer(500), true),
        (Fault::ApplyLate(503, late), false),
    ];
    for (number, (fault, applied)) in faults.into_iter().enumerate() {
        let path = object_store::path::Path::from(format!("folder/{number}"));
        proxy.plan("PUT", path.as_ref(), 2, fault.clone());
        let put = async || through.put(&path, PutPayload::from_static(b"x")).await;
        assert!(put().await.is_ok(), "the first is let through");
        direct.delete(&path).await.unwrap();
        assert!(put().await.is_err(), "{fault:?}");
        assert_eq!(direct.head(&path).await.is_ok(), applied, "{fault:?}");
        proxy.late_ones_landed().await;
        let landed = applied || matches!(fault, Fault::ApplyLate(..));
        assert_eq!(direct.head(&path).await.is_ok(), landed, "{fault:?}");
        let hit = proxy
            .take_exchanges()
            .into_iter()
            .filter_map(|exchange| exchange.fault);
        assert_eq!(hit.collect::<Vec<_>>(), [fault]);
    }
    let path = object_store::path::Path::from("folder/body");
    direct
        .put(&path, PutPayload::from_static(b"ten bytes!"))
        .await
        .unwrap();
    proxy.plan("GET", path.as_ref(), 1, Fault::CutBody(4));
    let cut = through.get(&path).await.unwrap().bytes().await;
    assert!(cut.is_err(), "{cut:?}");
    let whole = through.get(&path).await.unwrap().bytes().await.unwrap();
    assert_eq!(whole, "ten bytes!");
    assert_eq!(proxy.faults_left(), 0);
}
