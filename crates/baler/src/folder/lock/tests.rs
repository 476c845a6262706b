use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;
use crate::folder::tests::root;

const CHILD_ROOT: &str = "BALER_TEST_LOCK_ROOT";

/// Not a test of its own: what the child process of the tests below does.
#[test]
fn hold_a_lock_until_killed() {
    let Some(root) = std::env::var_os(CHILD_ROOT) else {
        return;
    };
    let folder = Folder::open_root(Path::new(&root)).unwrap();
    let lock = WatcherLock::create(&folder, WatcherId(0xdead)).unwrap();
    let host = lock.host().unwrap();
    println!("\nlocked {} {}", host.boot, host.lock);
    loop {
        std::thread::park();
    }
}

/// Another process that holds a watcher's lock.
fn other_watcher(folder: &Folder) -> (Child, HostLock) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "folder::lock::tests::hold_a_lock_until_killed",
            "--nocapture",
        ])
        .env(CHILD_ROOT, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("locked "))
        .unwrap();
    let mut words = line.split(' ').skip(1);
    let host = HostLock {
        boot: words.next().unwrap().into(),
        lock: words.next().unwrap().into(),
    };
    (child, host)
}

fn tells_boots_apart() -> bool {
    let yes = Path::new("/proc/sys/kernel/random/boot_id").exists();
    if !yes {
        println!("skipped: this system has no boot id, so a lock proves nothing on it");
    }
    yes
}

#[test]
fn a_dead_watchers_lock_is_seen_at_once() {
    if !tells_boots_apart() {
        return;
    }
    let (_dir, folder) = root();
    let (mut child, host) = other_watcher(&folder);
    assert!(!is_dead(&folder, &host));
    remove_dead(&folder, &host).unwrap();
    assert_eq!(remove_forgotten(&folder, []).unwrap(), 0);
    assert!(
        !is_dead(&folder, &host),
        "it lives, and its lock file is still there"
    );

    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_dead(&folder, &host));
    assert!(is_dead(&folder, &host), "looking does not destroy the proof");
    remove_dead(&folder, &host).unwrap();
    assert!(!folder.path().join(&*host.lock).exists());
}

#[test]
fn a_free_lock_proves_nothing_across_boots() {
    if !tells_boots_apart() {
        return;
    }
    let (_dir, folder) = root();
    let lock = WatcherLock::create(&folder, WatcherId(1)).unwrap();
    let host = lock.host().unwrap();
    drop(lock);
    assert!(is_dead(&folder, &host));
    let (boot, rest) = host.boot.split_once(':').unwrap();
    let (device, inode) = rest.split_once(':').unwrap();
    for elsewhere in [
        format!("00000000-0000-0000-0000-000000000000:{device}:{inode}"),
        format!("{boot}:{device}f:{inode}"),
        format!("{boot}:{device}:{inode}f"),
        boot.to_owned(),
    ] {
        let other = HostLock {
            boot: elsewhere.into(),
            lock: host.lock.clone(),
        };
        assert!(!is_dead(&folder, &other), "{}", other.boot);
        remove_dead(&folder, &other).unwrap();
    }
    assert!(is_dead(&folder, &host), "nobody removed what he could not judge");
}

#[test]
fn a_missing_lock_file_proves_nothing() {
    let (_dir, folder) = root();
    let lock = WatcherLock::create(&folder, WatcherId(1)).unwrap();
    let Some(host) = lock.host() else {
        return;
    };
    fs::remove_file(folder.path().join(&*host.lock)).unwrap();
    assert!(!is_dead(&folder, &host));
    let strange = HostLock {
        lock: "a.parquet".into(),
        ..host
    };
    assert!(!is_dead(&folder, &strange));
}

#[test]
fn two_who_look_at_the_same_time_both_see_the_death() {
    if !tells_boots_apart() {
        return;
    }
    let (_dir, folder) = root();
    let lock = WatcherLock::create(&folder, WatcherId(1)).unwrap();
    let host = lock.host().unwrap();
    drop(lock);
    let looking = File::open(folder.path().join(&*host.lock)).unwrap();
    looking.try_lock_shared().unwrap();
    assert!(is_dead(&folder, &host));
}

#[test]
fn forgotten_lock_files_are_removed_and_known_ones_stay() {
    let (_dir, folder) = root();
    let known = WatcherLock::create(&folder, WatcherId(1)).unwrap();
    drop(WatcherLock::create(&folder, WatcherId(2)).unwrap());
    WatcherLock::create(&folder, WatcherId(3))
        .unwrap()
        .leave()
        .unwrap();
    let Some(host) = known.host() else {
        return;
    };
    drop(known);
    fs::write(folder.path().join(WATCHERS).join("notes.lock"), "not ours").unwrap();
    assert_eq!(remove_forgotten(&folder, [&host]).unwrap(), 1);
    let mut left: Vec<_> = fs::read_dir(folder.path().join(WATCHERS))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["00000000000000000000000000000001.lock", "notes.lock"]);
}
