//! How a parent watches its child: passes on how far it is and what it asks of the store, ends it when it is to end, and
//! judges its death.
//!
//! A death counts against the inputs. So does a child that computes and moves nothing: it is in an endless loop. One that
//! moves nothing and does not compute either waits for a store or a disk, and one that was told to end from outside says
//! nothing about its inputs.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::limit;
use super::line::{CacheAt, ChildOrder, Line, Said, Signs, TELL, Task};
use super::{COMMAND, Isolation};
use crate::report::bytes;
use crate::site::Site;
use crate::worker::engine::{MergeEnd, Order};
use crate::worker::meter::Meter;

/// A child that moves nothing is in an endless loop if it computed for at least this part of the time.
const COMPUTING_PART: u32 = 10;

/// Of what a child says on standard error this much is kept, from the end.
const LAST_WORDS_BYTES: usize = 1 << 10;

/// What a program says when it ends like this; whatever follows says where it was.
const DEATHS: [&str; 3] = ["has overflowed its stack", "memory allocation of", "panicked at"];

/// What people and supervisors send to whole groups of processes.
const FROM_OUTSIDE: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::HUP];

/// How a child came to its end.
enum Heard {
    /// It said so.
    Said(Said),
    /// It was to stop, or was stopped because it stood still.
    Ended(Box<MergeEnd>),
    /// It says no more.
    Silence,
}

impl Isolation {
    pub(super) fn supervise(&self, order: &Order, task: Task, meter: &Meter) -> Result<Said> {
        let limit_bytes = limit::limit_for(order.memory_bytes, order.threads);
        let told = self.order_for_child(order, task, limit_bytes);
        let mut child = Command::new(&self.program)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What a terminal sends to its group is for the parent, who decides what becomes of the merge.
            .process_group(0)
            .spawn()?;
        let last_words = child.stderr.take().map(pass_on);
        let heard = listen(&mut child, &told, &order.site, meter);
        // Whatever it still does counts for nothing.
        let _gone_already = child.kill();
        let status = child.wait()?;
        let last_words = last_words.and_then(|reading| reading.join().ok());
        Ok(match heard {
            Ok(Heard::Said(said)) => said,
            Ok(Heard::Ended(ending)) => Said::Ended(ending),
            Ok(Heard::Silence) => {
                let died = Death {
                    status,
                    last_words: last_words.unwrap_or_default(),
                    limit_bytes,
                };
                Said::Ended(Box::new(died.judged()))
            }
            Err(error) => {
                let fault = format!("a child process cannot be understood: {error:#}");
                Said::Ended(Box::new(MergeEnd::NodeFault(fault)))
            }
        })
    }

    fn order_for_child(&self, order: &Order, task: Task, limit_bytes: Option<u64>) -> ChildOrder {
        let source = order.site.source.as_ref();
        let cache = order.site.cache.as_ref();
        ChildOrder {
            root: order.site.root.to_string(),
            source: source.map(ToString::to_string),
            outputs: self.outputs.clone(),
            cache: cache.map(|cache| CacheAt {
                dir: cache.dir().to_owned(),
                bytes_max: cache.bytes_max(),
            }),
            journal: order.journal,
            catalog: order.catalog.clone(),
            grant: order.grant.clone(),
            threads: order.threads,
            memory_bytes: order.memory_bytes,
            reread: order.reread,
            limit_bytes,
            task,
        }
    }
}

/// Hears what the child says until its end. A child that says nothing is noticed too.
fn listen(child: &mut Child, order: &ChildOrder, site: &Site, meter: &Meter) -> Result<Heard> {
    let (to, from) = (child.stdin.take(), child.stdout.take());
    let mut to = to.context("no pipe leads to it")?;
    let lines = lines_of(from.context("no pipe leads from it")?);
    let order = serde_json::to_string(order)?;
    if writeln!(to, "{order}").is_err() {
        return Ok(Heard::Silence);
    }
    let mut watched = Watched::default();
    let heard = loop {
        match lines.recv_timeout(TELL) {
            Ok(line) => match serde_json::from_str(&line?)? {
                Line::Lives(signs) => watched.heard(signs, site, meter),
                Line::Done(signs, said) => {
                    watched.heard(signs, site, meter);
                    break Heard::Said(said);
                }
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if meter.is_cancelled() => {
                break Heard::Ended(Box::new(MergeEnd::Stopped));
            }
            Err(RecvTimeoutError::Disconnected) => break Heard::Silence,
        }
        if meter.is_cancelled() {
            break Heard::Ended(Box::new(watched.stopped(meter)));
        }
    };
    // Held until here: a child ends when its standard input does.
    drop(to);
    Ok(heard)
}

/// The lines of a child, read on a thread so that nobody waits for one for ever.
fn lines_of(from: impl Read + Send + 'static) -> Receiver<io::Result<String>> {
    let (send, lines) = channel();
    thread::spawn(move || BufReader::new(from).lines().try_for_each(|line| send.send(line)));
    lines
}

/// Shows what a child says on standard error, and answers with the end of it.
fn pass_on(from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let (mut death, mut last) = (None, String::new());
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            eprintln!("{line}");
            if !line.trim().is_empty() {
                last = format!("{last}; {}", line.trim());
            }
            let over = last.ceil_char_boundary(last.len().saturating_sub(LAST_WORDS_BYTES));
            last.drain(..over);
            if DEATHS.iter().any(|word| line.contains(word)) {
                death = Some(last.clone());
            }
        }
        death.unwrap_or(last).trim_start_matches("; ").to_owned()
    })
}

/// What is known of a child.
#[derive(Default)]
struct Watched {
    signs: Signs,
    /// When it last moved, and how much it had computed by then.
    moved: Option<(Instant, u64)>,
}

impl Watched {
    fn heard(&mut self, now: Signs, site: &Site, meter: &Meter) {
        meter.relay(&self.signs.progress, &now.progress);
        if now.steps != self.signs.steps {
            meter.step();
            self.moved = Some((Instant::now(), now.cpu_ms));
        }
        site.charge(&self.signs.usages, &now.usages);
        self.signs = now;
    }

    /// What it means that the child is stopped.
    fn stopped(&self, meter: &Meter) -> MergeEnd {
        let (moved, cpu_ms) = self.moved.unzip();
        let computed = u128::from(self.signs.cpu_ms - cpu_ms.unwrap_or_default());
        let still = moved.map_or_else(crate::watch::stall, |moved| moved.elapsed());
        match meter.is_stalled() && computed >= (still / COMPUTING_PART).as_millis() {
            true => MergeEnd::ChildDied(format!(
                "its merge computed and moved nothing for {} s, and was ended",
                still.as_secs()
            )),
            false => MergeEnd::Stopped,
        }
    }
}

/// A child that is no more and has not said why.
struct Death {
    status: ExitStatus,
    last_words: String,
    limit_bytes: Option<u64>,
}

impl Death {
    fn judged(&self) -> MergeEnd {
        let said = match self.last_words.is_empty() {
            true => self.status.to_string(),
            false => format!("{}: {}", self.status, self.last_words),
        };
        let Some(signal) = self.status.signal() else {
            // It ended itself, which no input can have it do.
            return MergeEnd::NodeFault(format!("a child process gave up: {said}"));
        };
        if FROM_OUTSIDE.iter().any(|outside| outside.as_raw() == signal) {
            return MergeEnd::NodeFault(format!("a child process was ended from outside: {said}"));
        }
        let mut why = format!("its merge ended the process: {said}");
        if let Some(limit) = self.limit_bytes.filter(|_| why.contains("memory allocation of")) {
            why = format!("{why} (a child may take {})", bytes(limit));
        }
        MergeEnd::ChildDied(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(raw: i32, last_words: &str) -> MergeEnd {
        let death = Death {
            status: ExitStatus::from_raw(raw),
            last_words: last_words.to_owned(),
            limit_bytes: Some(640 << 20),
        };
        death.judged()
    }

    #[test]
    fn a_death_of_its_own_counts_against_the_inputs_and_says_why() {
        let words = "memory allocation of 536870912 bytes failed";
        match judged(Signal::ABORT.as_raw(), words) {
            MergeEnd::ChildDied(why) => {
                assert!(why.contains(words) && why.contains("640"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Trap: an operator stops the machine, and its files are quarantined.
    #[test]
    fn a_child_that_was_ended_from_outside_or_gave_up_says_nothing_about_its_inputs() {
        for signal in FROM_OUTSIDE {
            assert!(matches!(judged(signal.as_raw(), ""), MergeEnd::NodeFault(_)));
        }
        let exit_code_1 = 1 << 8;
        assert!(matches!(judged(exit_code_1, "error: no"), MergeEnd::NodeFault(_)));
    }

    #[test]
    fn of_what_it_said_the_end_is_kept() {
        let said = "x".repeat(3 * LAST_WORDS_BYTES) + "\n\nthe end\n";
        let kept = pass_on(io::Cursor::new(said)).join().unwrap_or_default();
        assert!(kept.len() <= LAST_WORDS_BYTES && kept.ends_with("the end"));
        let said = "thread 'x' has overflowed its stack\n  0: a frame\n  1: another\n";
        let kept = pass_on(io::Cursor::new(said)).join().unwrap_or_default();
        assert_eq!(kept, "thread 'x' has overflowed its stack");
    }
}
