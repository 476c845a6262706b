//! Those who look on. They see every object that is written and removed, read the journal's entries by themselves, keep
//! their own account of the table, and check the guarantees after each entry. They share no code with what they check.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::checkers;
use crate::coverage::Coverage;
use crate::model::Model;
use crate::store::Version;
use crate::trace::Trace;

/// A guarantee that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its number in the design.
    pub guarantee: u8,
    /// What was seen.
    pub what: String,
}

/// The account, and what is wrong.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) model: Model,
    pub(crate) violations: Vec<Violation>,
    /// How many requests of each process came to nothing in the minute it is.
    failed: BTreeMap<String, (u64, u64)>,
}

/// One event, where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub(crate) sequence: u64,
    pub(crate) index: u32,
    /// When it reached the store, on the store's clock and counted from the beginning of the run.
    pub(crate) now_ms: u64,
    pub(crate) when: Duration,
    pub(crate) kind: &'a str,
    pub(crate) body: &'a Value,
}

impl Oracle {
    pub(crate) fn found(&mut self, guarantee: u8, what: String) {
        // The first few say it all; what follows from them is noise.
        if self.violations.len() < 5 {
            self.violations.push(Violation { guarantee, what });
        }
    }

    /// A request of a process came to nothing in this minute of the run.
    pub(crate) fn failed(&mut self, who: &str, minute: u64) {
        let (last, count) = match self.failed.get_mut(who) {
            Some(known) => known,
            None => self.failed.entry(who.to_owned()).or_default(),
        };
        *count = if *last == minute { *count + 1 } else { 1 };
        *last = minute;
        if let Some(what) = checkers::bounds::failed(who, *count) {
            self.found(8, what);
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the world's parts are borrowed one by one"
    )]
    pub(crate) fn sees(
        &mut self,
        now_ms: u64,
        at: Duration,
        by: Option<&str>,
        path: &str,
        version: &Version,
        wrote: bool,
        trace: &mut Trace,
        coverage: &mut Coverage,
    ) {
        if let Some(number) = path.strip_prefix("_baler/journal/") {
            match (number.parse(), wrote) {
                (Ok(number), true) => self.sees_entry(now_ms, at, number, version, trace, coverage),
                (Ok(number), false) => {
                    let wrong = checkers::journal::removed(&self.model, number);
                    wrong.into_iter().for_each(|what| self.found(4, what));
                }
                (Err(_), _) => self.found(4, format!("{path} is no entry")),
            }
            return;
        }
        if let Some(block) = path.strip_prefix("_baler/boundary/") {
            if let (Ok(block), true) = (block.parse(), wrote) {
                self.model.boundaries.insert(block);
            }
            return;
        }
        if path.starts_with("_baler/") && !path.starts_with("_baler/staging/") {
            return;
        }
        match wrote {
            true => {
                let wrong = checkers::rows::written(&self.model, by, path);
                wrong.into_iter().for_each(|what| self.found(1, what));
                self.model.wrote(at, by, path, version);
            }
            false if by.is_some() => {
                let wrong = checkers::deletion::removed(&self.model, path, &version.tag);
                wrong.into_iter().for_each(|what| self.found(6, what));
            }
            false => {}
        }
        if !wrote {
            self.model.is_gone(at, path, &version.tag);
        }
    }

    fn sees_entry(
        &mut self,
        now_ms: u64,
        at: Duration,
        number: u64,
        version: &Version,
        trace: &mut Trace,
        coverage: &mut Coverage,
    ) {
        let Some(lines) = decode(&version.bytes) else {
            return self.found(4, format!("entry {number} cannot be read"));
        };
        if number < self.model.next {
            coverage.belated += 1;
            coverage.reached(crate::scenarios::Scenario(5));
            let wrong = checkers::journal::belated(&self.model, number);
            return wrong.into_iter().for_each(|what| self.found(4, what));
        }
        let wrong = checkers::journal::follows(&self.model, number, &lines);
        wrong.into_iter().for_each(|what| self.found(4, what));
        coverage.entries += 1;
        let events = &lines[1..lines.len() - 1];
        for (index, event) in events.iter().enumerate() {
            let (kind, body) = named(event);
            let here = At {
                sequence: number,
                index: index as u32,
                now_ms,
                when: at,
                kind,
                body,
            };
            trace.note(at, format_args!("  entry {number}.{index} {kind}"));
            trace.explain(at, || format!("    {}", short(body)));
            let mut wrong = Vec::new();
            checkers::event(&self.model, here, &mut wrong);
            for (guarantee, what) in wrong {
                self.found(guarantee, format!("entry {number}.{index} {kind}: {what}"));
            }
            coverage.saw(&self.model, here);
            self.model.apply(here);
        }
        self.model.ends_entry(number, now_ms, &lines);
    }
}

/// The lines of an entry, each as JSON.
fn decode(bytes: &[u8]) -> Option<Vec<Value>> {
    let text = zstd::decode_all(bytes).ok()?;
    let text = String::from_utf8(text).ok()?;
    let lines: Option<Vec<Value>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
    lines.filter(|lines| lines.len() >= 2)
}

fn named(event: &Value) -> (&str, &Value) {
    match event {
        Value::String(kind) => (kind, &Value::Null),
        Value::Object(object) => object
            .iter()
            .next()
            .map_or(("", &Value::Null), |(kind, body)| (kind, body)),
        _ => ("", &Value::Null),
    }
}

fn short(body: &Value) -> String {
    let mut text = body.to_string();
    if text.len() > 400 {
        text.truncate((0..=400).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
        text.push('…');
    }
    text
}
