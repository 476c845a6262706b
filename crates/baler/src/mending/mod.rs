//! A root whose journal is damaged: what is wrong, and how it goes on. The journal is mended by `baler_journal::mending`; here
//! what it lost is compared with the data, which is still there.
//!
//! ```text
//! list the data ─▶ survey the journal ─▶ diagnosis                                        `journal check`
//!                                            └▶ close the old ─▶ reconcile ─▶ begin anew   `journal repair`
//! ```

mod backup;
mod copied;
mod evidence;
mod outcome;
mod rebuild;
mod reconcile;
mod repair;
mod sites;

pub use outcome::{Mended, Named};
pub use repair::{Repair, repair};

use std::sync::Arc;

use anyhow::{Result, bail};
use baler_core::ids::Sequence;
use baler_journal::mending::{Diagnosis, Problem, Survey};
use baler_journal::store::Store;
use futures::StreamExt;

use crate::depot::{DataFile, Depot, Found, Namer};
use crate::root::Root;
use crate::store::Location;

/// A root as it lies there, without anything being believed of it.
#[derive(Debug)]
pub struct Wreck {
    /// Where it is.
    pub depot: Depot,
    /// Its journal's store.
    pub store: Arc<dyn Store>,
    /// The data below it.
    pub data: Vec<DataFile>,
    /// Its journal, piece by piece.
    pub survey: Survey,
    /// Whether this is a copy of the folder that the journal was written in.
    pub copied: bool,
}

impl Wreck {
    /// Reads all of it, and writes nothing. The data is listed first: whatever an output's name says that the journal granted
    /// must then be found in it.
    pub async fn look(location: &Location) -> Result<Self> {
        let depot = Root::depot(location)?;
        let store = depot.journal_store()?;
        let data = list(&depot).await?;
        let survey = Survey::take(&store).await?;
        let named = data.iter().any(|file| file.namer != Namer::Other);
        if survey.is_empty() && survey.levels.is_empty() && !named {
            bail!(
                "{location} is not a Baler root, and nothing in it was written by one: there is no journal to look at"
            );
        }
        if survey.is_empty() {
            // Whoever repairs it makes a root: not above others, whose outputs these may be, and not inside another.
            Root::check_place(&depot).await?;
        }
        let believed = baler_journal::mending::diagnose(&survey).recovery.state;
        let copied = Root::is_copy(&depot, &believed)?;
        Ok(Self {
            depot,
            store,
            data,
            survey,
            copied,
        })
    }

    /// What is wrong with the journal, also in the light of the data.
    pub fn diagnose(&self) -> Diagnosis<'_> {
        let mut diagnosis = baler_journal::mending::diagnose(&self.survey);
        if self.survey.is_empty() {
            diagnosis.problems.push(Problem {
                what: "the journal".to_owned(),
                why: "there is none, though there are files that Baler wrote".to_owned(),
                means: "what each file's rows come from is lost; `baler journal repair` begins a new journal, and names the files \
                        whose rows may be doubled"
                    .to_owned(),
                stops: true,
            });
        } else if let Some(problem) = self.missing_end(&diagnosis) {
            diagnosis.recovery.is_cut = true;
            diagnosis.problems.push(problem);
        }
        if self.copied {
            diagnosis.problems.push(Problem {
                what: "the root".to_owned(),
                why: "the journal was written in another folder, of which this is a copy, or in this one before it was restored"
                    .to_owned(),
                means: "every file is another version than the journal knows; `baler journal repair` goes on with those that are \
                        here, under a new id"
                    .to_owned(),
                stops: true,
            });
        }
        diagnosis
    }

    /// An entry that is missing at the end leaves no gap. But what was written under its grants names it.
    fn missing_end(&self, diagnosis: &Diagnosis<'_>) -> Option<Problem> {
        let journal = diagnosis.journal()?;
        let last = diagnosis.recovery.until.max(self.survey.last());
        let beyond = self.data.iter().filter_map(|file| match file.namer {
            Namer::AnotherJournal(name) if name.journal == journal => {
                Some((name.attempt.token.sequence, file))
            }
            _ => None,
        });
        let (granted, file): (Sequence, &DataFile) = beyond.max_by_key(|(granted, _)| *granted)?;
        (granted > last).then(|| Problem {
            what: format!("journal entry {granted}"),
            why: format!("it is missing, though {} was written under its grant, and {last} is the last there is", file.path),
            means: format!(
                "what was decided after entry {last} is lost; whoever goes on begins a second history. `baler journal repair` looks \
                 through the data for what it can find of it"
            ),
            stops: true,
        })
    }
}

/// Every data file, as if no journal were known: each name of Baler's form says whose it is.
async fn list(depot: &Depot) -> Result<Vec<DataFile>> {
    let mut data = Vec::new();
    let mut listing = depot.walk(None);
    while let Some(found) = listing.next().await {
        if let Found::Data(file) = found? {
            data.push(file);
        }
    }
    Ok(data)
}
