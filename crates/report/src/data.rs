//! The module's files and the reader's own state as one word of text, which fits into any page.

use crate::ReportError;
use assigner::words::binary;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use opening::{Blob, Entry, Opened};
use serde_json::{Value, json};
use std::io::Write as _;

/// Most bytes of files; a page has no memory for more.
const MOST_BYTES: u64 = 1 << 30;

/// The files of one module, and those of the out-of-memory errors about it, in a fixed order, without the folders that they lay in: those are the reader's own affair.
#[must_use]
pub fn files(opened: &Opened, module: usize) -> Vec<Blob> {
    let Some(entry) = opened.modules.get(module) else { return Vec::new() };
    let mut all: Vec<usize> = of(entry).chain(opened.errors_of(module).map(|(i, _)| *i)).collect();
    all.sort_unstable();
    all.dedup();
    let mut out: Vec<Blob> = all
        .into_iter()
        .filter_map(|i| opened.files.get(i))
        .map(|f| {
            let name = f.name.rsplit(['/', '\\']).next().unwrap_or(&f.name);
            Blob::new(name, f.bytes.clone())
        })
        .collect();
    out.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.bytes.cmp(&b.bytes)));
    out
}

fn of(entry: &Entry) -> impl Iterator<Item = usize> {
    entry
        .hlo
        .into_iter()
        .chain(entry.proto)
        .chain(entry.dumps.iter().copied())
        .chain(entry.logs.iter().copied())
}

/// A line of JSON, then the files one after another; gzipped, in base64. The page takes it apart.
pub(crate) fn pack(files: &[Blob], module: usize, state: &Value) -> Result<String, ReportError> {
    let bytes = files.iter().fold(0u64, |sum, f| sum.saturating_add(f.bytes.len() as u64));
    if bytes > MOST_BYTES {
        return Err(ReportError(format!(
            "the module's files have {}, expected at most {}: a page has no memory for more",
            binary(bytes),
            binary(MOST_BYTES)
        )));
    }
    let names: Vec<Value> = files.iter().map(|f| json!([f.name, f.bytes.len()])).collect();
    let head = json!({"files": names, "module": module, "state": state});
    // Neither a time nor a system stands in the header, so that the same files give the same page everywhere.
    let mut packer = GzEncoder::new(Vec::new(), Compression::new(9));
    let written = writeln!(packer, "{head}")
        .and_then(|()| files.iter().try_for_each(|f| packer.write_all(&f.bytes)))
        .and_then(|()| packer.finish());
    written.map(|bytes| BASE64_STANDARD.encode(bytes)).map_err(|e| ReportError(e.to_string()))
}
