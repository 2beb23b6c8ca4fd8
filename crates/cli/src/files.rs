//! Files and folders of the command line, as named bytes.

use crate::Failure;
use opening::Blob;
use std::io::Read;
use std::path::Path;

/// Files of one folder, and folders in it, that are taken.
const MOST_FILES: usize = 20_000;
/// Folders in folders.
const MOST_DEPTH: usize = 16;

/// Reads a file, a whole folder, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<Blob>, Failure> {
    let fail = |e: std::io::Error| Failure(format!("{}: {e}", path.display()));
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(fail)?;
        return Ok(vec![Blob::new("-", bytes)]);
    }
    if !std::fs::metadata(path).map_err(fail)?.is_dir() {
        return Ok(vec![Blob::new(path.display().to_string(), std::fs::read(path).map_err(fail)?)]);
    }
    let mut out = Vec::new();
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let mut entries: Vec<_> =
            std::fs::read_dir(&folder).map_err(fail)?.filter_map(Result::ok).map(|e| e.path()).collect();
        entries.sort_unstable();
        for entry in entries {
            // A link may lead back into the folder.
            let Ok(data) = std::fs::symlink_metadata(&entry) else { continue };
            if data.is_dir() {
                if depth < MOST_DEPTH {
                    open.push((entry, depth + 1));
                }
            } else if let Ok(bytes) = std::fs::read(&entry) {
                if out.len() >= MOST_FILES {
                    return Err(Failure(format!(
                        "{}: more than {MOST_FILES} files, expected fewer",
                        path.display()
                    )));
                }
                let name = entry.strip_prefix(path).unwrap_or(&entry);
                out.push(Blob::new(name.to_string_lossy(), bytes));
            }
        }
    }
    Ok(out)
}
