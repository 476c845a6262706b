//! When what happened: ends of leases, signs of life, files that came and went.

use super::{Model, job_of, path_of, paths_of, range_of};
use crate::oracle::At;

impl Model {
    /// Leases end with their range, or with their job.
    pub(super) fn note_ended(&mut self, at: At<'_>) {
        let range = match at.kind {
            "RangeReleased" => Some(range_of(&at.body["attempt"]["range"])),
            "RangeFinished" => Some(range_of(&at.body["range"])),
            "JobCommitted" | "JobCancelled" | "JobFailed" => None,
            _ => return,
        };
        let Some((id, job)) = job_of(at.body).and_then(|id| Some((id, self.jobs.get(&id)?))) else {
            return;
        };
        let ended = job.leases.iter();
        let ended = ended.filter(|(known, _)| range.as_ref().is_none_or(|range| range == *known));
        let ended = ended.map(|(range, lease)| ((id, range.clone(), lease.token), at.now_ms));
        self.leases_ended.extend(ended);
    }

    /// Whoever grants, renews or takes over lives.
    pub(super) fn note_signs(&mut self, at: At<'_>) {
        let who = match at.kind {
            "RangeLeased" | "WatcherRenewed" | "LeasesRewatched" => &at.body["watcher"],
            "WatcherTakenOver" => &at.body["by"],
            _ => return,
        };
        let who = who.as_str().unwrap_or_default();
        self.signs.insert(who.to_owned(), at.now_ms);
    }

    /// What was seen of a path before that says nothing about it.
    pub(super) fn note_touched(&mut self, at: At<'_>) {
        let id = at.body["job"].as_u64().unwrap_or(0);
        let paths = match at.kind {
            "FilesAdded" => {
                let files = at.body["files"].as_array().into_iter().flatten();
                files.map(|file| path_of(&file["path"])).collect()
            }
            "FilesLost" | "FilesExpired" => paths_of(&at.body["paths"]),
            "JobCommitted" | "JobCompacted" => {
                self.jobs.get(&id).map_or(Vec::new(), |job| job.inputs.clone())
            }
            "JobUndone" => {
                let inputs = self
                    .commits
                    .get(&id)
                    .into_iter()
                    .flat_map(|commit| &commit.inputs);
                inputs.map(|(path, _)| path.clone()).collect()
            }
            _ => return,
        };
        self.touching
            .extend(paths.into_iter().map(|path| (path, at.when)));
    }
}
