//! Everything that lies in a folder, whatever it is called.

use std::fs;
use std::io;

use crate::depot::Object;
use crate::folder::identity::identity;
use crate::folder::{Folder, FolderError};

/// Every file below the folder. Links are told as what they are, and never followed; what vanishes meanwhile is passed over.
pub fn everything(folder: &Folder) -> Result<Vec<Object>, FolderError> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(below) = open.pop() {
        let full = folder.path().join(&below);
        let entries = match fs::read_dir(&full) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(FolderError::io("list", &full)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(FolderError::io("list", &full))?;
            let name = entry.file_name();
            let path = match below.as_str() {
                "" => name.to_string_lossy().into_owned(),
                below => format!("{below}/{}", name.to_string_lossy()),
            };
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(path),
                Ok(metadata) => found.push(Object {
                    path: folder.file_path(&path),
                    identity: identity(&metadata),
                }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(FolderError::io("look at", &entry.path())(error)),
            }
        }
    }
    folder.check_still_there()?;
    Ok(found)
}
