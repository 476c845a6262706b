//! The partition of a file that is added: its folder, and where tenant or shard are no folders, what the file says of them.

use std::sync::Arc;

use baler_core::file::FilePath;
use baler_core::ids::Partition;
use baler_core::names;
use baler_core::table::TableSpec;
use baler_merge::Facts;

/// A file belongs to one tenant and one shard: those of its folder, or of all its rows.
pub(super) fn of(spec: &TableSpec, path: &FilePath, facts: &Facts) -> Result<Partition, String> {
    let mut partition = names::folder_partition(path);
    for name in spec.tenant.iter().chain(&spec.shard) {
        if partition.value_of(name).is_none() {
            let value = facts.constant_of(name).ok_or_else(|| unclear(name, facts))?;
            partition = with_part(&partition, name, value);
        }
    }
    Ok(partition)
}

fn with_part(partition: &Partition, name: &str, value: &str) -> Partition {
    let part = format!("{name}={}", escaped(value));
    match partition.as_str() {
        "" => Partition(part.into()),
        folder => Partition(Arc::from(format!("{folder}/{part}"))),
    }
}

/// One part of a path whatever the value holds, and another one for another value.
fn escaped(value: &str) -> String {
    let mut text = String::new();
    for char in value.chars() {
        match char {
            '/' | '%' => text.push_str(&format!("%{:02X}", u32::from(char))),
            char => text.push(char),
        }
    }
    text
}

fn unclear(name: &str, facts: &Facts) -> String {
    match facts.columns.iter().any(|column| column.name == name) {
        true => format!(
            "its statistics do not say that {name} has one value in all rows: write a file for each {name}, or put it in a \
             folder {name}=…"
        ),
        false => format!("it has no column {name}, and lies in no folder {name}=…"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_part_of_the_partition_and_no_two_values_share_one() {
        let folder = Partition::from("day=1");
        assert_eq!(with_part(&folder, "tenant", "acme").as_str(), "day=1/tenant=acme");
        let values = ["a/b", "a%2Fb", "a%b", "ab"];
        let parts: std::collections::BTreeSet<String> = values.iter().map(|value| escaped(value)).collect();
        assert_eq!(parts.len(), values.len(), "{parts:?}");
        assert!(parts.iter().all(|part| !part.contains('/')), "{parts:?}");
        assert_eq!(
            with_part(&Partition::from(""), "tenant", "x").as_str(),
            "tenant=x"
        );
    }
}
