//! A file against the receipts of the jobs behind it: the one that made it, those that made what that one read, and so on,
//! as far back as receipts are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use baler_core::file::{File, Origin};
use baler_core::ids::{JobId, JournalId, TableName};
use baler_core::names::OutputName;

use crate::receipts::{Receipt, ReceiptInput, ReceiptOutput, Receipts};
use crate::root::Root;

/// What the receipts say of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// No job made it.
    None,
    /// The job that made it has no receipt any more.
    Absent,
    /// All that there are agree with the journal and with each other.
    Agrees,
    /// They do not.
    Disagrees(String),
}

/// The receipts that were read so far, each with what is wrong with it and what it stands on.
pub(super) struct Chain {
    receipts: Receipts,
    journal: JournalId,
    read: BTreeMap<JobId, Option<Arc<Receipt>>>,
    judged: BTreeMap<JobId, Result<(), String>>,
}

impl Chain {
    pub(super) fn of(root: &Root) -> Result<Self> {
        Ok(Self {
            receipts: Receipts::of(root)?,
            journal: root.journal()?,
            read: BTreeMap::new(),
            judged: BTreeMap::new(),
        })
    }

    /// Follows the receipts from a live file.
    pub(super) async fn follow(&mut self, table: &TableName, file: &File) -> Link {
        let Origin::Job(job) = file.origin else {
            return Link::None;
        };
        let agreed = async {
            let Some(receipt) = self.read(table, job).await? else {
                return Ok(None);
            };
            let output = output_of(&receipt, &file.path.path)?;
            check_file(file, output, job)?;
            self.judge(table, job).await.map(Some)
        };
        match agreed.await {
            Ok(None) => Link::Absent,
            Ok(Some(())) => Link::Agrees,
            Err(why) => Link::Disagrees(why),
        }
    }

    /// A job's receipt adds up, and so do those of the jobs that it stands on.
    async fn judge(&mut self, table: &TableName, job: JobId) -> Result<(), String> {
        let mut open = vec![job];
        while let Some(job) = open.pop() {
            if let Some(judged) = self.judged.get(&job) {
                judged.clone()?;
                continue;
            }
            let judged = self.judge_one(table, job, &mut open).await;
            self.judged.insert(job, judged.clone());
            judged?;
        }
        Ok(())
    }

    async fn judge_one(
        &mut self,
        table: &TableName,
        job: JobId,
        open: &mut Vec<JobId>,
    ) -> Result<(), String> {
        let Some(receipt) = self.read(table, job).await? else {
            return Ok(());
        };
        let wrong = |why: String| format!("the receipt of job {job} does not add up: {why}");
        receipt.check().map_err(wrong)?;
        for input in &receipt.inputs {
            let name = input.path.rsplit('/').next().and_then(OutputName::parse);
            let Some(name) = name.filter(|name| name.journal == self.journal) else {
                continue;
            };
            let maker = name.attempt.job;
            if let Some(made) = self.read(table, maker).await? {
                check_input(input, output_of(&made, &input.path)?, job, maker)?;
                open.push(maker);
            }
        }
        Ok(())
    }

    async fn read(&mut self, table: &TableName, job: JobId) -> Result<Option<Arc<Receipt>>, String> {
        if let Some(read) = self.read.get(&job) {
            return Ok(read.clone());
        }
        let read = self.receipts.of_job(job, table).await;
        let read = read.map_err(|error| format!("{error:#}"))?.map(Arc::new);
        self.read.insert(job, read.clone());
        Ok(read)
    }
}

fn output_of<'a>(receipt: &'a Receipt, path: &str) -> Result<&'a ReceiptOutput, String> {
    let mut outputs = receipt.outputs.iter();
    let found = outputs.find(|output| output.path == path);
    found.ok_or_else(|| format!("the receipt of job {} does not name {path}", receipt.job))
}

fn check_file(file: &File, output: &ReceiptOutput, job: JobId) -> Result<(), String> {
    let digest = file.digest.is_none_or(|digest| digest == output.digest);
    let checksum = file.checksum.is_none_or(|checksum| checksum == output.checksum);
    let same = file.rows == output.rows && file.bytes() == output.bytes && file.level == output.level;
    match digest && checksum && same {
        true => Ok(()),
        false => Err(format!(
            "the journal and the receipt of job {job} say different things of it"
        )),
    }
}

fn check_input(input: &ReceiptInput, made: &ReceiptOutput, job: JobId, maker: JobId) -> Result<(), String> {
    let decoded = input.copied == 0 && made.copied == 0;
    let digest = !decoded || input.digest == made.digest;
    let checksum = input.checksum.is_none_or(|checksum| checksum == made.checksum);
    match input.rows == made.rows && input.bytes == made.bytes && digest && checksum {
        true => Ok(()),
        false => Err(format!(
            "job {job} read something else in {} than job {maker} wrote",
            input.path
        )),
    }
}
