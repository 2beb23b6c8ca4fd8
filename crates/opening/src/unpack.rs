//! Archives and compressed files, unpacked in memory under limits that hold before anything grows.

use crate::{Limits, Remark};
use flate2::read::MultiGzDecoder;
use std::collections::{HashMap, HashSet};
use std::io::Read;

/// Bytes with a name: a file, an archive's entry, or what was pasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// A path, with `/` between its parts; of an archive's entry, behind that of the archive. It is only shown and
    /// compared, never used to reach a file.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Bytes under a name.
    #[must_use]
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

/// What a blob is wrapped in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrapping {
    /// gzip
    Gzip,
    /// A zip archive.
    Zip,
    /// A tar archive.
    Tar,
    /// Compressed in a way that is not unpacked here; its name.
    Foreign(&'static str),
}

/// How the bytes are wrapped, told by how they begin.
#[must_use]
pub fn wrapping(bytes: &[u8]) -> Option<Wrapping> {
    const FOREIGN: [(&[u8], &str); 5] = [
        (b"\x28\xb5\x2f\xfd", "Zstandard"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"BZh", "bzip2"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
        (b"Rar!\x1a\x07", "RAR"),
    ];
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(Wrapping::Gzip);
    }
    // An entry, the end of an empty archive, or a piece of one in several volumes.
    if bytes.starts_with(b"PK\x03\x04")
        || bytes.starts_with(b"PK\x05\x06")
        || bytes.starts_with(b"PK\x07\x08")
    {
        return Some(Wrapping::Zip);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(Wrapping::Tar);
    }
    FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| Wrapping::Foreign(name))
}

/// What was unpacked, and what has to be said of it.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    pub(crate) blobs: Vec<Blob>,
    pub(crate) remarks: Vec<Remark>,
    /// Bytes of all that was unpacked.
    grown: u64,
}

/// Unpacks what is wrapped, also archives in archives; the rest goes through as it is.
pub(crate) fn unpack(
    blobs: Vec<Blob>,
    limits: &Limits,
    mut go_on: impl FnMut(&str, u64) -> bool,
) -> Option<Unpacked> {
    let mut out = Unpacked::default();
    // What is still to be looked at, the next last, with the number of wrappings around it.
    let mut open: Vec<(Blob, u32)> = blobs.into_iter().rev().map(|b| (b, 0)).collect();
    let mut done = 0u64;
    while let Some((blob, depth)) = open.pop() {
        if !go_on(&blob.name, done) {
            return None;
        }
        done += blob.bytes.len() as u64;
        let Some(wrapping) = wrapping(&blob.bytes) else {
            if out.blobs.len() as u64 >= limits.files {
                out.remarks.push(Remark::error(
                    &blob.name,
                    format!("more than {} files; this and all behind it are left out", limits.files),
                ));
                return Some(out);
            }
            out.blobs.push(blob);
            continue;
        };
        if depth >= limits.depth {
            out.remarks.push(Remark::error(
                &blob.name,
                format!("an archive in more than {} others; it is not opened", limits.depth),
            ));
            continue;
        }
        let mut found = Vec::new();
        match wrapping {
            Wrapping::Gzip => out.gzip(&blob, limits, &mut found),
            Wrapping::Zip => out.zip(&blob, limits, &mut found),
            Wrapping::Tar => out.tar(&blob, limits, &mut found),
            Wrapping::Foreign(name) => out.remarks.push(Remark::error(
                &blob.name,
                format!(
                    "is packed with {name}, which is not opened here; unpack it, or use gzip, zip or tar.gz"
                ),
            )),
        }
        tell_apart(&mut found);
        open.extend(found.into_iter().rev().map(|b| (b, depth + 1)));
    }
    Some(out)
}

impl Unpacked {
    /// Reads one packed thing of `packed` bytes to its end. What grows beyond a limit is refused as soon as it does.
    fn read_all(&mut self, name: &str, packed: u64, reader: impl Read, limits: &Limits) -> Option<Vec<u8>> {
        let by_ratio = packed.saturating_mul(limits.ratio).max(limits.always);
        let left = limits.bytes.saturating_sub(self.grown);
        let most = by_ratio.min(left);
        let mut bytes = Vec::new();
        let result = reader.take(most.saturating_add(1)).read_to_end(&mut bytes);
        if bytes.len() as u64 > most {
            let text = if left <= by_ratio {
                format!(
                    "unpacks to more than the {} bytes that are allowed in all; it is left out",
                    limits.bytes
                )
            } else {
                format!("unpacks to more than {} times its size; it is left out", limits.ratio)
            };
            self.remarks.push(Remark::error(name, text));
            return None;
        }
        self.grown += bytes.len() as u64;
        if let Err(e) = result {
            self.remarks.push(Remark::error(
                name,
                format!("is damaged: {e}; what stands before the damage, {} bytes, is kept", bytes.len()),
            ));
            if bytes.is_empty() {
                return None;
            }
        }
        Some(bytes)
    }

    fn gzip(&mut self, blob: &Blob, limits: &Limits, found: &mut Vec<Blob>) {
        let packed = blob.bytes.len() as u64;
        let said = self.remarks.len();
        let Some(bytes) = self.read_all(&blob.name, packed, MultiGzDecoder::new(&blob.bytes[..]), limits)
        else {
            return;
        };
        if self.remarks.len() > said {
            // Under its own name: what is wrong with a part of it is wrong with this file, not with one that is nowhere.
            found.push(Blob { name: blob.name.clone(), bytes });
            return;
        }
        // The ending tells how it was packed and nothing else.
        let without = |end: &str| {
            let at = blob.name.len().checked_sub(end.len())?;
            let (stem, tail) = (blob.name.get(..at)?, blob.name.get(at..)?);
            tail.eq_ignore_ascii_case(end).then_some(stem)
        };
        let name = match (without(".tgz"), without(".gz")) {
            (Some(stem), _) => format!("{stem}.tar"),
            (None, Some(stem)) => stem.to_owned(),
            (None, None) => blob.name.clone(),
        };
        found.push(Blob { name, bytes });
    }

    fn zip(&mut self, blob: &Blob, limits: &Limits, found: &mut Vec<Blob>) {
        let broken = |e: rawzip::Error| Remark::error(&blob.name, format!("is a damaged zip archive: {e}"));
        let archive = match rawzip::ZipArchive::from_slice(&blob.bytes[..]) {
            Ok(archive) => archive,
            Err(e) => return self.remarks.push(broken(e)),
        };
        let mut entries = archive.entries();
        // Entries that lie on the same bytes are how small archives unpack to huge ones.
        let mut taken: Vec<(u64, u64)> = Vec::new();
        loop {
            let entry = match entries.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => return,
                Err(e) => return self.remarks.push(broken(e)),
            };
            if entry.is_dir() {
                continue;
            }
            if found.len() as u64 >= limits.files {
                return self.remarks.push(Remark::error(
                    &blob.name,
                    format!("has more than {} entries; the rest are left out", limits.files),
                ));
            }
            let name = inside(&blob.name, &String::from_utf8_lossy(entry.file_path().as_ref()));
            if entry.flags().is_encrypted() {
                self.remarks.push(Remark::error(&name, "is encrypted; it is left out".to_owned()));
                continue;
            }
            let local = match archive.get_entry(entry.wayfinder()) {
                Ok(local) => local,
                Err(e) => {
                    self.remarks.push(broken(e));
                    continue;
                }
            };
            let range = local.compressed_data_range();
            if range.0 < range.1 && taken.iter().any(|t| t.0 < range.1 && range.0 < t.1) {
                return self.remarks.push(Remark::error(
                    &name,
                    "lies on the bytes of another entry, as in a zip bomb; the archive is left here"
                        .to_owned(),
                ));
            }
            taken.push(range);
            let packed = local.data();
            let size = packed.len() as u64;
            let method = entry.compression_method();
            let bytes = if method == rawzip::CompressionMethod::STORE {
                self.read_all(&name, size, local.verifying_reader(packed), limits)
            } else if method == rawzip::CompressionMethod::DEFLATE {
                let reader = flate2::bufread::DeflateDecoder::new(packed);
                self.read_all(&name, size, local.verifying_reader(reader), limits)
            } else {
                self.remarks.push(Remark::error(
                    &name,
                    "is packed in another way than deflate; it is left out".to_owned(),
                ));
                None
            };
            found.extend(bytes.map(|bytes| Blob { name, bytes }));
        }
    }

    fn tar(&mut self, blob: &Blob, limits: &Limits, found: &mut Vec<Blob>) {
        let mut archive = tar::Archive::new(&blob.bytes[..]);
        let broken = |e: std::io::Error| Remark::error(&blob.name, format!("is a damaged tar archive: {e}"));
        let entries = match archive.entries() {
            Ok(entries) => entries,
            Err(e) => return self.remarks.push(broken(e)),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => return self.remarks.push(broken(e)),
            };
            if !entry.header().entry_type().is_file() {
                continue;
            }
            if found.len() as u64 >= limits.files {
                return self.remarks.push(Remark::error(
                    &blob.name,
                    format!("has more than {} entries; the rest are left out", limits.files),
                ));
            }
            let name = inside(&blob.name, &String::from_utf8_lossy(&entry.path_bytes()));
            // macOS puts what it knows of a file beside it.
            if name.rsplit('/').next().is_some_and(|n| n.starts_with("._")) {
                continue;
            }
            let size = entry.size();
            let bytes = self.read_all(&name, size, entry, limits);
            if let Some(bytes) = &bytes
                && (bytes.len() as u64) < size
            {
                self.remarks.push(Remark::error(
                    &name,
                    format!("is cut off: {} of {size} bytes are there", bytes.len()),
                ));
            }
            found.extend(bytes.map(|bytes| Blob { name, bytes }));
        }
    }
}

/// Entries of one archive that have the same name get a number, `m (2).txt`, so that what is said of one is not taken for
/// another.
fn tell_apart(found: &mut [Blob]) {
    let mut taken: HashSet<String> = found.iter().map(|b| b.name.clone()).collect();
    if taken.len() == found.len() {
        return;
    }
    let mut seen: HashMap<String, u32> = HashMap::new();
    for blob in found {
        let count = seen.entry(blob.name.clone()).or_default();
        *count += 1;
        if *count == 1 {
            continue;
        }
        let file = blob.name.rfind('/').map_or(0, |at| at + 1);
        let dot = blob.name[file..].find('.').filter(|at| *at > 0).map_or(blob.name.len(), |at| file + at);
        let (stem, end) = blob.name.split_at(dot);
        let free = loop {
            let name = format!("{stem} ({count}){end}");
            if !taken.contains(&name) {
                break name;
            }
            *count += 1;
        };
        taken.insert(free.clone());
        blob.name = free;
    }
}

/// An entry's name behind that of its archive, without steps up.
fn inside(archive: &str, entry: &str) -> String {
    let parts = entry.split(['/', '\\']).filter(|p| !matches!(*p, "" | "." | ".."));
    std::iter::once(archive).chain(parts).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::{Blob, tell_apart};

    #[test]
    fn entries_of_one_name_are_told_apart() {
        let mut found: Vec<Blob> =
            ["a/m.txt", "a/m.txt", "a/m (2).txt", "b", "a/m.txt", "b"].map(|n| Blob::new(n, "")).into();
        tell_apart(&mut found);
        let names: Vec<&str> = found.iter().map(|b| b.name.as_str()).collect();
        assert_eq!(names, ["a/m.txt", "a/m (3).txt", "a/m (2).txt", "b", "a/m (4).txt", "b (2)"]);
    }
}
