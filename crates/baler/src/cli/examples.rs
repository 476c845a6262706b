//! What the help of each command shows below its flags.

pub(super) const COMPACT: &str = "\
Examples:
  baler compact ./data --output ./packed             leave ./data untouched; run again to take what is new
  baler compact ./data                               in place: replaced files are set aside, then deleted
  baler compact ./data --sort-by series_id,ts        sorted, so that readers can skip
  baler compact ./data --key id --newest updated_at  keep the newest row of each id
  baler compact ./data --partition 'day=2026-11-*' --max-bytes 10GiB
  baler compact s3://bucket/lake --table events      a native table; without --table, all of the root
  baler compact ./strange --isolate --verify reread  for files of strangers

Exit codes: 0 done, 1 failed or something is quarantined or changed, 2 wrong usage.";

pub(super) const PLAN: &str = "\
Examples:
  baler plan ./data --sort-by series_id,ts
  baler plan ./data --json | jq 'select(.job == null)'   the files that would be left alone, with reasons";

pub(super) const STATUS: &str = "\
Examples:
  baler status ./data
  baler status ./data --json | jq .quarantined
  baler status http://host:7070 --watch          a coordinator knows how far its workers are";

pub(super) const FILES: &str = "\
Examples:
  baler files ./data
  baler files ./data --json | jq -r .path
  baler files ./lake --table events --at 120     as they were after entry 120
  baler files ./lake --at 121.0                  the version that pin 121.0 holds";

pub(super) const TABLE: &str = "\
Examples:
  baler table create ./lake events --sort-by ts
  baler add ./lake events day=1/part-0.parquet
  baler compact ./lake
  baler files ./lake --table events";

pub(super) const TABLE_CREATE: &str = "\
Examples:
  baler table create ./lake events --sort-by series_id,ts
  baler table create s3://bucket/lake logs --row-time ts --retain 30d
  baler table create ./lake users --key id --newest seq --row-time at:ms --lateness 1h --drop-deleted-where gone
  baler table create ./lake sessions --row-time began --expire-after 7d
  baler table create ./lake metrics --row-time ts --policy time-window --window 1h --tenant tenant";

pub(super) const TABLE_ALTER: &str = "\
Examples:
  baler table alter ./lake logs --retain 90d
  baler table alter ./lake logs --retain none";

#[cfg(feature = "http")]
pub(super) const SERVE: &str = "\
Examples:
  baler serve ./data                                     one process does it all
  baler serve s3://bucket/events --no-worker --listen 0.0.0.0:7070 --token-file token
  curl localhost:7070/v1/status

Any number of coordinators may serve one root. Ctrl-C or SIGTERM gives back what is not finished and ends.";

#[cfg(feature = "http")]
pub(super) const WORKER: &str = "\
Examples:
  baler worker http://host-1:7070 http://host-2:7070 --token-file token
  baler worker s3://bucket/events                        no coordinator: any number of these share the work
  baler worker --roots-under s3://bucket/dbs --workers 4 --workers-per-root 2    for all roots below, in turn
  baler worker s3://bucket/events --cache /var/cache/baler --cache-bytes 100GiB --listen 7071

Start one more to go faster; kill any of them at any time. Ctrl-C or SIGTERM gives back what is not finished and ends.";

pub(super) const TABLE_LIST: &str = "\
Examples:
  baler table list ./lake
  baler table list ./lake --json | jq -r .name";

pub(super) const TABLE_DROP: &str = "\
Examples:
  baler table drop ./lake events     its files go with `baler gc`, after the grace period";

pub(super) const ADD: &str = "\
Examples:
  baler add ./lake events day=1/part-0.parquet day=1/part-1.parquet
  baler add s3://bucket/lake events s3://bucket/lake/day=1/part-0.parquet
  find lake/day=1 -name '*.parquet' -printf 'day=1/%P\\n' | baler add ./lake events -

A file's folder is its partition: files of two folders are never merged. Repeating it adds nothing, also after the files
were compacted. Exit codes: 0 all are in the table, 1 some are not, 2 wrong usage.";

pub(super) const PIN: &str = "\
Examples:
  baler pin ./lake events --for 2h --owner nightly-report
  baler pin ./lake events --json | jq -r '.files[].path'";

pub(super) const UNPIN: &str = "\
Examples:
  baler unpin ./lake 121.0";

pub(super) const JOBS: &str = "\
Examples:
  baler jobs ./data
  baler jobs ./data --json | jq 'select(.status == \"cancelled\") | .reason'
  baler jobs http://host:7070 --watch            with how far each is, and how long it will still take";

pub(super) const CANCEL: &str = "\
Examples:
  baler cancel ./data 17";

pub(super) const PAUSE: &str = "\
Examples:
  baler pause ./data                  the whole root
  baler pause ./lake --table events   one table";

pub(super) const RESUME: &str = "\
Examples:
  baler resume ./data
  baler resume ./lake --table events";

pub(super) const GC: &str = "\
Examples:
  baler gc ./data --dry-run      what would go, and why
  baler gc ./data                what has waited out its grace period
  baler gc ./data --now          without waiting: nobody reads the replaced files any more";

pub(super) const VERIFY: &str = "\
Examples:
  baler verify ./data            read everything, compare with what is on record
  baler verify ./data --quick    lengths and footers only";

pub(super) const RETRY: &str = "\
Examples:
  baler retry ./data                       all that are quarantined or left alone
  baler retry ./data day=1/odd.parquet     this one";

pub(super) const DEMO: &str = "\
Examples:
  baler demo
  baler demo --dir /tmp/demo --files 200";

pub(super) const COMPLETIONS: &str = "\
Examples:
  baler completions bash > ~/.local/share/bash-completion/completions/baler
  baler completions zsh > \"${fpath[1]}/_baler\"
  baler completions fish > ~/.config/fish/completions/baler.fish";

pub(super) const MAN: &str = "\
Examples:
  baler man ~/.local/share/man/man1 && man baler-compact";
