//! Files and folders of the command line, as named bytes.

use crate::Failure;
use opening::Blob;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

/// Bytes of one file, or of standard input, that are taken.
pub(crate) const MOST_BYTES: u64 = 2 << 30;
/// Bytes of all files of one folder.
const MOST_IN_FOLDER: u64 = 8 << 30;
/// Files of one folder, and folders in it, that are taken.
const MOST_FILES: usize = 20_000;
/// Folders in folders.
const MOST_DEPTH: usize = 16;

fn fail(path: &Path, what: &dyn std::fmt::Display) -> Failure {
    Failure(format!("{}: {what}", path.display()))
}

/// Is it a pipe, or standard input: something that can be read once only?
pub(crate) fn is_stream(path: &Path) -> Result<bool, Failure> {
    if path.as_os_str() == "-" {
        return Ok(true);
    }
    let data = std::fs::metadata(path).map_err(|e| fail(path, &e))?;
    Ok(!data.is_file() && !data.is_dir())
}

/// A device may never end.
fn is_device(data: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        data.file_type().is_char_device() || data.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    {
        _ = data;
        false
    }
}

/// The bytes of one file, or of standard input for `-`. What is larger than is taken is refused before it is read, or as soon
/// as it has grown to that.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let too_large = || fail(path, &format!("more than {MOST_BYTES} bytes, expected fewer"));
    let mut out = Vec::new();
    let read = |input: &mut dyn Read, out: &mut Vec<u8>| input.take(MOST_BYTES + 1).read_to_end(out);
    if path.as_os_str() == "-" {
        read(&mut std::io::stdin().lock(), &mut out).map_err(|e| fail(path, &e))?;
    } else {
        let data = std::fs::metadata(path).map_err(|e| fail(path, &e))?;
        if data.is_dir() {
            return Err(fail(path, &"is a folder, expected a file"));
        }
        if is_device(&data) {
            return Err(fail(path, &"is a device, expected a file, or `-` for standard input"));
        }
        if data.len() > MOST_BYTES {
            return Err(too_large());
        }
        let mut file = File::open(path).map_err(|e| fail(path, &e))?;
        out.reserve_exact(usize::try_from(data.len()).unwrap_or(0));
        read(&mut file, &mut out).map_err(|e| fail(path, &e))?;
    }
    if out.len() as u64 > MOST_BYTES {
        return Err(too_large());
    }
    Ok(out)
}

/// Reads a file, a whole folder, or standard input for `-`. What of a folder cannot be read is told and left out.
pub(crate) fn read(path: &Path) -> Result<Vec<Blob>, Failure> {
    if path.as_os_str() == "-" || !std::fs::metadata(path).map_err(|e| fail(path, &e))?.is_dir() {
        return Ok(vec![Blob::new(path.display().to_string(), bytes(path)?)]);
    }
    let left_out = |entry: &Path, why: &dyn std::fmt::Display| {
        crate::tell(&format!("{}: {why}; it is left out", entry.display()));
    };
    let mut found = Vec::new();
    let mut sum = 0u64;
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let listed = match std::fs::read_dir(&folder) {
            Ok(listed) => listed,
            Err(e) if depth == 0 => return Err(fail(path, &e)),
            Err(e) => {
                left_out(&folder, &e);
                continue;
            }
        };
        let mut entries: Vec<_> = listed.filter_map(Result::ok).map(|e| e.path()).collect();
        entries.sort_unstable();
        for entry in entries {
            // Of a link, what it leads to; a folder that it leads to may be one that it is in.
            let (own, data) = match (std::fs::symlink_metadata(&entry), std::fs::metadata(&entry)) {
                (Ok(own), Ok(data)) => (own, data),
                (_, Err(e)) | (Err(e), _) => {
                    left_out(&entry, &e);
                    continue;
                }
            };
            if data.is_dir() {
                if own.is_symlink() {
                    left_out(&entry, &"is a link to a folder, which is not followed");
                } else if depth >= MOST_DEPTH {
                    left_out(&entry, &format!("is a folder in more than {MOST_DEPTH} others"));
                } else {
                    open.push((entry, depth + 1));
                }
                continue;
            }
            if !data.is_file() {
                left_out(&entry, &"is no file");
                continue;
            }
            sum = sum.saturating_add(data.len());
            found.push(entry);
            if found.len() > MOST_FILES {
                return Err(fail(path, &format!("more than {MOST_FILES} files, expected fewer")));
            }
            if sum > MOST_IN_FOLDER {
                return Err(fail(
                    path,
                    &format!(
                        "more than {MOST_IN_FOLDER} bytes in its files, expected a folder with fewer files"
                    ),
                ));
            }
        }
    }
    // Only now anything is read: what is too much is refused before it takes memory.
    let mut out = Vec::with_capacity(found.len());
    for entry in found {
        match bytes(&entry) {
            Ok(bytes) => {
                let name = entry.strip_prefix(path).unwrap_or(&entry);
                out.push(Blob::new(name.to_string_lossy(), bytes));
            }
            Err(Failure(why)) => crate::tell(&format!("{why}; it is left out")),
        }
    }
    Ok(out)
}
