//! Shared by the stories of this module, and the stories of `Folder` itself.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use baler_core::ids::{JobId, RangeId, Sequence, Token};
use baler_core::names::Attempt;

use super::*;

/// A fresh root.
pub(super) fn root() -> (tempfile::TempDir, Folder) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let folder = Folder::open_root(&root).unwrap();
    (dir, folder)
}

/// A fresh root on each kind of file system: one that can rename without replacing, and one that cannot.
pub(super) fn both() -> [(tempfile::TempDir, Folder); 2] {
    let ((native_dir, native), (other_dir, other)) = (root(), root());
    [(native_dir, native), (other_dir, other.without_no_replace())]
}

/// Permissions do not bind root. So a test of them, when root runs it, is run by another user in a process of its own,
/// and this returns whether that was done.
pub(super) fn ran_as_ordinary_user(test: &str) -> bool {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    // A copy, because the other user may not be allowed to where this one lies.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let run = || {
        let mut command = Command::new(&copy);
        command.args(["--exact", test, "--nocapture"]).current_dir("/");
        command.env_remove("TMPDIR").uid(NOBODY).gid(NOBODY).output()
    };
    // A process that another test began while the copy was written has it open until it runs something else.
    let busy =
        |run: &io::Result<_>| matches!(run, Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy);
    let mut output = run();
    while busy(&output) {
        std::thread::sleep(std::time::Duration::from_millis(20));
        output = run();
    }
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    true
}

/// Some attempt.
pub(super) fn attempt() -> Attempt {
    let token = Token {
        sequence: Sequence(45),
        index: 3,
    };
    Attempt {
        job: JobId(12),
        range: RangeId::Keys(0),
        token,
    }
}

/// Writes a file below the folder, and the folders above it.
pub(super) fn put(folder: &Folder, path: &str, content: &str) -> FilePath {
    let full = folder.path().join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, content).unwrap();
    folder.file_path(path)
}

/// What a file below the folder holds.
pub(super) fn content(folder: &Folder, path: &FilePath) -> Option<String> {
    fs::read_to_string(folder.path().join(&*path.path)).ok()
}

#[test]
fn a_folder_is_opened_under_its_one_canonical_name() {
    let (dir, folder) = root();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    assert_eq!(Folder::open_root(&link).unwrap().path(), folder.path());
    let dotted = folder.path().join("..").join("root");
    assert_eq!(Folder::open_root(&dotted).unwrap().path(), folder.path());
}

#[test]
fn what_cannot_be_opened_says_why() {
    let (dir, folder) = root();
    let missing = Folder::open_root(&dir.path().join("misspelt")).unwrap_err();
    assert!(missing.to_string().contains("does not exist"), "{missing}");
    put(&folder, "a.parquet", "rows");
    let file = Folder::open_root(&folder.path().join("a.parquet")).unwrap_err();
    assert!(file.to_string().contains("is not a directory"), "{file}");
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let (_dir, folder) = root();
    for path in ["../x", "a/../../x", "/etc/passwd", "", "a//b", "./a", "a/"] {
        assert!(folder.full_path(&FilePath::in_root(path)).is_err(), "{path}");
    }
    assert!(folder.full_path(&FilePath::in_source("a")).is_err());
    assert!(folder.full_path(&FilePath::in_root("a/b")).is_ok());
}

#[test]
fn a_folder_that_went_away_has_lost_no_file() {
    let (_dir, folder) = root();
    let path = put(&folder, "a.parquet", "rows");
    assert!(folder.identity_now(&path).unwrap().is_some());
    assert_eq!(
        folder.identity_now(&FilePath::in_root("b.parquet")).unwrap(),
        None
    );
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(
        folder.identity_now(&path),
        Err(FolderError::Replaced { .. })
    ));
    fs::create_dir(folder.path()).unwrap();
    let other = Folder::open_root(folder.path()).unwrap();
    if other.inode != folder.inode {
        assert!(matches!(
            folder.identity_now(&path),
            Err(FolderError::Replaced { .. })
        ));
    }
}

#[test]
fn a_new_root_is_made_with_all_the_folders_above_it() {
    let (dir, _) = root();
    let deep = dir.path().join("x/y/z");
    assert_eq!(
        Folder::create_root(&deep).unwrap().path(),
        fs::canonicalize(&deep).unwrap()
    );
}
