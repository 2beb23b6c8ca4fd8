//! Protobuf's wire format, walked without copying.

/// Where a message stops making sense.
#[derive(Debug)]
pub(super) struct Broken {
    /// The address of the byte, from which its offset follows.
    address: usize,
    pub(super) what: String,
}

impl Broken {
    pub(super) fn at(slice: &[u8], what: impl Into<String>) -> Self {
        Self { address: slice.as_ptr() as usize, what: what.into() }
    }

    /// The byte's number in `whole`; 0 if it lies elsewhere.
    pub(super) fn offset_in(&self, whole: &[u8]) -> u32 {
        let start = whole.as_ptr() as usize;
        let offset = self.address.checked_sub(start).filter(|n| *n <= whole.len());
        offset.and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
    }
}

type Result<T> = std::result::Result<T, Broken>;

/// One field: a number or a slice.
#[derive(Clone, Copy)]
pub(super) struct Field<'b> {
    pub(super) number: u32,
    /// For strings, bytes, messages and packed numbers; else empty.
    pub(super) bytes: &'b [u8],
    value: u64,
    delimited: bool,
}

impl Field<'_> {
    pub(super) fn number_value(&self) -> i64 {
        self.value as i64
    }

    /// The numbers of a repeated field, packed or one by one.
    pub(super) fn numbers(&self) -> Result<Vec<i64>> {
        if !self.delimited {
            return Ok(vec![self.number_value()]);
        }
        let mut packed = Fields::new(self.bytes);
        let mut numbers = Vec::new();
        while !packed.rest.is_empty() {
            numbers.push(packed.varint()? as i64);
        }
        Ok(numbers)
    }
}

/// The fields of a message.
pub(super) struct Fields<'b> {
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(super) fn new(message: &'b [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.rest;
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let Some((byte, rest)) = self.rest.split_first() else {
                return Err(Broken::at(start, "the end in the middle of a number"));
            };
            self.rest = rest;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Broken::at(start, "a number of more than ten bytes"))
    }

    fn take(&mut self, len: u64, start: &'b [u8]) -> Result<&'b [u8]> {
        let Some((taken, rest)) = usize::try_from(len).ok().and_then(|n| self.rest.split_at_checked(n))
        else {
            return Err(Broken::at(
                start,
                format!("a field of {len} bytes where {} are left", self.rest.len()),
            ));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn field(&mut self) -> Result<Field<'b>> {
        let start = self.rest;
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|n| *n > 0);
        let Some(number) = number else { return Err(Broken::at(start, "a field without a number")) };
        let mut field = Field { number, bytes: &[], value: 0, delimited: false };
        match key & 7 {
            0 => field.value = self.varint()?,
            1 => {
                self.take(8, start)?;
            }
            2 => {
                let len = self.varint()?;
                field.bytes = self.take(len, start)?;
                field.delimited = true;
            }
            5 => {
                self.take(4, start)?;
            }
            other => return Err(Broken::at(start, format!("a field of the unknown kind {other}"))),
        }
        Ok(field)
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<Field<'b>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Is this an `HloModuleProto`: well formed, with a name and computations that have instructions?
fn is_module(message: &[u8]) -> bool {
    let mut computations = false;
    for field in Fields::new(message) {
        let Ok(field) = field else { return false };
        if matches!(field.number, 1..=3) && !field.delimited {
            return false;
        }
        if field.number == 3 && !computations {
            computations = true;
            if !Fields::new(field.bytes).all(|f| f.is_ok_and(|f| f.delimited || f.number > 4)) {
                return false;
            }
        }
    }
    computations
}

/// The module in a serialised `HloModuleProto`, `HloProto` or `HloSnapshot`.
pub(super) fn module(bytes: &[u8]) -> Result<&[u8]> {
    if bytes.is_empty() {
        return Err(Broken::at(bytes, "no bytes"));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(Broken::at(bytes, "gzip-compressed bytes"));
    }
    if bytes.starts_with(b"HloModule") {
        return Err(Broken::at(bytes, "a module's text"));
    }
    let mut message = bytes;
    // The wrapped message is field 1 of both wrappers, and a module's name too: the innermost that looks like a module.
    for _ in 0..3 {
        let mut inside = None;
        for field in Fields::new(message) {
            // Where it is truncated is said first.
            let field = field?;
            if field.number == 1 && field.delimited && inside.is_none() {
                inside = Some(field.bytes);
            }
        }
        match inside {
            Some(inside) if is_module(inside) => return Ok(inside),
            _ if is_module(message) => return Ok(message),
            Some(inside) => message = inside,
            None => break,
        }
    }
    Err(Broken::at(bytes, "bytes without a module"))
}

/// Name and id of an instruction.
pub(super) fn name_and_id(instruction: &[u8]) -> Result<(&[u8], i64)> {
    let (mut name, mut id) = (&b""[..], 0);
    for field in Fields::new(instruction) {
        let field = field?;
        match field.number {
            1 => name = field.bytes,
            35 => id = field.number_value(),
            _ => {}
        }
    }
    Ok((name, id))
}
