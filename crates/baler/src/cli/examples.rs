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
  baler plan ./data --look-into 0                        quicker: the footers of no job are read for it
  baler plan ./data --json | jq .looked_into.stretches   which way the rows of the first jobs would go, and why
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

pub(super) const RECEIPTS: &str = "\
Examples:
  baler receipts ./data                          one line a job, youngest first
  baler receipts ./data 17                       files, stretches and their proofs, drops, attempts and cost of one job
  baler receipts s3://bucket/lake --table events --since 24h
  baler receipts http://host:7070 --json | jq '.inputs | length'

A receipt is written a moment after its job was committed; those of the last 10,000 jobs are kept.";

pub(super) const AUDIT: &str = "\
Examples:
  baler audit s3://bucket/lake
  baler audit ./data --json | jq 'select(.kind == \"late_write\") | .path'

Exit code 0 if bucket and journal agree; 1 if a live file is missing or another version, or something lies there that nobody knows.
It needs rights to list and to read, and nothing else.";

pub(super) const UNDO: &str = "\
Examples:
  baler undo ./data 17
  baler undo s3://bucket/lake 17      a native table, within its --grace
  baler retry ./data                  afterwards: what came back may be merged again

It can be undone while all its outputs are live and all its inputs are kept: within --grace in a folder and in native tables. A
bucket that is compacted in place deletes replaced files at once.";

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
  baler verify ./data --quick    lengths and footers only
  baler verify ./data --deep     every byte and row, the receipts behind each file, and what does not belong

Exit code 0 if all is right; 1 if something is wrong, with the file and what to do.";

pub(super) const RETRY: &str = "\
Examples:
  baler retry ./data                       all that are quarantined or left alone
  baler retry ./data day=1/odd.parquet     this one";

pub(super) const JOURNAL: &str = "\
Examples:
  baler journal check s3://bucket/events
  baler journal repair s3://bucket/events --dry-run";

pub(super) const JOURNAL_CHECK: &str = "\
Examples:
  baler journal check ./data
  baler journal check s3://bucket/events --json | jq -r '.problems[].what'

Checksums, gaps, the chain of parents, format levels, ids, whether snapshots agree with the entries before them, the invariants
of the state, and whether data was written under grants that the journal does not know. Exit codes: 0 nothing is wrong, 1
something is; 'stops' in the JSON says whether Baler can go on all the same.";

pub(super) const JOURNAL_REPAIR: &str = "\
Examples:
  baler journal repair ./data --dry-run     what would be done, and which files are uncertain
  baler journal repair ./data
  baler journal repair ./data --sort-by device,ts    where everything is gone but the data, and the table was sorted so

The new journal begins with the last state that can be believed. What the old one lost is looked for in the data: outputs
tell their job by their names. Files whose rows may be doubled are held and named, never guessed about. Safe to kill and to
run again. Exit codes: 0 done or not needed, 1 done, with files that you must decide about, 2 wrong usage.";

pub(super) const UPGRADE: &str = "\
Examples:
  baler upgrade s3://bucket/events

Run it when every process that works on the root is of the new version: older ones stop with a word. There is no way back.";

#[cfg(feature = "http")]
pub(super) const CHAOS: &str = "\
Examples:
  baler chaos /mnt/shared --minutes 1
  baler chaos s3://bucket/scratch --minutes 10 --kills 100

Makes baler-chaos-<random> there, writes files of known rows to it, and compacts them with worker processes that are killed and
whose requests are refused, delayed, cut short or lose their answers, while more files arrive. Then everything heals, every row
is counted, and the folder is removed, also after Ctrl-C. Exit codes: 0 Baler kept its word, 1 it did not, or something could not
be cleaned up, 2 wrong usage.";

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
