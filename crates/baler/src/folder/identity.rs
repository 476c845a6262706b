//! Which version of a name a file is: its inode, the nanosecond it was last written, and its length. A rename keeps
//! all three; writing in place, or replacing the file by another, changes at least one.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use baler_core::file::Identity;
use baler_core::time::StoreTime;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Kernels stamp files by a clock that ticks every 1 to 10 ms; twice that is past the tick.
const TICK: Duration = Duration::from_millis(20);

/// The coarsest clock among file systems in use (FAT) ticks every 2 s.
const COARSE_TICK: Duration = Duration::from_millis(2_100);

/// The identity of the file with this metadata.
pub fn identity(metadata: &Metadata) -> Identity {
    let modified_ns = modified_ns(metadata);
    let modified_ms = u64::try_from(modified_ns / 1_000_000).unwrap_or(0);
    Identity {
        tag: format!("{:x}-{modified_ns:x}", metadata.ino()).into(),
        bytes: metadata.len(),
        modified: StoreTime { unix_ms: modified_ms },
    }
}

/// Whether a file with this identity can be a copy of the one with the older: it is as long, and has the time of that one, of which
/// some archives keep whole seconds only. A rewrite of the same length within one second is taken for a copy by such an archive.
pub fn is_copy(of: &Identity, now: &Identity) -> bool {
    let times = modified_in(of).zip(modified_in(now));
    let same_time = times.is_some_and(|(of, now)| {
        let whole_seconds = now % NANOS_PER_SECOND == 0;
        of == now || (whole_seconds && of.div_euclid(NANOS_PER_SECOND) == now / NANOS_PER_SECOND)
    });
    of == now || (of.bytes == now.bytes && same_time)
}

/// The time that an identity was made of.
fn modified_in(identity: &Identity) -> Option<i128> {
    let (_, modified) = identity.tag.split_once('-')?;
    // Times before 1970 are written as their complement.
    u128::from_str_radix(modified, 16).ok().map(u128::cast_signed)
}

fn modified_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.mtime()) * NANOS_PER_SECOND + i128::from(metadata.mtime_nsec())
}

/// How long to wait until any further write to this file must show in its identity. A file read within the tick in
/// which it was written could be written once more without its time changing, and the rows of that second write
/// would be lost with it.
pub(super) fn blind_for(metadata: &Metadata, now: SystemTime) -> Option<Duration> {
    let coarse = metadata.mtime_nsec() == 0;
    let tick = if coarse { COARSE_TICK } else { TICK };
    let now_ns = match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
        Err(_) => return Some(tick),
    };
    let age_ns = now_ns - modified_ns(metadata);
    let tick_ns = tick.as_nanos() as i128;
    (age_ns.abs() < tick_ns).then_some(tick)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_rename_keeps_the_identity_and_a_rewrite_changes_it() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&a, "rows").unwrap();
        let before = identity(&fs::metadata(&a).unwrap());
        fs::rename(&a, &b).unwrap();
        assert_eq!(identity(&fs::metadata(&b).unwrap()), before);

        std::thread::sleep(TICK);
        fs::write(&b, "sowr").unwrap();
        assert_ne!(
            identity(&fs::metadata(&b).unwrap()),
            before,
            "same inode, same length"
        );
    }

    #[test]
    fn a_copy_is_known_by_its_time_and_length_and_by_whole_seconds_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, seconds: u64, nanos: u32| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            let modified = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
            fs::File::open(&path).unwrap().set_modified(modified).unwrap();
            identity(&fs::metadata(&path).unwrap())
        };
        let original = write("original", "rows", 1_000, 123_456_789);
        for (is, copy) in [
            (true, write("copy", "rows", 1_000, 123_456_789)),
            (true, write("from-an-archive", "rows", 1_000, 0)),
            (false, write("longer", "more rows", 1_000, 123_456_789)),
            (false, write("later", "rows", 1_000, 123_456_790)),
            (false, write("a-second-later", "rows", 1_001, 0)),
        ] {
            assert_eq!(is_copy(&original, &copy), is, "{copy:?}");
        }
    }

    #[test]
    fn a_file_written_before_1970_still_has_an_identity() {
        let dir = tempfile::tempdir().unwrap();
        let file = fs::File::create(dir.path().join("old")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH - Duration::from_secs(5))
            .unwrap();
        assert_eq!(identity(&file.metadata().unwrap()).modified.unix_ms, 0);
    }

    #[test]
    fn only_a_file_of_this_very_moment_has_to_wait() {
        let dir = tempfile::tempdir().unwrap();
        let file = fs::File::create(dir.path().join("f")).unwrap();
        let written = SystemTime::UNIX_EPOCH + Duration::new(1_000_000, 500);
        file.set_modified(written).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(
            blind_for(&metadata, written + Duration::from_millis(1)),
            Some(TICK)
        );
        assert_eq!(blind_for(&metadata, written + Duration::from_secs(1)), None);

        let whole_second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        file.set_modified(whole_second).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(
            blind_for(&metadata, whole_second + Duration::from_secs(1)),
            Some(COARSE_TICK)
        );
    }
}
