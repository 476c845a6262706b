//! The options of a chore: `--name value` or `--name=value`, and flags that take none; each at most once, nothing unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use anyhow::Result;

/// What was typed makes no sense; exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

#[derive(Debug, Default)]
pub(crate) struct Options {
    values: BTreeMap<String, String>,
    flags: BTreeSet<String>,
}

impl Options {
    pub(crate) fn parse(args: &[String], known: &[&str]) -> Result<Self> {
        Self::parse_with_flags(args, known, &[])
    }

    pub(crate) fn parse_with_flags(args: &[String], known: &[&str], flags: &[&str]) -> Result<Self> {
        let mut given = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let option = arg
                .strip_prefix("--")
                .ok_or_else(|| Usage::new(format!("unexpected `{arg}`")))?;
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (option, None),
            };
            if flags.contains(&option) {
                if !given.flags.insert(option.to_owned()) {
                    return Err(Usage::new(format!("`--{option}` was given twice")).into());
                }
                continue;
            }
            if !known.contains(&name) {
                return Err(Usage::new(format!("unknown option `--{name}`")).into());
            }
            let value = value
                .or_else(|| args.next().map(String::as_str))
                .ok_or_else(|| Usage::new(format!("`--{name}` needs a value")))?;
            if given.values.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(Usage::new(format!("`--{name}` was given twice")).into());
            }
        }
        Ok(given)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.flags.contains(name)
    }

    pub(crate) fn one<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        self.values
            .get(name)
            .map_or(Ok(default), |text| value(name, text))
    }

    /// A list, separated by commas.
    pub(crate) fn list<T: FromStr + Clone>(&self, name: &str, default: &[T]) -> Result<Vec<T>> {
        match self.values.get(name) {
            Some(text) => text.split(',').map(|item| value(name, item.trim())).collect(),
            None => Ok(default.to_vec()),
        }
    }
}

fn value<T: FromStr>(name: &str, text: &str) -> Result<T> {
    text.parse()
        .map_err(|_| Usage::new(format!("`--{name}`: `{text}` is not possible")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Options> {
        Options::parse_with_flags(
            &args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>(),
            &["runs", "engines"],
            &["write"],
        )
    }

    #[test]
    fn both_spellings_and_the_default() {
        let options = parse(&["--runs", "3", "--engines=duckdb,polars"]).unwrap();
        assert_eq!(options.one("runs", 5).unwrap(), 3);
        assert_eq!(
            options.list::<String>("engines", &[]).unwrap(),
            ["duckdb", "polars"]
        );
        assert_eq!(parse(&[]).unwrap().one("runs", 5).unwrap(), 5);
    }

    #[test]
    fn a_flag_takes_no_value() {
        let options = parse(&["--write", "--runs", "3"]).unwrap();
        assert!(options.flag("write"));
        assert_eq!(options.one("runs", 5).unwrap(), 3);
        assert!(!parse(&[]).unwrap().flag("write"));
    }

    #[test]
    fn what_makes_no_sense_is_a_usage_error() {
        for args in [
            &["--what", "3"][..],
            &["3"],
            &["--runs"],
            &["--runs", "1", "--runs", "2"],
            &["--write", "--write"],
            &["--write=yes"],
        ] {
            assert!(parse(args).unwrap_err().is::<Usage>(), "{args:?}");
        }
        assert!(
            parse(&["--runs", "many"])
                .unwrap()
                .one("runs", 5)
                .unwrap_err()
                .is::<Usage>()
        );
    }
}
