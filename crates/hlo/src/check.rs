//! Contradictions that do not hinder reading, but would hinder all that comes after.

use crate::Module;
use crate::read::Remarks;

pub(crate) fn check(_module: &mut Module, _text: &str, _extra: &str, _remarks: &mut Remarks) {}
