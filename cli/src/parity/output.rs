//! The file that is written: under a temporary name beside its place, and renamed into it when it is whole.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::inputs::{Inputs, kind};

/// Why an output cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("{}: {error}", .path.display())]
    Path { path: PathBuf, error: io::Error },
    #[error("{}: is a {kind}: the output must be a regular file or not exist yet", .path.display())]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("{}: is also an input{}", .path.display(), .also.as_ref().map(|p| format!(" ({})", p.display())).unwrap_or_default())]
    IsInput { path: PathBuf, also: Option<PathBuf> },
    #[error("{}: a temporary file beside it cannot be made: {error}", .path.display())]
    Create { path: PathBuf, error: io::Error },
    #[error("{}: cannot be written: {error}", .path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("{}: is in place, but its directory cannot be synced: {error}", .path.display())]
    Directory { path: PathBuf, error: io::Error },
}

/// An output in the making. Dropped before [`Output::commit`], it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Output {
    /// As the user calls it.
    path: PathBuf,
    /// Where it goes: `path` with a symbolic link followed, so that the link stays one.
    target: PathBuf,
    directory: PathBuf,
    /// The file that it replaces.
    replaced: Option<Metadata>,
    file: NamedTempFile<File>,
}

impl Output {
    pub(crate) fn create(path: &Path, inputs: &Inputs) -> Result<Output, OutputError> {
        let at_path = |error| OutputError::Path { path: path.to_path_buf(), error };
        let (target, replaced) = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = fs::canonicalize(path).map_err(at_path)?;
                let metadata = fs::metadata(&target).map_err(at_path)?;
                (target, Some(metadata))
            }
            Ok(metadata) => (path.to_path_buf(), Some(metadata)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => (path.to_path_buf(), None),
            Err(e) => return Err(at_path(e)),
        };
        if let Some(metadata) = &replaced {
            if let Some(kind) = kind(metadata.file_type()) {
                return Err(OutputError::NotAFile { path: path.to_path_buf(), kind });
            }
            if let Some(input) = inputs.same_file(metadata) {
                let also = (input != path).then(|| input.to_path_buf());
                return Err(OutputError::IsInput { path: path.to_path_buf(), also });
            }
        }
        let directory = match target.parent() {
            Some(parent) if parent != Path::new("") => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        // A new file is made as `open` makes it, under the process's mask. One that replaces another stays private
        // until it is whole, because nobody should read from it who cannot read from the other.
        let mode = if replaced.is_some() { 0o600 } else { 0o666 };
        // Opened here and not by `tempfile`, whose errors name the temporary path, which the user has never seen.
        let open = |temporary: &Path| OpenOptions::new().write(true).create_new(true).mode(mode).open(temporary);
        let file = tempfile::Builder::new()
            .prefix(".lanesmith-")
            .suffix(".tmp")
            .make_in(&directory, open)
            .map_err(|error| OutputError::Create { path: path.to_path_buf(), error })?;
        Ok(Output { path: path.to_path_buf(), target, directory, replaced, file })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        let written = self.file.as_file_mut().write_all(bytes);
        written.map_err(|error| OutputError::Write { path: self.path.clone(), error })
    }

    /// Makes the output durable and puts it in its place.
    pub(crate) fn commit(self) -> Result<(), OutputError> {
        let failed = |error| OutputError::Write { path: self.path.clone(), error };
        let file = self.file.as_file();
        if let Some(replaced) = &self.replaced {
            // Only root may give a file away; for anyone else the owner changes, as it does with every replacement.
            let _ = fchown(file, Some(replaced.uid()), Some(replaced.gid()));
            file.set_permissions(Permissions::from_mode(replaced.mode() & 0o777)).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        self.file.persist(&self.target).map_err(|e| failed(e.error))?;
        // The rename is durable only with its directory.
        let synced = File::open(&self.directory).and_then(|directory| directory.sync_all());
        synced.map_err(|error| OutputError::Directory { path: self.path, error })
    }
}
