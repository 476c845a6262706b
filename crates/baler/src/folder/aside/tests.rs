use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use baler_core::ids::JobId;
use baler_core::names::{self, OutputName};

use super::*;
use crate::depot::Found;
use crate::folder::tests::{attempt, both, content, put, root};
use crate::folder::walk::walk;

/// A consumed file, and where it is to go.
fn consumed(folder: &Folder, path: &str) -> (Original, FilePath) {
    let path = put(folder, path, "consumed");
    let identity = folder.identity_now(&path).unwrap().unwrap();
    (Original { path, identity }, names::aside(JobId(1), 0))
}

/// What others do: write a new file, and rename it over the old one.
fn overwrite(folder: &Folder, path: &FilePath, text: &str) {
    let temporary = put(folder, "_writing", text);
    fs::rename(full(folder, &temporary), full(folder, path)).unwrap();
}

fn full(folder: &Folder, path: &FilePath) -> PathBuf {
    folder.full_path(path).unwrap()
}

/// The state right after the rename, as a crash leaves it.
fn cut_off_after_rename(folder: &Folder, original: &Original, aside: &FilePath) {
    fs::create_dir_all(full(folder, aside).parent().unwrap()).unwrap();
    fs::rename(full(folder, &original.path), full(folder, aside)).unwrap();
}

#[test]
fn a_consumed_file_is_moved_out_of_sight_and_twice_is_the_same_as_once() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "day=1/a.parquet");
        for _ in 0..2 {
            assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Moved);
            assert_eq!(content(&folder, &original.path), None);
            assert_eq!(content(&folder, &aside).as_deref(), Some("consumed"));
        }
        assert_eq!(walk(&folder, None).count(), 0);
    }
}

#[test]
fn a_file_that_is_gone_leaves_nothing_to_set_aside() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "a.parquet");
        fs::remove_file(full(&folder, &original.path)).unwrap();
        assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Gone);
    }
}

#[test]
fn an_object_overwritten_between_read_and_set_aside_survives() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "a.parquet");
        overwrite(&folder, &original.path, "new data");
        assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Overwritten);
        assert_eq!(content(&folder, &original.path).as_deref(), Some("new data"));
        assert_eq!(content(&folder, &aside), None);
    }
}

#[test]
fn an_object_overwritten_between_the_look_and_the_rename_is_put_back() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "a.parquet");
        overwrite(&folder, &original.path, "new data");
        cut_off_after_rename(&folder, &original, &aside);
        let outcome = set_aside(&folder, &original, &aside).unwrap();
        let under = original.path.clone();
        assert_eq!(outcome, Aside::PutBack { under });
        assert_eq!(content(&folder, &original.path).as_deref(), Some("new data"));
        assert_eq!(content(&folder, &aside), None);
        assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Overwritten);
    }
}

#[test]
fn a_file_that_grows_after_it_was_renamed_is_put_back() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "a.parquet");
        let mut writer = fs::File::options()
            .append(true)
            .open(full(&folder, &original.path))
            .unwrap();
        assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Moved);
        io::Write::write_all(&mut writer, b" and more").unwrap();
        let under = original.path.clone();
        assert_eq!(
            set_aside(&folder, &original, &aside).unwrap(),
            Aside::PutBack { under }
        );
        assert_eq!(
            content(&folder, &original.path).as_deref(),
            Some("consumed and more")
        );
    }
}

#[test]
fn put_back_never_replaces_a_newer_file() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "day=1/a.parquet");
        overwrite(&folder, &original.path, "second");
        cut_off_after_rename(&folder, &original, &aside);
        overwrite(&folder, &original.path, "third");
        put(&folder, "day=1/a-put-back-1.parquet", "taken too");

        let under = FilePath::in_root("day=1/a-put-back-2.parquet");
        let outcome = set_aside(&folder, &original, &aside).unwrap();
        assert_eq!(outcome, Aside::PutBack { under: under.clone() });
        assert_eq!(content(&folder, &original.path).as_deref(), Some("third"));
        assert_eq!(content(&folder, &under).as_deref(), Some("second"));
        assert_eq!(content(&folder, &aside), None);
    }
}

#[test]
fn crash_between_rename_and_compare_is_recovered() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "a.parquet");
        cut_off_after_rename(&folder, &original, &aside);
        overwrite(&folder, &original.path, "new data");
        assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Moved);
        assert_eq!(content(&folder, &original.path).as_deref(), Some("new data"));
        assert_eq!(content(&folder, &aside).as_deref(), Some("consumed"));
    }
}

#[test]
fn crash_in_the_middle_of_putting_back_is_recovered() {
    for under in ["a.parquet", "a-put-back-1.parquet"] {
        for (_dir, folder) in both() {
            let (original, aside) = consumed(&folder, "a.parquet");
            overwrite(&folder, &original.path, "second");
            cut_off_after_rename(&folder, &original, &aside);
            if under != "a.parquet" {
                overwrite(&folder, &original.path, "third");
            }
            let under = FilePath::in_root(under);
            fs::hard_link(full(&folder, &aside), full(&folder, &under)).unwrap();

            let outcome = set_aside(&folder, &original, &aside).unwrap();
            assert_eq!(outcome, Aside::PutBack { under: under.clone() });
            assert_eq!(content(&folder, &under).as_deref(), Some("second"));
            assert_eq!(content(&folder, &aside), None);
        }
    }
}

#[test]
fn a_consumed_file_linked_back_to_its_name_is_set_aside_again() {
    for (_dir, folder) in both() {
        let (original, aside) = consumed(&folder, "a.parquet");
        set_aside(&folder, &original, &aside).unwrap();
        fs::hard_link(full(&folder, &aside), full(&folder, &original.path)).unwrap();
        assert_eq!(set_aside(&folder, &original, &aside).unwrap(), Aside::Moved);
        assert_eq!(content(&folder, &original.path), None);
        assert_eq!(content(&folder, &aside).as_deref(), Some("consumed"));
    }
}

#[test]
fn a_name_put_back_is_ordinary_data() {
    let long = format!("{}é.parquet", "x".repeat(STEM_BYTES_MAX - 1));
    let output = attempt().output(baler_core::ids::JournalId(7), &"d".into(), 0);
    for original in [output, FilePath::in_root(format!("d/{long}"))] {
        let fresh = fresh_name(&original, 10);
        assert!(names::is_data_path(&fresh.path));
        assert_eq!(OutputName::parse(fresh.name()), None);
        assert_eq!(fresh.folder(), "d");
        assert!(fresh.name().len() <= 255);
    }
}

#[test]
fn one_bad_file_does_not_stop_the_sweep() {
    let (_dir, folder) = root();
    let (good, aside) = consumed(&folder, "a.parquet");
    let bad = Original {
        path: FilePath::in_root("../outside.parquet"),
        identity: good.identity.clone(),
    };
    let files = [bad, good].map(|original| ToSetAside {
        original,
        aside: aside.clone(),
    });
    let outcomes = set_aside_all(&folder, &files).unwrap();
    assert!(outcomes[0].is_err());
    assert!(matches!(outcomes[1], Ok(Aside::Moved)));
}

#[test]
fn many_collectors_at_once_all_see_where_the_file_went() {
    for (_dir, folder) in both() {
        for round in 0..50 {
            let (original, _) = consumed(&folder, "a.parquet");
            let aside = names::aside(JobId(1), round);
            let outcomes: Vec<_> = thread::scope(|scope| {
                let collector = || set_aside(&folder, &original, &aside).unwrap();
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(collector)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(outcomes, vec![Aside::Moved; 4]);
        }
    }
}

/// A writer overwrites a file again and again, and two collectors take whatever version they see for the consumed
/// one: every version that they do not own up to having moved is still among the data, or was replaced by the
/// writer itself.
#[test]
fn no_version_is_lost_while_others_overwrite() {
    for (_dir, folder) in both() {
        let path = put(&folder, "a.parquet", "version 0");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for job in 1..3 {
                let (folder, path, done) = (&folder, &path, &done);
                scope.spawn(move || {
                    for round in 0.. {
                        if done.load(Ordering::Relaxed) {
                            return;
                        }
                        // The identity of a version that was overwritten a moment ago, most of the time.
                        let Some(identity) = folder.identity_now(path).unwrap() else {
                            continue;
                        };
                        thread::yield_now();
                        let original = Original {
                            path: path.clone(),
                            identity,
                        };
                        let aside = names::aside(JobId(job), round);
                        let outcome = set_aside(folder, &original, &aside).unwrap();
                        if outcome == Aside::Moved {
                            let version = content(folder, &aside).unwrap();
                            put(folder, &format!("_moved/{version}"), "");
                        } else {
                            assert_eq!(content(folder, &aside), None);
                        }
                    }
                });
            }
            for number in 1..400 {
                overwrite(&folder, &path, &format!("version {number}"));
                thread::yield_now();
            }
            overwrite(&folder, &path, "version 400");
            thread::sleep(std::time::Duration::from_millis(50));
            done.store(true, Ordering::Relaxed);
        });
        let mut last_seen = folder.path().join("_moved/version 400").exists();
        for found in walk(&folder, None) {
            if let Found::Data(file) = found.unwrap() {
                last_seen |= content(&folder, &file.path).as_deref() == Some("version 400");
            }
        }
        assert!(last_seen, "the last version is neither data nor knowingly moved");
    }
}
