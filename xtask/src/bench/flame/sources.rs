//! Which source files a place in a program was made from, inlined functions included: what `addr2line` says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, venv};

/// By offset in the program's file.
pub(crate) struct Sources(BTreeMap<u64, Vec<String>>);

impl Sources {
    pub(crate) fn find(program: &Path, offsets: &BTreeSet<u64>) -> Result<Self> {
        let headers = process::output(Command::new("readelf").args(["-lW"]).arg(program));
        let code = Code::parse(&venv::advise(headers, "sudo apt-get install binutils")?)?;
        let mut command = Command::new("addr2line");
        command.args(["--addresses", "--inlines", "--exe"]).arg(program);
        command.args(
            offsets
                .iter()
                .map(|offset| format!("{:#x}", code.address(*offset))),
        );
        let text = process::output(&mut command)?;
        let by_address = parse(&text)?;
        let files = |offset: &u64| by_address.get(&code.address(*offset)).cloned();
        let found = offsets
            .iter()
            .filter_map(|offset| Some((*offset, files(offset)?)));
        Ok(Self(found.collect()))
    }

    /// The innermost first; none where nobody knows.
    pub(crate) fn of(&self, offset: u64) -> Vec<String> {
        self.0.get(&offset).cloned().unwrap_or_default()
    }
}

/// Where a program's code lies in its file, and at which address: perf tells the one, addr2line asks for the other.
struct Code {
    offset: u64,
    address: u64,
}

impl Code {
    fn parse(headers: &str) -> Result<Self> {
        let words = headers
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let code = words
            .into_iter()
            .find(|words| words.first() == Some(&"LOAD") && words.get(7) == Some(&"E"))
            .context("readelf shows no code")?;
        Ok(Self {
            offset: hexadecimal(code[1])?,
            address: hexadecimal(code[2])?,
        })
    }

    fn address(&self, offset: u64) -> u64 {
        offset.wrapping_sub(self.offset).wrapping_add(self.address)
    }
}

/// An address on a line, then a line for each file: `path:number`.
fn parse(text: &str) -> Result<BTreeMap<u64, Vec<String>>> {
    let mut files = BTreeMap::new();
    let mut current: Option<&mut Vec<String>> = None;
    for line in text.lines() {
        if line.starts_with("0x") {
            current = Some(files.entry(hexadecimal(line)?).or_insert_with(Vec::new));
        } else if let (Some(files), Some((path, _))) = (&mut current, line.rsplit_once(':')) {
            files.push(path.to_owned());
        }
    }
    Ok(files)
}

fn hexadecimal(text: &str) -> Result<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).with_context(|| format!("no address: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_does_not_lie_in_memory_as_it_lies_in_the_file() {
        let headers = "  Type  Offset  VirtAddr  PhysAddr  FileSiz  MemSiz  Flg Align
  LOAD           0x000000 0x0000000000000000 0x0000000000000000 0x8de300 0x8de300 R   0x1000
  LOAD           0x8de300 0x00000000008df300 0x00000000008df300 0x18d8a80 0x18d8a80 R E 0x1000
  LOAD           0x21b6d80 0x00000000021b8d80 0x00000000021b8d80 0x101138 0x101280 RW  0x1000";
        let code = Code::parse(headers).unwrap();
        assert_eq!(code.address(0x8de310), 0x8df310);
        assert!(Code::parse("").is_err());
    }

    #[test]
    fn the_innermost_file_comes_first() {
        let text = "0x0000000000001000\na/xxh3.rs:7\nb/row_hash.rs:61 (discriminator 2)\n0x2000\n??:0\n";
        let files = parse(text).unwrap();
        assert_eq!(files[&0x1000], ["a/xxh3.rs", "b/row_hash.rs"]);
        assert_eq!(files[&0x2000], ["??"]);
    }
}
