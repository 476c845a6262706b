//! Settings in words, for people.

use std::time::Duration;

use baler_core::table::{MergeSpec, Policy, Rule, SortColumn, TableSpec};
use baler_core::time::Millis;

/// A sort key in words.
pub fn describe_sort(sort: &[SortColumn]) -> String {
    if sort.is_empty() {
        return "not sorted".to_owned();
    }
    let columns: Vec<String> = sort
        .iter()
        .map(|column| {
            let direction = if column.descending { ":desc" } else { "" };
            let nulls = if column.nulls_first { ":nulls-first" } else { "" };
            format!("{}{direction}{nulls}", column.name)
        })
        .collect();
    format!("sorted by {}", columns.join(","))
}

/// A merge rule in words.
pub fn describe_rule(merge: &MergeSpec) -> String {
    match &merge.rule {
        Rule::KeepAll => format!("{}, all rows kept", describe_sort(&merge.sort)),
        Rule::LastWriteWins { key, version } => {
            format!(
                "{}, the greatest {version} of each {} kept",
                describe_sort(&merge.sort),
                key.join(",")
            )
        }
    }
}

/// A table in words.
pub fn describe_table(spec: &TableSpec) -> String {
    let merge = &spec.merge;
    let mut words = vec![describe_rule(merge)];
    words.extend(merge.format.as_ref().map(|name| format!("format {name}")));
    words.extend(merge.row_time.as_ref().map(|column| format!("row time {column}")));
    words.extend(
        spec.retention
            .map(|kept| format!("files kept for {}", length(kept))),
    );
    words.extend(
        merge
            .deleted
            .as_ref()
            .map(|column| format!("rows deleted where {column}")),
    );
    let expire = merge.expire.as_ref();
    words
        .extend(expire.map(|expire| format!("rows expire {} after {}", length(expire.after), expire.column)));
    words.extend(
        merge
            .lateness
            .map(|late| format!("rows at most {} late", length(late))),
    );
    words.extend(spec.tenant.as_ref().map(|name| format!("tenants by {name}")));
    words.extend(spec.shard.as_ref().map(|name| format!("shards by {name}")));
    let across = spec.cross_shard_from;
    words.extend(across.map(|level| format!("merged across shards from level {}", level.0)));
    words.extend(describe_policy(&spec.policy));
    words.extend((!merge.verify.is_none()).then(|| "what is written is read back".to_owned()));
    words.join("; ")
}

fn describe_policy(policy: &Policy) -> Option<String> {
    match policy {
        Policy::Leveled(_) => None,
        Policy::SizeTiered(_) => Some("merged by size".to_owned()),
        Policy::Owner => Some("merged as its owner's policy says".to_owned()),
        Policy::TimeWindow(settings) => Some(format!("merged in windows of {}", length(settings.window))),
    }
}

/// Whole days as days: months and years have no fixed length.
fn length(millis: Millis) -> String {
    const DAY_MS: u64 = 24 * 3_600_000;
    if millis.0 >= DAY_MS && millis.0.is_multiple_of(DAY_MS) {
        return format!("{}d", millis.0 / DAY_MS);
    }
    humantime::format_duration(Duration::from_millis(millis.0)).to_string()
}
